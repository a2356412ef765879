//! Advice: which of several ways to make the same calls to use by one criterion, what that saves at a rate, and the
//! settings for it (docs/advise.md).

mod document;

#[cfg(test)]
mod tests;

use rpcgauge_study::features::Role;
use rpcgauge_study::plan::Plan;
use rpcgauge_study::run::Run;
use rpcgauge_study::settings::{
    ConnectionUse, Protocol, REFERENCE, Runtime, SubjectCall, Target, Transport, Wire,
};
use serde::Serialize;

use crate::document::Document;
use crate::error::ReportError;
use crate::findings::Findings;
use crate::findings::decision::{Amount, Criterion, Decision, Saving, Undecided};
use crate::findings::verdict::PlacementVerdict;
use crate::{distinct, json, words};

/// The version of the schema of advice that this program writes.
pub const SCHEMA: u32 = 1;

/// The hours of a month: a twelfth of 365 days.
const HOURS_PER_MONTH: f64 = 730.0;

/// The advice that a run supports.
#[derive(Debug, Serialize)]
pub struct Advised {
    /// The version of this schema.
    pub schema: u32,
    /// The study's name.
    pub study: String,
    /// When the run began, ms since the Unix epoch.
    pub started_at_ms: Option<u64>,
    /// The calls per second that amounts per month are for.
    pub rate: f64,
    /// One for each kind of call that a choice can be made for.
    pub advice: Vec<Advice>,
    /// The kinds of calls without advice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<NoAdvice>,
    #[serde(skip)]
    findings: Findings,
}

/// Calls without advice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoAdvice {
    /// What is called.
    pub called: String,
    /// Why there is no advice.
    pub reason: Undecided,
}

/// What to use for one kind of call.
#[derive(Debug, Serialize)]
pub struct Advice {
    /// The decision.
    #[serde(flatten)]
    pub decision: Decision,
    /// What the choice saves against each other variant.
    pub savings: Vec<Saved>,
    /// The stacks of the choice, and the settings for them; empty unless the data resolve that another variant is worse.
    pub stacks: Vec<AdvisedStack>,
}

/// What the choice saves against another variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Saved {
    /// The other variant.
    pub against: String,
    /// Of the p50 latency, ns.
    pub latency_ns: Option<Amount>,
    /// What is saved in a million calls.
    pub per_million: Costs,
    /// What is saved in a month.
    pub per_month: Costs,
}

/// What calls cost beside their time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Costs {
    /// CPU of client and server together, hours of a core.
    pub core_hours: Option<Amount>,
    /// Bytes of the calls, or of their responses' bodies if headers are not counted.
    pub bytes: Option<Amount>,
    /// The price, if there are prices.
    pub price: Option<Amount>,
}

/// A stack of the choice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AdvisedStack {
    /// The stack as SUBJECT/STACK.
    pub stack: String,
    /// Whether it is the server or the client.
    pub role: Role,
    /// How messages are compressed, as in a study: `none`, `gzip`, `gzip:1`.
    pub compression: String,
    /// The settings that snippets do not have, such as TLS. With any, there is no snippet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_snippet: Vec<&'static str>,
    /// The settings that its library's own guide recommends and that it was measured with.
    pub recommended: Vec<String>,
    /// Code with its settings, if there is some.
    pub snippet: Option<Snippet>,
}

/// Code that can be pasted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// The name of its file.
    pub file: String,
    /// The code.
    pub code: String,
}

impl Advised {
    /// The advice of a run by a criterion. `settings` adds what is known of a stack: its recommended settings and code.
    ///
    /// # Errors
    /// As [`Findings::new`].
    pub fn of(
        run: &Run,
        criterion: Criterion,
        rate: f64,
        settings: impl Fn(&mut AdvisedStack),
    ) -> Result<Self, ReportError> {
        Self::from_findings(
            Findings::from_run(run)?,
            &run.plan,
            (criterion, rate),
            settings,
        )
    }

    /// As [`Advised::of`], from the findings of a run.
    pub(crate) fn from_findings(
        findings: Findings,
        plan: &Plan,
        (criterion, rate): (Criterion, f64),
        settings: impl Fn(&mut AdvisedStack),
    ) -> Result<Self, ReportError> {
        let (mut advice, mut undecided) = (Vec::new(), Vec::new());
        for decided in findings.decide(plan, criterion)? {
            match decided {
                Ok((decision, savings)) => {
                    let mut stacks = stacks(plan, &decision);
                    for stack in &mut stacks {
                        settings(stack);
                        if !stack.without_snippet.is_empty() {
                            stack.snippet = None;
                        }
                    }
                    let savings = savings.iter().map(|one| saved(one, criterion, rate));
                    advice.push(Advice {
                        savings: savings.collect(),
                        decision,
                        stacks,
                    });
                }
                Err((called, reason)) => undecided.push(NoAdvice { called, reason }),
            }
        }
        Ok(Self {
            schema: SCHEMA,
            study: findings.study.name.clone(),
            started_at_ms: findings.progress.started_at_ms,
            rate,
            advice,
            undecided,
            findings,
        })
    }

    /// Why there is no advice at all; `None` if there is some.
    pub fn no_advice(&self) -> Option<String> {
        let reasons = self.undecided.iter().map(document::undecided);
        match self.advice[..] {
            [] if self.undecided.is_empty() => Some(document::NOTHING_COMPARED.to_owned()),
            [] => Some(words::joined(distinct(reasons), "; ")),
            _ => None,
        }
    }

    /// The advice as a document.
    pub fn document(&self) -> Document {
        document::of(self)
    }

    /// The advice as indented JSON.
    ///
    /// # Errors
    /// [`ReportError::Json`] if it cannot be serialized.
    pub fn to_json(&self) -> Result<String, ReportError> {
        json::pretty(self)
    }
}

/// The calls of a month at a rate.
fn calls_per_month(rate: f64) -> f64 {
    rate * 3600.0 * HOURS_PER_MONTH
}

/// CPU time in ns as hours of a core.
fn core_hours(ns: f64) -> f64 {
    ns / 3.6e12
}

fn saved(saving: &Saving, criterion: Criterion, rate: f64) -> Saved {
    let amount = |verdict: Option<&PlacementVerdict>| verdict.and_then(Amount::saved);
    let (cpu, bytes) = (amount(saving.of_cpu()), amount(saving.of_bytes()));
    let price = match criterion {
        Criterion::Price(prices) => prices.saved(cpu, bytes),
        _ => None,
    };
    let costs = |calls: f64| {
        let times = |amount: Option<Amount>| amount.map(|one| one.map(|value| value * calls));
        Costs {
            core_hours: times(cpu).map(|cpu| cpu.map(core_hours)),
            bytes: times(bytes),
            price: times(price),
        }
    };
    Saved {
        against: saving.against.clone(),
        latency_ns: amount(saving.of_latency()),
        per_million: costs(1e6),
        per_month: costs(calls_per_month(rate)),
    }
}

/// The stacks of a decision's choice. rpcgauge's own client and server are not among them.
fn stacks(plan: &Plan, decision: &Decision) -> Vec<AdvisedStack> {
    // No settings are advised unless the data resolve that another variant is worse.
    let own = decision.placements.first();
    let is_resolved = own.is_some_and(|own| own.alike.len() + 1 < decision.variants.len());
    let choice = decision.choice().filter(|_| is_resolved);
    let variant = plan.variants.iter().find(|one| Some(&*one.name) == choice);
    let call = variant.and_then(|variant| match &variant.settings.target {
        Target::Call(call) => Some(&**call),
        Target::Codec(_) | Target::Live(_) => None,
    });
    call.map(stacks_of).unwrap_or_default()
}

fn stacks_of(call: &SubjectCall) -> Vec<AdvisedStack> {
    let options = &call.options;
    let compression = options.response_compression.to_string();
    let is_both = options.request_compression == options.response_compression;
    let is_plain = is_both && ["none", "gzip"].contains(&&*compression);
    let is_default = call.wire == Wire::default_for(call.wire.protocol());
    let without_snippet = [
        ("TLS", call.tls),
        ("a Unix socket", call.transport != Transport::Tcp),
        (
            "a connection for each call",
            options.connection != ConnectionUse::Reuse,
        ),
        ("a stream", call.stream.is_some()),
        ("this encoding or version of HTTP", !is_default),
        (
            "Connect's own protocol",
            call.wire.protocol() == Protocol::Connect,
        ),
        ("this compression", !is_plain),
        (
            "these settings of the runtime",
            call.runtime != Runtime::default(),
        ),
    ];
    let without_snippet = without_snippet.into_iter().filter(|(_, differs)| *differs);
    let without_snippet: Vec<&str> = without_snippet.map(|(setting, _)| setting).collect();
    let client = call.client.as_ref();
    let client = client.map(|client| (&client.stack, Role::Client));
    let stacks = client.into_iter().chain([(&call.server, Role::Server)]);
    let stacks = stacks.filter(|(stack, _)| *stack != REFERENCE);
    let stacks = stacks.map(|(stack, role)| AdvisedStack {
        stack: stack.clone(),
        role,
        compression: compression.clone(),
        without_snippet: without_snippet.clone(),
        recommended: Vec::new(),
        snippet: None,
    });
    stacks.collect()
}
