//! The differences between two runs as a document.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;

use super::{
    Base, BeforeAfter, CautionsChange, Change, Diff, Difference, MetricChange, RunLabel,
    SettingsChange, Shift, VerdictChange,
};
use crate::document::{
    Answer, Block, Column, Document, Item, Section, Shown, Table, Text, with_head,
};
use crate::findings::objective::{ObjectiveFindings, ObjectiveOutcome};
use crate::metric::{better, row};
use crate::units;
use crate::words::{self, Labels};

/// The metrics in the table, from left to right, each with the title and rank of its column.
const SHOWN: [(Metric, &str, u8); 6] = [
    (Metric::LatencyP50, "p50", 0),
    (Metric::LatencyP99, "p99", 1),
    (Metric::Goodput, "calls/s", 2),
    (Metric::CallBytes, "bytes/call", 5),
    (Metric::ClientCpu, "client CPU", 4),
    (Metric::ServerCpu, "server CPU", 3),
];

impl Document {
    /// The report of the differences between two runs.
    pub(crate) fn of_diff(diff: &Diff) -> Self {
        let floors = diff.floors.iter().map(|floor| {
            format!(
                "the floor {} is {}× what it was (median over {} variants)",
                words::on(floor.placement),
                units::ratio(floor.ratio),
                floor.variants
            )
        });
        let placements = [Placement::TwoCores, Placement::OneCore, Placement::Free];
        let first = [
            capacity(diff),
            objectives(diff),
            changes(diff),
            verdicts(diff),
        ];
        let last = [
            cautions(diff),
            others(
                &diff.environment,
                ("calls differently", &diff.settings),
                [&diff.only_before, &diff.only_after],
            ),
        ];
        let figures = placements.map(|placement| figures(diff, placement));
        let sections = first.into_iter().chain(figures).chain(last);
        Self::of_runs([&diff.before, &diff.after], floors, sections)
    }

    /// A report about two runs with these facts and sections.
    pub(crate) fn of_runs(
        [before, after]: [&RunLabel; 2],
        facts: impl IntoIterator<Item = String>,
        sections: impl IntoIterator<Item = Section>,
    ) -> Self {
        let runs = [
            format!("before: {}", label(before)),
            format!("after: {}", label(after)),
        ];
        let sections = sections.into_iter();
        Self {
            title: if before.study == after.study {
                format!("diff of {}", before.study)
            } else {
                format!("diff of {} and {}", before.study, after.study)
            },
            question: "What changed between these two runs?".to_owned(),
            facts: runs.into_iter().chain(facts).collect(),
            cautions: Vec::new(),
            sections: sections
                .filter(|section| !section.blocks.is_empty())
                .collect(),
        }
    }
}

fn label(run: &RunLabel) -> String {
    let time = run
        .started_at_ms
        .map(|ms| format!(", {} UTC", units::wall_clock(ms)));
    format!(
        "{}{}, {} of {} trials measured",
        run.study,
        time.unwrap_or_default(),
        run.measured,
        run.planned
    )
}

/// A section that is always shown, unless it has no blocks.
pub(crate) fn section(
    id: &'static str,
    title: impl Into<String>,
    blocks: impl IntoIterator<Item = Block>,
) -> Section {
    Section::new(id, title, Shown::Always, blocks)
}

/// A table; `None` without rows.
pub(crate) fn filled(table: Table) -> Option<Block> {
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

pub(crate) fn paragraph(text: impl Into<String>) -> Block {
    Block::Paragraph(text.into().into())
}

pub(crate) fn signed(sign: char, answer: Answer, text: String) -> Item {
    Item {
        sign: Some((sign, answer)),
        ..Item::plain(text.into())
    }
}

/// The results of both searches.
fn capacity(diff: &Diff) -> Section {
    let facts = diff.capacity.iter().map(|change| {
        let runs = [("before", &change.before), ("after", &change.after)];
        let facts = runs.map(|(label, found)| {
            let sentence = found
                .as_ref()
                .map(|found| words::capacity::sentences(found).join(" "));
            let sentence = sentence.unwrap_or_else(|| "not searched for".to_owned());
            (label.to_owned(), sentence.into())
        });
        Block::Facts(facts.to_vec())
    });
    section("capacity", "Capacity", facts)
}

/// The outcome of every objective before and after.
fn objectives(diff: &Diff) -> Section {
    let item = |change: &BeforeAfter<ObjectiveFindings>| {
        let (sign, answer) = turn(change);
        signed(sign, answer, objective(change))
    };
    let list = Block::list(diff.objectives.iter().map(item));
    section("objectives", "Objectives", list)
}

/// The sign for an objective, which shows whether its outcome changed and in which direction.
fn turn(change: &BeforeAfter<ObjectiveFindings>) -> (char, Answer) {
    use ObjectiveOutcome::{Missed, Reached};
    let outcomes = [&change.before, &change.after].map(|o| o.as_ref().map(|o| o.outcome));
    match outcomes {
        [Some(Missed), Some(Reached)] => ('▲', Answer::Better),
        [Some(Reached), Some(Missed)] => ('▼', Answer::Worse),
        [Some(Reached), Some(Reached)] | [Some(Missed), Some(Missed)] => ('=', Answer::Check),
        _ => ('?', Answer::Open),
    }
}

fn objective(change: &BeforeAfter<ObjectiveFindings>) -> String {
    let named = change.before.as_ref().or(change.after.as_ref());
    let name = named.map_or_else(String::new, |o| format!("{} {}", o.variant, o.objective));
    let outcome = |found: &Option<ObjectiveFindings>| {
        let words = found.as_ref().map(words::objective::objective);
        words.unwrap_or_else(|| "no objective".to_owned())
    };
    let (before, after) = (outcome(&change.before), outcome(&change.after));
    format!("{name}: {after}; before, {before}")
}

/// Every resolved change as a sentence, and how changes were judged.
fn changes(diff: &Diff) -> Section {
    let resolved = diff
        .metrics
        .iter()
        .filter_map(|change| match change.outcome {
            Change::Better => Some(signed('▲', Answer::Better, changed(diff, change))),
            Change::Worse => Some(signed('▼', Answer::Worse, changed(diff, change))),
            _ => None,
        });
    let is_unshared = |change: &MetricChange| change.outcome == Change::NoBase;
    let found = Block::list(resolved).unwrap_or_else(|| {
        paragraph(if diff.metrics.is_empty() {
            "No variant was measured under the same placement in both runs."
        } else if diff.metrics.iter().all(is_unshared) {
            "Nothing is judged: these runs share no floor (live services have none), or no second variant or --vs \
             target that is called in the same way, or no A/A pair. The figures below are comparable only if the \
             machine ran at the same speed."
        } else {
            "No figure changed by more than these two runs can resolve."
        })
    });
    let chance = words::margin_percent(1.0 - diff.confidence);
    let method = Block::Note(if is_live(&diff.metrics) {
        "Each run has its own noise from the machine, so a figure is compared with that of the other target in its \
         run. A change may be of either target, or due to the machine's state or the services' starts, which are \
         not controlled between the two runs: use `rpcgauge gate` where you can start the services."
            .to_owned()
    } else {
        format!(
            "Each run has its own noise from the machine, so a figure is compared with its run's floor and with \
             the variant that it is paired with. It counts as changed only if both agree: at most {chance} of \
             diffs report a change by chance."
        )
    });
    section("changes", "What changed", [found, method])
}

/// Whether the changes are of live services, which have no floor.
fn is_live(changes: &[MetricChange]) -> bool {
    let mut bases = changes
        .iter()
        .flat_map(|change| &change.shifts)
        .map(|shift| &shift.base);
    let is_floor = |base: &Base| matches!(base, Base::Floor { .. });
    let is_variant = |base: &Base| matches!(base, Base::Variant { .. });
    bases.clone().any(is_variant) && !bases.any(is_floor)
}

/// A resolved change as a sentence.
fn changed(diff: &Diff, change: &MetricChange) -> String {
    let against: Vec<String> = change.shifts.iter().map(|s| shift(change, s)).collect();
    // A change without shifts is only judged if most calls to a service now fail.
    let phrase = if !change.shifts.is_empty() {
        against.join(", ")
    } else if change.ratio == 0.0 {
        "0, since in most trials no call succeeded".to_owned()
    } else {
        words::change_phrase(change.metric, change.ratio)
            + ", since in most trials no call succeeded"
    };
    let is_other = diff.settings.iter().any(|s| s.variant == change.variant);
    let other = if is_other {
        " (called differently)"
    } else {
        ""
    };
    let code = if change.dynamic_code {
        " (dynamic code)"
    } else {
        ""
    };
    let metric = row(change.metric);
    format!(
        "{}{other} {}: {} {phrase}{code}; {} before, {} after",
        change.variant,
        words::on(change.placement),
        metric.name,
        metric.value(change.before),
        metric.value(change.after),
    )
}

/// A change relative to one base that both runs share.
fn shift(change: &MetricChange, shift: &Shift) -> String {
    let phrase = words::change_phrase(change.metric, shift.ratio);
    let factor = words::Factor::of(better(change.metric), shift.ratio, shift.interval);
    let interval = factor.interval.map_or_else(String::new, |interval| {
        format!(" {}", words::interval_beside(factor.value, interval))
    });
    let against = match &shift.base {
        Base::Nothing => String::new(),
        Base::Floor { of } if *of == change.variant => " against the floor".to_owned(),
        Base::Floor { of } => format!(" against the floor of {of}"),
        Base::Variant { name } => format!(" against {name}"),
    };
    phrase + &interval + &against
}

/// The section of verdicts: those that changed, and the number of the others.
fn verdicts(diff: &Diff) -> Section {
    let item = |change: &VerdictChange| Item {
        below: vec![
            format!("before: {}", change.before).into(),
            format!("after: {}", change.after).into(),
        ],
        ..Item::plain(
            format!(
                "{} against {} in {}: was {}, is now {}",
                change.of,
                change.against,
                row(change.metric).name,
                change.was,
                change.is
            )
            .into(),
        )
    };
    let changed = Block::list(diff.verdicts.iter().map(item));
    let rest = match (changed.is_none(), diff.verdicts_unchanged) {
        (_, 0) => None,
        (true, 1) => Some("The only verdict is unchanged.".to_owned()),
        (true, several) => Some(format!("All {several} verdicts are unchanged.")),
        (false, 1) => Some("1 other is unchanged.".to_owned()),
        (false, several) => Some(format!("{several} others are unchanged.")),
    };
    let blocks = changed.into_iter().chain(rest.map(paragraph));
    section("verdicts", "Verdicts", blocks)
}

/// The ratios after/before of all variants under a placement, and the figures of both runs.
fn figures(diff: &Diff, placement: Placement) -> Section {
    let here = || diff.metrics.iter().filter(|m| m.placement == placement);
    let mut names: Vec<&str> = Vec::new();
    for change in here() {
        if !names.contains(&&*change.variant) {
            names.push(&change.variant);
        }
    }
    let columns = SHOWN.map(|(_, title, rank)| Column::number(title, rank));
    let mut table = Table {
        columns: with_head(Column::text("variant", 0), columns),
        ..Table::default()
    };
    for name in &names {
        let line = |head: &str, cell: &dyn Fn(&MetricChange) -> String| {
            let cells = SHOWN.map(|(metric, ..)| {
                let change = here().find(|m| m.variant == *name && m.metric == metric);
                change.map_or_else(units::none, cell)
            });
            with_head(head.to_owned(), cells)
        };
        let value = |change: &MetricChange, value| row(change.metric).value(value);
        table.add_group([
            line(name, &cell),
            line("  before", &|change| value(change, change.before)),
            line("  after", &|change| value(change, change.after)),
        ]);
    }
    let base = if is_live(&diff.metrics) {
        "other target"
    } else {
        "floor"
    };
    let mut legend = format!(
        "Ratios are relative to the run's {base}; bytes are compared directly. ▲ better, ▼ worse, = no \
         difference, ? not resolved"
    );
    if here().any(|m| m.outcome == Change::Unanswered) {
        legend += ", F unsuccessful calls could have changed the outcome";
    }
    if here().any(|m| m.shifts.is_empty()) {
        legend += &format!(", ( ) not relative to the {base}: includes the machine's noise");
    }
    if here().any(|m| m.outcome == Change::ClientBound) {
        legend += ", C client-bound: says nothing about the server";
    }
    if here().any(|m| m.outcome == Change::LinkNotHeld) {
        legend += ", L link not held: says nothing about the requested link";
    }
    table.notes.push(legend);
    let title = format!("After over before, {}", words::on(placement));
    section("figures", title, filled(table))
}

/// The sign of a change's outcome, to append to its ratio.
pub(crate) fn sign(change: Change) -> &'static str {
    match change {
        Change::Better => "▲",
        Change::Worse => "▼",
        Change::NoDifference => "=",
        Change::NotResolved | Change::NoBase => "?",
        Change::ClientBound => "C",
        Change::LinkNotHeld => "L",
        Change::Unanswered => "F",
    }
}

fn cell(change: &MetricChange) -> String {
    let sign = sign(change.outcome);
    match change.shifts.first() {
        Some(shift) => format!("{} {sign}", units::ratio(shift.ratio)),
        None => format!("({}) {sign}", units::ratio(change.ratio)),
    }
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

/// The cautions about the figures, except for dynamic code, which is shown with each change.
fn cautions(diff: &Diff) -> Section {
    let fact = |cell: &CautionsChange| {
        let [before, after] = [&cell.before, &cell.after].map(|of| Labels::of(of).names);
        let labels = if before != after {
            format!("{} before; {} after", or_none(&before), or_none(&after))
        } else if before.is_empty() {
            return None;
        } else {
            format!("{before} before and after")
        };
        let place = words::on(cell.placement);
        Some((format!("{} {place}", cell.variant), labels))
    };
    let facts = filled_facts(diff.cautions.iter().filter_map(fact));
    section("cautions", "Cautions, by trials", facts)
}

/// The section of other differences: properties of the runs, settings of variants, and variants that only one run
/// has. `does` are the words after the name of a variant with different settings.
pub(crate) fn others(
    terms: &[Difference],
    (does, settings): (&str, &[SettingsChange]),
    [only_before, only_after]: [&[String]; 2],
) -> Section {
    let values = |difference: &Difference| {
        let [before, after] = [&difference.before, &difference.after].map(|text| match &**text {
            "" => units::NONE,
            text => text,
        });
        format!("{before} → {after}")
    };
    let terms = terms.iter().map(|term| (term.what.clone(), values(term)));
    let settings = settings.iter().map(|change| {
        let each = change.differences.iter();
        let each = each.map(|one| format!("{}: {}", one.what, values(one)));
        (
            format!("{} {does}", change.variant),
            words::joined(each, ", "),
        )
    });
    let only = [("only before", only_before), ("only after", only_after)].into_iter();
    let only = only.filter(|(_, names)| !names.is_empty());
    let only = only.map(|(label, names)| (label.to_owned(), names.join(", ")));
    let facts = filled_facts(terms.chain(settings).chain(only));
    section("others", "What else differs", facts)
}

/// Facts with texts that may come from other programs; `None` without facts.
fn filled_facts(facts: impl Iterator<Item = (String, String)>) -> Option<Block> {
    let facts = facts.map(|(label, text)| (label, Text::foreign(text)));
    let facts: Vec<(String, Text)> = facts.collect();
    (!facts.is_empty()).then_some(Block::Facts(facts))
}
