//! The report of an application as a document: the users' gain, where a request's time goes, the figures.

mod parts;
mod verdicts;

use rpcgauge_study::record::Fault;

pub(super) use verdicts::{brief, factor_phrase, name, subject, value};

use super::findings::{
    AppFindings, AppVariantFindings, FailedSlice, InsideFigures, RequestFigures,
};
use crate::document::{Block, Column, Document, Item, Section, Shown, Table, Text, machine_facts};
use crate::units;
use crate::words;

impl Document {
    /// Everything that there is to say of a run of a study of an application.
    pub(crate) fn of_app(findings: &AppFindings) -> Self {
        let mut sections = vec![
            verdicts::section(findings),
            verdicts::claims(findings),
            parts::section(findings),
            users(findings),
            inside(findings),
            processes(findings),
            failures(findings),
            environment(findings),
            reading(findings),
        ];
        sections.retain(|section| !section.blocks.is_empty());
        let planned = findings.plan.slices() as u64;
        let mut cautions = findings.warnings.clone();
        if findings.measured < planned {
            cautions.push(format!(
                "{} of {planned} slices were measured: the results rest on these",
                findings.measured
            ));
        }
        Self {
            title: findings.plan.name.clone(),
            question: findings.plan.question.clone(),
            facts: facts(findings),
            cautions,
            sections,
            rpcgauge: findings.run.rpcgauge.clone(),
        }
    }
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
    let what = format!(
        "{}: {} for each of {} configurations; {} slices of {}",
        plan.app,
        plan.users_shown(),
        plan.variants.len(),
        findings.measured,
        units::round_time(plan.slice_ms as f64 * 1e6)
    );
    [Some(what), started, machine]
        .into_iter()
        .flatten()
        .collect()
}

fn or_none(value: Option<f64>, shown: fn(f64) -> String) -> String {
    value.map_or_else(units::none, shown)
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
    for variant in &findings.variants {
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
        let requests = variant.requests.iter().filter(|_| variant.slices > 0);
        table.add_group(requests.map(row));
    }
    let blocks = (!table.rows.is_empty()).then_some(Block::Table(table));
    Section::new("users", "What users saw", Shown::Always, blocks)
}

fn inside(findings: &AppFindings) -> Section {
    let mut table = Table {
        columns: vec![
            Column::text("metric", 0),
            Column::text("variant", 0),
            Column::number("mean", 0),
            Column::number("count", 2),
            Column::number("for a request", 1),
        ],
        ..Table::default()
    };
    for metric in &findings.plan.metrics {
        let is_it = |one: &&InsideFigures| one.name == metric.name;
        let shown = match metric.unit.ns() {
            Some(_) => units::time as fn(f64) -> String,
            None => units::size,
        };
        let row = |variant: &AppVariantFindings| {
            let one = variant.inside.iter().find(is_it)?;
            Some(vec![
                metric.title.clone(),
                variant.name.clone(),
                or_none(one.mean, shown),
                units::number(one.count),
                or_none(one.per_request, units::number),
            ])
        };
        table.add_group(
            findings
                .variants
                .iter()
                .filter(|v| v.slices > 0)
                .filter_map(row),
        );
    }
    let blocks = (!table.rows.is_empty()).then_some(Block::Table(table));
    Section::new("inside", "Within the application", Shown::Always, blocks)
}

fn processes(findings: &AppFindings) -> Section {
    let mut table = Table {
        columns: vec![
            Column::text("variant", 0),
            Column::text("process", 0),
            Column::number("cores used", 0),
            Column::number("memory", 0),
        ],
        notes: vec![
            "While the variant had load; a process that all variants share counts for each. Memory is the most at \
             the end of a slice."
                .to_owned(),
        ],
        ..Table::default()
    };
    for variant in &findings.variants {
        let own = variant.processes.iter().map(|process| {
            let shared = if process.is_shared { " (shared)" } else { "" };
            vec![
                variant.name.clone(),
                format!("{}{shared}", process.name),
                or_none(process.cores, units::number),
                or_none(process.memory_bytes.map(|bytes| bytes as f64), units::size),
            ]
        });
        let generator = (variant.slices > 0).then(|| {
            let share = units::number(variant.load_generator_share);
            vec![
                variant.name.clone(),
                "load generator".to_owned(),
                share,
                units::none(),
            ]
        });
        table.add_group(own.chain(generator));
    }
    let tables = [table, jvms(findings)];
    let tables = tables.into_iter().filter(|table| !table.rows.is_empty());
    let blocks = tables.map(Block::Table);
    Section::new("processes", "CPU and memory", Shown::InFiles, blocks)
}

fn jvms(findings: &AppFindings) -> Table {
    let mut table = Table {
        columns: vec![
            Column::text("variant", 0),
            Column::text("JVM", 0),
            Column::number("collections", 1),
            Column::number("collecting", 0),
            Column::number("stopped", 0),
            Column::number("compilations", 1),
            Column::number("compiling", 0),
            Column::number("heap", 2),
        ],
        notes: vec![
            "By the JVMs' own counters, while the variant had load: garbage collections, all stops with these among \
             them, and the work of the compilers, as shares of the time. Of the heap the most at the end of a slice, as \
             of the last collection."
                .to_owned(),
        ],
        ..Table::default()
    };
    for variant in &findings.variants {
        let share = |ns: u64| units::percent(ns as f64 / 1e9 / variant.seconds);
        let told = variant.processes.iter();
        let told = told.filter_map(|process| Some((&process.name, process.jvm?)));
        table.add_group(told.map(|(name, jvm)| {
            vec![
                variant.name.clone(),
                name.clone(),
                units::count(jvm.collections),
                share(jvm.collecting_ns),
                share(jvm.stopped_ns),
                units::count(jvm.compilations),
                share(jvm.compiling_ns),
                units::size(jvm.heap_bytes as f64),
            ]
        }));
    }
    table
}

fn failures(findings: &AppFindings) -> Section {
    let item = |failed: &FailedSlice| {
        let fault = match failed.fault {
            Fault::User => "what was asked cannot be done",
            Fault::Instrument => "rpcgauge's own fault",
            Fault::Subject => "the application",
            Fault::Machine => "the machine",
        };
        let place = format!(
            "{}, round {} of invocation {}: ",
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
    let heading = list
        .as_ref()
        .map(|_| Block::Heading("Failed slices".to_owned()));
    Section::new(
        "failed",
        "What failed",
        Shown::Always,
        heading.into_iter().chain(list),
    )
}

/// The machine, what the application was built from, and what sent its load.
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
    let text = format!(
        "Each configuration has its own set of services and its own users; what backs them is shared. All sets are up \
         at once. Load goes to one at a time: {settle} are left out, then {slice} are measured, in an order drawn anew \
         for each round. Ratios are of the slices of one round; the interval is over {} fresh starts of the services, \
         each warmed up for {warm_up}. The A/A pair is a second set of one configuration: what differs less than it \
         differs from itself is not resolved.",
        plan.invocations()
    );
    Section::new(
        "reading",
        "How this was measured",
        Shown::Folded,
        [Block::Paragraph(Text::from(text))],
    )
}
