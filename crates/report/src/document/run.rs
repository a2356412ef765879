//! The parts of a report about its run: what was measured, on what machine, what failed, and how to read the report.

use rpcgauge_study::record::{Environment, Fault};
use rpcgauge_study::run::Writing;

use super::{Block, Item, Section, Shown, Text};
use crate::distinct;
use crate::failures::{Failure, Failures};
use crate::findings::describe::Service;
use crate::findings::{Cell, Figures, Findings, RequestsSent, VariantFindings};
use crate::units;
use crate::words::{self, caution};

/// The facts about a run: how much was measured, when, and on what machine.
pub(crate) fn facts(findings: &Findings) -> Vec<String> {
    let started_at_ms = findings.progress.started_at_ms;
    let environment = findings.environment.as_ref();
    let limits = findings.study.limits.changed();
    let facts = [
        Some(words::capital(&progress(findings))),
        requests(findings),
        started_at_ms.map(|ms| units::wall_clock(ms) + " UTC"),
        environment.map(machine),
        environment.map(|e| e.idle.got.to_string()),
        limits.map(|changed| format!("limits {changed}")),
    ];
    facts.into_iter().flatten().collect()
}

/// The numbers of measured, failed and missing trials, in words.
fn progress(findings: &Findings) -> String {
    let p = &findings.progress;
    if p.is_complete() {
        return match p.planned {
            1 => "one trial measured".to_owned(),
            trials => format!("all {trials} trials measured"),
        };
    }
    let mut text = format!("{} of {} trials measured", p.measured, p.planned);
    if p.failed > 0 {
        text += &format!(", {} failed", p.failed);
    }
    if p.missing > 0 {
        let why = if p.running.is_some() {
            "still running"
        } else {
            "interrupted"
        };
        text += &format!(", {} not run ({why})", p.missing);
    }
    text
}

/// The number of requests sent to live services.
fn requests(findings: &Findings) -> Option<String> {
    let all = &findings.requests_sent[..];
    // A trial without a record may have sent requests before the run was killed.
    let at_least = match findings.progress.missing {
        0 => "",
        _ => "at least ",
    };
    let requests = |one: &RequestsSent| units::counted(one.requests, "request");
    let sent = |one: &RequestsSent| format!("{at_least}{} sent", requests(one));
    let sent = match all {
        [] => return None,
        [one] => sent(one),
        all => words::joined(
            all.iter()
                .map(|one| format!("{} to {}", sent(one), one.target)),
            ", ",
        ),
    };
    Some(sent + ", including first calls, warm-up and retries")
}

pub(crate) fn machine(e: &Environment) -> String {
    let cores = units::counted(u64::from(e.cores), "core");
    let place = e.virtualization.iter().map(|v| format!(", {v}"));
    format!("{}, {cores}{}", e.processor, place.collect::<String>())
}

/// gRPC and another API differ most in what a load does not do.
const CODECS_DIFFER: &str = "no figure includes what the client does with messages: encoding and decoding differ \
    between gRPC and JSON; rpcgauge compare measures both";

/// The cautions and warnings about the whole run.
pub(crate) fn cautions(findings: &Findings) -> Vec<String> {
    let several = findings.live().count() > 1;
    let environment = findings.environment.as_ref();
    let mut cautions = caution::of_run(&findings.cautions, environment, several);
    cautions.extend(findings.warnings.iter().cloned());
    let services = || {
        findings
            .live()
            .filter_map(|variant| variant.how.service.as_ref())
    };
    let is_grpc = |service: &Service| service.target.starts_with("grpc");
    if services().any(is_grpc) && !services().all(is_grpc) {
        cautions.push(CODECS_DIFFER.to_owned());
    }
    if let Some(running) = findings.progress.running {
        cautions.push(still_running(running, "trials"));
    } else if findings.progress.missing > 0 {
        let resume = match findings.live().next() {
            Some(_) => "",
            None => "; rpcgauge run --resume continues from there",
        };
        cautions.push(format!(
            "this run was interrupted: the results are from the trials measured before that{resume}"
        ));
    }
    if findings.trials.is_empty() {
        cautions.push("nothing was measured".to_owned());
    }
    // Two targets on one host can cause the same warning.
    distinct(cautions)
}

/// The caution about a run that another rpcgauge process is still writing; `what` names its records, in the plural.
pub(crate) fn still_running(running: Writing, what: &str) -> String {
    let pid = running.pid.map(|pid| format!(" (pid {pid})"));
    format!(
        "this run is still running{}: the results are from the {what} recorded so far",
        pid.unwrap_or_default()
    )
}

/// The variants that were not measured, and trials that failed.
pub(super) fn failures(findings: &Findings) -> Section {
    let not_run = findings.variants.iter().filter(|v| !v.not_run.is_empty());
    let not_run = not_run.map(|v| {
        let name = Text::strong(&v.name).and(": ");
        let failed = findings.failures.iter().find(|f| f.variant == v.name);
        Item {
            log: failed.map_or_else(String::new, |f| f.log.clone()),
            ..Item::plain(name.and_foreign(v.not_run.join("; ")))
        }
    });
    let failures = Failures::of(findings);
    let failed = failures.listed.iter().map(failure);
    let left_out = failures.left_out().map(|text| Item::plain(text.into()));
    let mut blocks = Vec::new();
    for (heading, list) in [
        ("Not measured", Block::list(not_run)),
        ("Failed trials", Block::list(failed.chain(left_out))),
    ] {
        if let Some(list) = list {
            blocks.extend([Block::Heading(heading.to_owned()), list]);
        }
    }
    Section::new("failed", "What failed", Shown::Always, blocks)
}

/// The failed calls and connections of subjects. A live service's are shown with its result.
pub(super) fn calls(findings: &Findings) -> Section {
    let subjects = findings.variants.iter().filter(|v| !v.is_live());
    let list = Block::list(subjects.flat_map(|variant| {
        let measured = variant.measured();
        measured.filter_map(move |(cell, figures)| failed_calls(variant, cell, figures))
    }));
    Section::new(
        "calls",
        "Failed calls and connections",
        Shown::InFiles,
        list,
    )
}

/// Trials that failed in the same way: their numbers, reason and fault, and the log of the first.
fn failure(failure: &Failure<'_>) -> Item {
    let trial = failure.first;
    let fault = match trial.fault {
        Fault::User => "the user's settings",
        Fault::Instrument => "rpcgauge itself",
        Fault::Subject => "the stack under test",
        Fault::Machine => "the machine",
    };
    let (name, place) = (&trial.variant, words::on(trial.placement));
    let text = Text::from(format!("{name} {place}, {}: ", failure.numbers()));
    Item {
        log: trial.log.clone(),
        ..Item::plain(text.and_foreign(&trial.reason).and(format!(" ({fault})")))
    }
}

/// The failed calls and connections of a variant; `None` if there are none.
fn failed_calls(variant: &VariantFindings, cell: &Cell, figures: &Figures) -> Option<Item> {
    let cautions = cell.cautions.iter().filter(|c| caution::is_of_calls(c));
    let cautions = words::joined(cautions.map(|c| caution::clause(c, false)), "; ");
    let latency = figures.failed_latency.as_ref().map(|l| {
        let (p50, max) = (units::time(l.p50_ns), units::time(l.max_ns));
        format!("; failed calls took {p50} (p50), at most {max}")
    });
    let kinds = figures.calls.failed.iter().flat_map(|(kind, count)| {
        let line = |count: u64| Text::from(format!("{} × {kind}", units::count(count)));
        let said = figures.errors.iter().filter(|error| error.kind == *kind);
        let said = said.map(|e| line(e.count).and(": ").and_foreign(&e.text));
        match said.collect::<Vec<Text>>() {
            none if none.is_empty() => vec![line(*count)],
            said => said,
        }
    });
    let others = words::other_errors(figures).map(Text::from);
    let name = format!("{} {}: ", variant.name, words::on(cell.placement));
    let text = name + &cautions + &latency.unwrap_or_default();
    (!cautions.is_empty()).then(|| Item {
        below: kinds.chain(others).collect(),
        ..Item::plain(text.into())
    })
}

pub(super) fn environment(findings: &Findings) -> Option<Section> {
    let environment = findings.environment.as_ref()?;
    let own = machine_facts(environment).into_iter();
    let own = own.map(|(name, fact)| (name.to_owned(), fact));
    let subjects = environment.subjects.iter().map(|(subject, versions)| {
        let versions = versions.iter().map(|(what, v)| format!("{what} {v}"));
        (format!("Subject {subject}"), words::joined(versions, ", "))
    });
    let floors = floor_blocks(findings).map(|text| ("Floor by block".to_owned(), text));
    let facts = own.chain(subjects).chain(floors);
    let facts = Block::facts(facts.map(|(name, fact)| (name, Text::foreign(fact))));
    Some(Section::new(
        "environment",
        "Environment",
        Shown::Folded,
        [facts],
    ))
}

/// The facts about the machine, by name. Warnings about noise are in the cautions instead.
pub(crate) fn machine_facts(environment: &Environment) -> [(&'static str, String); 8] {
    let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "not known".to_owned());
    let idle = &environment.idle;
    let mut idle_text = if idle.asked == idle.got {
        idle.got.to_string()
    } else {
        format!("requested {}, got {}", idle.asked, idle.got)
    };
    if let Some(reason) = &idle.reason {
        idle_text += &format!(" ({reason})");
    }
    [
        ("rpcgauge", environment.rpcgauge.clone()),
        ("System", environment.system.clone()),
        ("Processor", environment.processor.clone()),
        ("Cores", environment.cores.to_string()),
        ("Memory", units::size(environment.memory_bytes as f64)),
        ("Virtual machine", or_unknown(&environment.virtualization)),
        ("Frequency governor", or_unknown(&environment.governor)),
        ("Idle", idle_text),
    ]
}

/// The range, over the blocks of the run, of the floor that varied most. Only one is shown because floors of
/// different sizes and transports cannot be compared. `None` if no floor has two blocks.
fn floor_blocks(findings: &Findings) -> Option<String> {
    let floors = findings.variants.iter().flat_map(|variant| {
        variant.measured().filter_map(move |(cell, figures)| {
            let floor = figures.floor.as_ref().filter(|floor| floor.blocks > 1)?;
            let lowest = floor.lowest_round_trip_ns.max(1.0);
            let moved = floor.highest_round_trip_ns / lowest;
            Some((moved, floor, variant, cell))
        })
    });
    let (moved, floor, variant, cell) = floors.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "{} to {} ({}×) over {} blocks, for {} {}: the floor that varied most",
        units::time(floor.lowest_round_trip_ns),
        units::time(floor.highest_round_trip_ns),
        units::ratio(moved),
        floor.blocks,
        variant.name,
        words::on(cell.placement),
    ))
}

/// How often variants ran: `2 blocks in each of 8 invocations`; `10 blocks` for running services.
fn design(findings: &Findings, is_running: bool) -> String {
    let study = &findings.study;
    let most = u64::from(study.invocations) * u64::from(study.blocks);
    let mut cells = findings.variants.iter().flat_map(|v| &v.cells);
    let fewer = cells.any(|cell| cell.trials.planned < most);
    let at_most = if fewer { "at most " } else { "" };
    let blocks = units::counted(study.blocks.into(), "block");
    let invocations = units::counted(study.invocations.into(), "invocation");
    match study.invocations {
        _ if is_running => format!("{at_most}{blocks}"),
        1 => format!("{at_most}{blocks} in {invocations}"),
        _ => format!("{at_most}{blocks} in each of {invocations}"),
    }
}

/// How to read the report, and the method in short.
pub(super) fn reading(findings: &Findings) -> Section {
    let study = &findings.study;
    let [confidence, margin] = [study.confidence, study.margin].map(words::margin_percent);
    let is_live = findings.live().next().is_some();
    let is_running = findings.variants.iter().any(VariantFindings::is_running);
    let mut blocks: Vec<Block> = Vec::new();
    let mut about = |what: &str, text: String| {
        blocks.push(Block::Paragraph(Text::strong(what).and(" ").and(text)));
    };
    if !findings.comparisons.is_empty() {
        let (restarts, bootstrap) = if is_running {
            (
                "",
                "a bootstrap over blocks, since nothing was restarted: it is valid only for these \
                 running services",
            )
        } else {
            (
                " (fresh starts of the processes)",
                "a hierarchical bootstrap over invocations, then blocks",
            )
        };
        about(
            "Verdicts.",
            format!(
                "“2.31× faster [2.24, 2.39]” means: the ratio of the two variants, measured in each block, \
                 has the median 2.31, and the true ratio lies between 2.24 and 2.39 with {confidence} \
                 confidence. “No difference” means that the whole interval lies within ±{margin}. “Not \
                 resolved” means that this run cannot tell, and the verdict adds how much more measuring \
                 would; “1.10× faster to 1.23× slower” gives the two ends of its interval. The two figures \
                 beside a ratio are over all calls, so their quotient can differ from that ratio. \
                 “Depends on placement” means that the verdict changes with the cores on which client and server \
                 run."
            ),
        );
        about(
            "The small plots",
            "beside the verdicts show the ratio (dot) and its interval (bar), a further placement below; \
             better is to the right, the axis is logarithmic, and its ends are given beside the question. The \
             grey band is “no difference”; between the two dashed lines nothing is resolved, since the \
             same thing measured twice (A/A) differs by as much. A diamond is a published ratio."
                .to_owned(),
        );
        about(
            "Method.",
            format!(
                "Each variant ran once in each block; {}{restarts}; seed {}. Two variants are compared \
                 inside each block; the interval is {bootstrap}. Variants that are compared were measured \
                 in turn, slice by slice, in a new random order in each round; the first calls of each \
                 slice are left out. In each group, one variant was measured twice under two names (A/A): \
                 a difference whose interval does not lie beyond the interval of this pair is not resolved.",
                design(findings, is_running),
                study.seed
            ),
        );
    }
    about(
        "Latency",
        "runs from the moment a call was due until its response was complete. A warm-up ended when \
         latency had settled, or at its limit without settling. Percentiles come from merged histograms \
         with three significant digits, and are given only if at least one call lies beyond them. A \
         spike is a slice of a trial whose longest call is more than six robust standard deviations above \
         the usual one and more than three times as long, or more than twenty times as long."
            .to_owned(),
    );
    if !is_live {
        about(
            "The floor",
            "is the median round trip of two bare loops that exchange the same bytes without any protocol. \
             The time beyond it is spent in the stacks; no client can be faster than the floor."
                .to_owned(),
        );
    }
    let meanings = caution::meanings().map(|(name, meaning)| format!("{name}: {meaning}"));
    about(
        "Cautions.",
        format!(
            "{}. A caution is shown with its count; beside a bar, it is shown only if it is about most trials.",
            words::joined(meanings, "; ")
        ),
    );
    Section::new("reading", "How to read it", Shown::Folded, blocks)
}
