//! A plan as text, for `rpcgauge plan`.

use std::collections::BTreeMap;
use std::fmt;

use rpcgauge_message::WorkloadSpec;

use super::{Pair, Plan, Variant};
use crate::features::REFERENCE;
use crate::ramp::parts_word;
use crate::settings::{Callee, ConnectionUse, Protocol, Schedule, Settings, Stop};
use crate::words::{Word as _, time_word};

mod table;

use self::table::{Table, wrap};

/// The plan as [`Plan::text`] without a width.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(None))
    }
}

impl Plan {
    /// The plan's variants, pairs and claims in aligned tables, with counts and the time it takes,
    /// in lines of at most `width` columns where one is given.
    pub fn text(&self, width: Option<usize>) -> String {
        let width = width.unwrap_or(usize::MAX);
        let mut text = wrap("", &format!("{}: {}", self.name, self.question), width) + "\n";
        for (name, value) in self.summary() {
            text += &wrap(&format!("  {name:<9}  "), &value, width);
        }
        text += "\nVariants\n";
        text += &self.variant_table().text(width);
        text += "\nPairs (* headline: under every placement)\n";
        text += &self.pair_table().text(width);
        if !self.claims.is_empty() {
            text += "\nClaims\n";
            text += &self.claim_table().text(width);
        }
        text
    }

    /// The lines above the tables, each with its name.
    fn summary(&self) -> Vec<(&'static str, String)> {
        let placements: Vec<String> = self.placements.iter().map(ToString::to_string).collect();
        let (main, others) = placements
            .split_first()
            .map_or(("", &[][..]), |(m, o)| (m.as_str(), o));
        let checked = if others.is_empty() {
            String::new()
        } else {
            format!("; headline pairs also on {}", others.join(", "))
        };
        let minutes = self.estimate().as_secs() / 60;
        let seconds = self.estimate().as_secs() % 60;
        let time = if minutes == 0 {
            format!("{seconds}s")
        } else {
            format!("{minutes}m{seconds:02}s")
        };
        let trials = format!(
            "{} in {} × {}",
            self.trials.len(),
            counted(self.invocations as usize, "invocation"),
            counted(self.blocks as usize, "block")
        );
        let verdicts = format!(
            "within ±{} is no difference, {} intervals",
            percent(self.margin),
            percent(self.confidence)
        );
        let warmup = format!("until it settles, at most {}", stop_words(self.warmup));
        let mut lines = vec![
            ("time", format!("about {time}")),
            ("trials", trials),
            ("placement", format!("{main}{checked}; {}", self.idle)),
            ("warm-up", warmup),
            ("measured", self.slices_words()),
            ("verdicts", verdicts),
            ("seed", self.seed.to_string()),
        ];
        lines.extend(self.limits.changed().map(|changed| ("limits", changed)));
        lines
    }

    /// What goes in slices, and what in one piece.
    fn slices_words(&self) -> String {
        let whole = self
            .variants
            .iter()
            .filter(|variant| self.slice(&variant.settings).is_none())
            .count();
        let ms = self.slice_us as f64 / 1_000.0;
        let slices = format!("in turn, by slices of {ms} ms, where variants are compared");
        match whole {
            0 => slices,
            all if all == self.variants.len() => "in one piece each".to_owned(),
            some => format!("{slices}; {some} at a rate in one piece each"),
        }
    }

    fn variant_table(&self) -> Table {
        let mut trials: BTreeMap<u32, usize> = BTreeMap::new();
        for trial in &self.trials {
            *trials.entry(trial.variant).or_default() += 1;
        }
        let mut table = Table::of([
            "name",
            "calls",
            "protocol",
            "encoding",
            "compression",
            "over",
            "sent",
            "until",
            "trials",
        ]);
        for (
            index,
            Variant {
                name,
                repeats,
                settings,
                ..
            },
        ) in (0_u32..).zip(&self.variants)
        {
            let again = if repeats.is_some() { " (A/A)" } else { "" };
            let [protocol, transport, schedule] = match settings.callee {
                // It calls nothing.
                Callee::Codec { .. } => ["-", "-", "-"].map(str::to_owned),
                Callee::Subject { .. } | Callee::Live { .. } => [
                    protocol_words(settings),
                    transport_words(settings),
                    schedule_words(&settings.schedule),
                ],
            };
            table.row([
                format!("{name}{again}"),
                callee_words(&settings.callee),
                protocol,
                encoding_words(settings),
                compression_words(settings),
                transport,
                schedule,
                stop_words(settings.stop),
                trials.get(&index).copied().unwrap_or(0).to_string(),
            ]);
        }
        table
    }

    fn pair_table(&self) -> Table {
        let mut table = Table::of(["", "of", "against", "metric", "question"]);
        for Pair {
            question,
            of,
            against,
            metric,
            headline,
            ..
        } in &self.pairs
        {
            let mark = if *headline { "*" } else { "" };
            table.row([
                mark.into(),
                of.clone(),
                against.clone(),
                metric.word().into(),
                question.clone(),
            ]);
        }
        table
    }

    fn claim_table(&self) -> Table {
        let mut table = Table::of(["of", "against", "metric", "published", "source"]);
        for claim in &self.claims {
            let published = &claim.published;
            table.row([
                claim.of.clone(),
                claim.against.clone(),
                claim.metric.word().into(),
                format!(
                    "{} against {} {}",
                    published.of, published.against, published.unit
                ),
                claim.source.clone(),
            ]);
        }
        table
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn percent(share: f64) -> String {
    // Rounded to what a person would have written: 0.03 is 3%, not 3.0000000000000004%.
    format!("{}%", (share * 1e6).round() / 1e4)
}

/// What is called: a workload with its size as in `list n=10`, the method's name for a user's own,
/// or a live service's target; and who calls or answers it, where that is not the usual.
pub fn callee_words(callee: &Callee) -> String {
    match callee {
        Callee::Subject {
            server,
            client,
            workload,
        } => {
            let at = match server.as_str() {
                REFERENCE => String::new(),
                server => format!(" of {server}"),
            };
            let by = client
                .as_ref()
                .map(|client| format!(" by {}, {}", client.stack, client.style.word()));
            format!("{}{at}{}", workload_words(workload), by.unwrap_or_default())
        }
        Callee::Codec {
            codec,
            operation,
            sample,
            workload,
        } => format!(
            "{} {} of {} by {codec}",
            operation.word(),
            sample.word(),
            workload_words(workload)
        ),
        Callee::Live { service } => service.target.to_string(),
    }
}

fn workload_words(workload: &WorkloadSpec) -> String {
    match workload {
        WorkloadSpec::Echo { n } => format!("echo n={n}"),
        WorkloadSpec::Hello {} => "hello".to_owned(),
        WorkloadSpec::List { n } => format!("list n={n}"),
        WorkloadSpec::Records { n } => format!("records n={n}"),
        WorkloadSpec::Profile {} => "profile".to_owned(),
        WorkloadSpec::Followers { n } => format!("followers n={n}"),
        WorkloadSpec::Own(own) => own.method.clone(),
    }
}

fn protocol_words(settings: &Settings) -> String {
    let protocol = match settings.protocol {
        Protocol::Grpc => "gRPC",
        Protocol::Rest => "REST",
    };
    format!("{protocol} on HTTP/{}", settings.http.word())
}

fn encoding_words(settings: &Settings) -> String {
    let encoding = settings.encoding.map(|encoding| encoding.to_string());
    encoding.unwrap_or_else(|| "as given".to_owned())
}

fn compression_words(settings: &Settings) -> String {
    let (request, response) = (settings.request_compression, settings.response_compression);
    if request == response {
        request.to_string()
    } else {
        format!("{request} there, {response} back")
    }
}

fn transport_words(settings: &Settings) -> String {
    let transport = settings.transport.word();
    match (settings.connection, settings.connections) {
        (ConnectionUse::PerCall, _) => format!("{transport}, one each call"),
        (ConnectionUse::Reuse, 1) => transport.to_owned(),
        (ConnectionUse::Reuse, connections) => format!("{transport} × {connections}"),
    }
}

fn schedule_words(schedule: &Schedule) -> String {
    match schedule {
        Schedule::Closed { in_flight } => format!("{in_flight} in flight"),
        Schedule::Rate {
            per_second,
            arrivals,
        } => format!("{per_second}/s {}", arrivals.word()),
        Schedule::Ramp { parts, arrivals } => {
            format!("{} {}", parts_word(parts), arrivals.word())
        }
    }
}

fn stop_words(stop: Stop) -> String {
    let calls = stop.calls.map(|calls| counted(calls as usize, "call"));
    let parts: Vec<String> = calls
        .into_iter()
        .chain(stop.time_ms.map(time_word))
        .collect();
    parts.join(" or ")
}
