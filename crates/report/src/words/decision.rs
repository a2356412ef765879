//! Decisions in sentences: what to use, what it saves, and what the run does not show.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::words::some_names;

use super::{About, joined, on};
use crate::findings::decision::{
    Criterion, Decision, MetricVerdict, NotShown, PlacementDecision, Saving,
};
use crate::findings::verdict::Outcome;
use crate::units;

/// The rate at which savings of CPU and bytes are given, calls per second.
const RATE: f64 = 1_000.0;

/// The cores that calls at [`RATE`] take.
pub(crate) fn cores(cpu_ns: f64) -> String {
    let cores = cpu_ns * RATE / 1e9;
    if cores < 0.0995 {
        format!("{cores:.3}")
    } else {
        units::number(cores)
    }
}

/// The bits per second that calls at [`RATE`] move, in Mbit/s.
pub(crate) fn mbit(bytes: f64) -> String {
    units::number(bytes * 8.0 * RATE / 1e6)
}

/// A decision in full: under the study's own placement, then under the others.
pub(crate) fn decision(decision: &Decision) -> Vec<String> {
    let mut sentences = under_each(decision, in_short);
    sentences.extend(beside(decision));
    sentences
}

/// What to use under each placement. `short` is what is said of a placement.
pub(crate) fn under_each(
    decision: &Decision,
    short: fn(&Decision, &PlacementDecision) -> Vec<String>,
) -> Vec<String> {
    let Some((own, others)) = decision.placements.split_first() else {
        return Vec::new();
    };
    let mut sentences = vec![joined(short(decision, own), " ")];
    sentences.extend(fewest_bytes(decision, own));
    sentences.extend(others.iter().map(|other| {
        let place = on(other.placement);
        let to_use = what_to_use(decision, other);
        if to_use == what_to_use(decision, own) && other.choice.is_some() {
            let same = if to_use.starts_with("Use ") {
                "the choice is the same"
            } else {
                "none is shown either"
            };
            format!("{}, {same}.", super::capital(place))
        } else {
            format!(
                "{}: {}",
                super::capital(place),
                joined(short(decision, other), " ")
            )
        }
    }));
    sentences
}

/// The variants without figures, and what the run does not show.
pub(crate) fn beside(decision: &Decision) -> Vec<String> {
    let mut sentences = Vec::new();
    if !decision.left_out.is_empty() {
        let names: Vec<&str> = decision.left_out.iter().map(String::as_str).collect();
        sentences.push(format!("Without figures: {}.", some_names(&names)));
    }
    let not_shown = decision.not_shown.iter().map(|what| match what {
        NotShown::Network => "a network",
        NotShown::ManyCalls => "many calls in flight",
        NotShown::YourClient => "your client",
        NotShown::YourHandler => "your handler",
        NotShown::OpenWebSocket => "a WebSocket that is already open",
        NotShown::GeneratedCode => "code that is generated for your message",
    });
    sentences.push(format!(
        "Not shown by this run: {}.",
        joined(not_shown, ", ")
    ));
    sentences
}

/// What to use.
pub(crate) fn choice(decision: &Decision, under: &PlacementDecision) -> Vec<String> {
    let mut sentences = vec![what_to_use(decision, under)];
    if under.one_host {
        sentences.push("Its Unix socket needs client and server on one host.".to_owned());
    }
    sentences
}

/// What to use, and what it saves: one sentence each.
pub(crate) fn in_short(decision: &Decision, under: &PlacementDecision) -> Vec<String> {
    let mut sentences = choice(decision, under);
    sentences.extend(under.saving.iter().flat_map(saving));
    sentences
}

/// A criterion's name in a sentence.
pub(crate) fn name(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::LatencyAndCpu => "latency or CPU",
        Criterion::Latency => "latency",
        Criterion::Cpu => "CPU",
        Criterion::Bytes => "bytes",
        Criterion::Price(_) => "price",
    }
}

fn what_to_use(decision: &Decision, under: &PlacementDecision) -> String {
    let best = |metric| under.best(metric);
    let Some(choice) = &under.choice else {
        let [latency, cpu] = [Metric::LatencyP50, Metric::Cpu]
            .map(|metric| best(metric).map_or("", |best| &*best.variant));
        return format!(
            "Nothing is best in everything: {latency} has the shortest calls, and {cpu} uses the least CPU."
        );
    };
    let alike: Vec<&str> = under.alike.iter().map(String::as_str).collect();
    match &alike[..] {
        [] => format!("Use {choice}."),
        alike if alike.len() + 1 == decision.variants.len() => {
            let what = match decision.criterion {
                Criterion::LatencyAndCpu if best(Metric::Cpu).is_none() => "latency",
                criterion => name(criterion),
            };
            format!(
                "No difference in {what} is shown between {choice} and {}.",
                some_names(alike)
            )
        }
        alike => format!(
            "Use {choice}. Not shown to be worse: {}.",
            some_names(alike)
        ),
    }
}

/// What a variant saves or costs against another one: its latency, then CPU and bytes at a rate.
fn saving(saving: &Saving) -> Vec<String> {
    let mut sentences = Vec::new();
    let (of_name, against) = (&saving.of, &saving.against);
    let (mut saves, mut costs, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for MetricVerdict { metric, verdict } in &saving.verdicts {
        let about = About {
            of: &saving.of,
            against,
            metric: *metric,
            operation: None,
            one_process: false,
            said: None,
        };
        // The text is in parentheses itself.
        let found = super::brief(about, verdict).text();
        let found = found.replace(" (", ", ").replace(')', "");
        let (Some(of), Some(other)) = (verdict.of_value, verdict.against_value) else {
            continue;
        };
        let difference = (of - other).abs();
        if *metric == Metric::LatencyP50 {
            let time = units::time(difference);
            sentences.push(match verdict.outcome {
                Outcome::Faster => {
                    format!(
                        "With {of_name}, a call takes {time} less than with {against} ({found})."
                    )
                }
                Outcome::Slower => {
                    format!(
                        "With {of_name}, a call takes {time} more than with {against} ({found})."
                    )
                }
                Outcome::NoDifference => {
                    format!("With {of_name}, a call takes as long as with {against} ({found}).")
                }
                Outcome::NotResolved { .. } | Outcome::NoVerdict { .. } => {
                    format!("Latency is not resolved against {against} ({found}).")
                }
            });
            continue;
        }
        let (amount, name) = match metric {
            Metric::Cpu => (format!("{} cores", cores(difference)), "CPU"),
            _ => (format!("{} Mbit/s", mbit(difference)), "bytes"),
        };
        let found = match metric {
            Metric::ResponseBytes => format!("responses {found}"),
            _ => found,
        };
        match verdict.outcome {
            Outcome::Faster => saves.push(format!("{amount} ({found})")),
            Outcome::Slower => costs.push(format!("{amount} more ({found})")),
            Outcome::NoDifference => {}
            Outcome::NotResolved { .. } | Outcome::NoVerdict { .. } => {
                open.push(format!("{name} ({found})"));
            }
        }
    }
    let rate = units::count(RATE as u64);
    let changes = [("saves", saves), ("takes", costs)];
    let changes = changes
        .into_iter()
        .filter(|(_, amounts)| !amounts.is_empty());
    let changes = changes.map(|(verb, amounts)| format!("{verb} {}", joined(amounts, " and ")));
    let changes = joined(changes, ", but ");
    if !changes.is_empty() {
        sentences.push(format!("At {rate} calls per second, {of_name} {changes}."));
    }
    if !open.is_empty() {
        sentences.push(format!("Not resolved: {}.", joined(open, ", ")));
    }
    sentences
}

/// Whether the report shows how long the variant's calls would take over other networks.
fn is_computed(decision: &Decision, variant: &str) -> bool {
    let computed = decision
        .networks
        .iter()
        .flat_map(|network| &network.variants);
    computed.into_iter().any(|one| one.variant == variant)
}

/// The variant with the fewest bytes, if that is not the choice: over a slow network, which the report does not compute, it
/// may be the better one.
fn fewest_bytes(decision: &Decision, under: &PlacementDecision) -> Option<String> {
    let best = under.best.last().filter(|best| {
        matches!(best.metric, Metric::CallBytes | Metric::ResponseBytes)
            && decision.not_shown.contains(&NotShown::Network)
            && !is_computed(decision, &best.variant)
    })?;
    let is_other = under
        .choice
        .as_ref()
        .is_some_and(|choice| !best.includes(choice));
    let what = match best.metric {
        Metric::ResponseBytes => "has the smallest responses",
        _ => "sends the fewest bytes",
    };
    is_other.then(|| {
        format!(
            "{} {what}, which can matter more on a slow network: measure over a link (docs/link.md).",
            best.variant
        )
    })
}
