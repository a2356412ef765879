//! The report about an application as a document: what users gain, where a request's time goes, and the figures.

mod parts;
mod saturation;
mod verdicts;

use std::borrow::Cow;

use rpcgauge_study::app::AppLoad;
use rpcgauge_study::record::Fault;

pub(super) use verdicts::{brief, factor_phrase, name, subject, value};

use super::findings::{
    AppFindings, AppVariantFindings, FailedSlice, InsideFigures, RequestFigures,
};
use super::is_one_by_one;
use crate::document::{
    Block, Column, Document, Item, Section, Shown, Table, Text, machine_facts, still_running,
    with_head,
};
use crate::units;
use crate::words;

impl Document {
    /// The whole report of a run of a study of an application.
    pub(crate) fn of_app(findings: &AppFindings) -> Self {
        let mut sections = vec![
            verdicts::gain(findings),
            parts::section(findings),
            saturation::section(findings),
            users(findings),
            inside(findings),
            saturation::processes(findings),
            verdicts::claims(findings),
            failures(findings),
            environment(findings),
            reading(findings),
        ];
        sections.retain(|section| !section.blocks.is_empty());
        Self {
            title: findings.plan.name.clone(),
            question: findings.plan.question.clone(),
            facts: facts(findings),
            cautions: cautions(findings),
            sections,
        }
    }
}

fn cautions(findings: &AppFindings) -> Vec<String> {
    let planned = findings.plan.slices() as u64;
    let failed = findings.failures.len() as u64;
    let not_run = match findings.running {
        Some(_) => 0,
        None => planned.saturating_sub(findings.measured + failed),
    };
    let missing = [(failed, "failed"), (not_run, "did not run")];
    let missing = missing.into_iter().filter(|(count, _)| *count > 0);
    let missing = missing.map(|(count, what)| format!("{count} {what}"));
    let missing = words::joined(missing, " and ");
    let rest = match findings.measured {
        0 => "nothing was measured".to_owned(),
        measured => format!("the results rest on the other {measured}"),
    };
    let missing = (!missing.is_empty()).then(|| format!("Of {planned} slices {missing}: {rest}"));
    let running = findings
        .running
        .map(|running| still_running(running, "slices"));
    let warnings = findings.warnings.iter().cloned();
    warnings.chain(running).chain(missing).collect()
}

fn facts(findings: &AppFindings) -> Vec<String> {
    let plan = &findings.plan;
    let started = findings
        .starts
        .first()
        .map(|start| units::wall_clock(start.ready_at_ms) + " UTC");
    let machine = findings.environment.as_ref().map(|environment| {
        let cores = units::counted(u64::from(environment.cores), "core");
        format!("{}, {cores}", environment.processor)
    });
    let seconds: f64 = findings.variants.iter().map(|one| one.seconds).sum();
    let (load, slice_ns) = match plan.load {
        AppLoad::Users { .. } => (
            format!("{} at a time", plan.load),
            1e9 * seconds / findings.measured.max(1) as f64,
        ),
        AppLoad::Rate { .. } => (plan.load.to_string(), plan.slice_ms as f64 * 1e6),
    };
    let what = format!(
        "application {}, {load}, {} slices of {}",
        plan.app,
        findings.measured,
        units::time(slice_ns)
    );
    [Some(what), started, machine]
        .into_iter()
        .flatten()
        .collect()
}

fn or_none(value: Option<f64>, shown: fn(f64) -> String) -> String {
    value.map_or_else(units::none, shown)
}

/// A table with a column for each measured variant. If there is too little room, the control's column is dropped
/// first.
fn beside_each_other(findings: &AppFindings, head: &'static str) -> Table {
    let column = |variant: &AppVariantFindings| Column {
        title: Cow::Owned(variant.name.clone()),
        ..Column::number("", u8::from(variant.repeats.is_some()))
    };
    Table {
        columns: with_head(Column::text(head, 0), measured(findings).map(column)),
        ..Table::default()
    }
}

/// The variants that were measured.
fn measured(findings: &AppFindings) -> impl Iterator<Item = &AppVariantFindings> + Clone {
    findings
        .variants
        .iter()
        .filter(|variant| variant.slices > 0)
}

fn users(findings: &AppFindings) -> Section {
    let numbers = [
        "requests",
        "failed",
        "per second",
        "mean",
        "p50",
        "p90",
        "p99",
    ];
    let numbers = numbers.into_iter().zip([3, 1, 0, 0, 1, 4, 2]);
    let mut table = Table {
        columns: [Column::text("variant", 0), Column::text("request", 0)]
            .into_iter()
            .chain(numbers.map(|(title, rank)| Column::number(title, rank)))
            .collect(),
        ..Table::default()
    };
    for variant in measured(findings) {
        let row = |one: &RequestFigures| {
            vec![
                variant.name.clone(),
                one.name.clone().unwrap_or_else(|| "all".to_owned()),
                units::count(one.succeeded + one.failed),
                units::count(one.failed),
                units::number(one.per_second),
                or_none(one.mean_ns, units::time),
                or_none(one.p50_ns, units::time),
                or_none(one.p90_ns, units::time),
                or_none(one.p99_ns, units::time),
            ]
        };
        table.add_group(variant.requests.iter().map(row));
    }
    let table = (!table.rows.is_empty()).then_some(Block::Table(table));
    let blocks = verdicts::verdicts(findings, true).into_iter().chain(table);
    Section::new("users", verdicts::OF_USERS, Shown::Always, blocks)
}

fn inside(findings: &AppFindings) -> Section {
    let mut table = beside_each_other(findings, "mean of");
    let mut never = Vec::new();
    for metric in &findings.plan.metrics {
        let shown = super::shown(metric.unit);
        let is_it = |one: &&InsideFigures| one.name == metric.name;
        let of = |variant: &AppVariantFindings| variant.inside.iter().find(is_it)?.mean;
        let means: Vec<Option<f64>> = measured(findings).map(of).collect();
        if means.iter().all(Option::is_none) {
            never.push(metric.title.as_str());
            continue;
        }
        let cells = means.into_iter().map(|mean| or_none(mean, shown));
        table.rows.push(with_head(metric.title.clone(), cells));
    }
    if !never.is_empty() {
        let never = words::joined(never, "; ");
        table
            .notes
            .push(format!("No observations under load: {never}"));
    }
    let table =
        (findings.measured > 0 && !findings.plan.metrics.is_empty()).then_some(Block::Table(table));
    let blocks = verdicts::verdicts(findings, false).into_iter().chain(table);
    Section::new("inside", verdicts::WITHIN, Shown::InFiles, blocks)
}

fn failures(findings: &AppFindings) -> Section {
    let item = |failed: &FailedSlice| {
        let fault = match failed.fault {
            Fault::User => "the user's settings",
            Fault::Instrument => "rpcgauge itself",
            Fault::Subject => "the application",
            Fault::Machine => "the machine",
        };
        let place = format!(
            "{}, block {} of invocation {}: ",
            failed.variant,
            failed.block + 1,
            failed.invocation + 1
        );
        Item {
            log: failed.log.clone(),
            ..Item::plain(
                Text::from(place)
                    .and_foreign(&failed.reason)
                    .and(format!(" ({fault})")),
            )
        }
    };
    let list = Block::list(findings.failures.iter().map(item));
    Section::new("failed", "Failed slices", Shown::Always, list)
}

/// The facts about the machine, the application's build, and the load generator.
pub(super) fn machine(findings: &AppFindings) -> Vec<(String, String)> {
    let environment = findings.environment.iter().flat_map(machine_facts);
    let environment = environment.map(|(name, fact)| (name.to_owned(), fact));
    let build = findings.starts.first().map(|start| {
        let tools = start.build.toolchain.iter();
        let tools: Vec<String> = tools
            .map(|(name, version)| format!("{name} {version}"))
            .collect();
        let tools = words::joined(tools.iter().map(String::as_str), ", ");
        [
            (
                "Built from".to_owned(),
                format!("{} ({tools})", start.build.digest),
            ),
            ("Load".to_owned(), start.load_generator.clone()),
        ]
    });
    environment.chain(build.into_iter().flatten()).collect()
}

fn environment(findings: &AppFindings) -> Section {
    let facts = machine(findings).into_iter();
    let facts = Block::facts(facts.map(|(name, fact)| (name, Text::foreign(fact))));
    Section::new(
        "environment",
        "Environment",
        Shown::Folded,
        [facts]
            .into_iter()
            .filter(|_| findings.environment.is_some()),
    )
}

fn reading(findings: &AppFindings) -> Section {
    let plan = &findings.plan;
    let [settle, slice, warm_up] = [plan.settle_ms, plan.slice_ms, plan.warm_up_ms]
        .map(|ms| units::round_time(ms as f64 * 1e6));
    let in_turn = if is_one_by_one(plan, &findings.starts) {
        "Memory was not sufficient for all sets at the same time: each was measured alone, with all its slices of an \
             invocation in a row"
    } else {
        "All sets run at the same time, and load goes to one at a time, in a new random order for each block"
    };
    let (own, at_rate) = match &plan.load {
        AppLoad::Users { .. } => (" and its own users", String::new()),
        AppLoad::Rate { .. } => (
            "",
            format!(
                " rpcgauge's engine sends {}, evenly spaced, without waiting for earlier responses. A response time \
                 runs from when its request was due, so it includes waiting. Requests per second are those that \
                 succeeded while others were still due.",
                plan.load
            ),
        ),
    };
    let text = format!(
        "Each variant has its own set of services{own}; their backing services are shared. {in_turn}.{at_rate} In each \
         turn, the first {settle} is left out, and {slice} is measured. Ratios compare slices of one block; the \
         interval is over {} of the services, each warmed up for {warm_up}. The A/A pair is a second set of one \
         configuration: a difference that does not exceed the difference of this pair is not resolved.",
        units::counted(u64::from(plan.invocations()), "fresh start")
    );
    Section::new(
        "reading",
        "How this was measured",
        Shown::Folded,
        [Block::Paragraph(Text::from(text))],
    )
}
