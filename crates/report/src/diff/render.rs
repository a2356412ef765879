//! Differences for a terminal.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;

use super::{
    Base, BeforeAfter, Change, Diff, Difference, MetricChange, RunLabel, SettingsChange, Shift,
};
use crate::document::{Answer, Block, Column, Item, Section, Shown, Table};
use crate::findings::objective::{ObjectiveFindings, ObjectiveOutcome};
use crate::metric::{better, row};
use crate::terminal::{self, Style};
use crate::units;
use crate::words::{self, Labels};

/// The metrics in the table, from left to right, and when their columns are dropped.
const SHOWN: [(Metric, &str, u8); 6] = [
    (Metric::LatencyP50, "p50", 0),
    (Metric::LatencyP99, "p99", 1),
    (Metric::Goodput, "calls/s", 2),
    (Metric::CallBytes, "bytes/call", 5),
    (Metric::ClientCpu, "client CPU", 4),
    (Metric::ServerCpu, "server CPU", 3),
];

/// Writes differences for a terminal.
pub fn render(diff: &Diff, style: Style) -> String {
    let mut facts = vec![format!(
        "Each run has its own noise from the machine. So a figure is compared with its run's floor and with \
         the variant that it is paired with, and counts as changed only where both agree: at most {} of \
         diffs report a change by chance.",
        words::margin_percent(1.0 - diff.confidence)
    )];
    facts.extend(diff.floors.iter().map(|floor| {
        format!(
            "The floor {} is {}× what it was (median over {} variants).",
            words::on(floor.placement),
            units::ratio(floor.ratio),
            floor.variants
        )
    }));
    let titles = [
        format!("before: {}", label(&diff.before)),
        format!("after: {}", label(&diff.after)),
    ];
    let placements = [Placement::TwoCores, Placement::OneCore, Placement::Free];
    let sections: Vec<Section> = [
        capacity(diff),
        objectives(diff),
        changes(diff),
        verdicts(diff),
    ]
    .into_iter()
    .chain(placements.map(|placement| figures(diff, placement)))
    .chain([
        cautions(diff),
        others(
            &diff.environment,
            ("calls differently", &diff.settings),
            [&diff.only_before, &diff.only_after],
        ),
    ])
    .filter(|section| !section.blocks.is_empty())
    .collect();
    terminal::sections(&titles, &facts, &sections, style)
}

pub(crate) fn label(run: &RunLabel) -> String {
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

/// A section; of one without blocks nothing is shown.
pub(crate) fn section(title: String, blocks: Vec<Block>) -> Section {
    Section {
        id: "",
        title,
        shown: Shown::Always,
        blocks,
    }
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

/// What both searches came to.
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
    section("Capacity".to_owned(), facts.collect())
}

/// What became of every objective, before and after.
fn objectives(diff: &Diff) -> Section {
    let item = |change: &BeforeAfter<ObjectiveFindings>| {
        let (sign, answer) = turn(change);
        signed(sign, answer, objective(change))
    };
    let items: Vec<Item> = diff.objectives.iter().map(item).collect();
    let list = (!items.is_empty()).then_some(Block::List(items));
    section("Objectives".to_owned(), list.into_iter().collect())
}

/// Whether an objective is reached or missed now and was not before.
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

/// Every resolved change in a sentence.
fn changes(diff: &Diff) -> Section {
    let resolved = diff
        .metrics
        .iter()
        .filter_map(|change| match change.outcome {
            Change::Better => Some(signed('▲', Answer::Better, changed(diff, change))),
            Change::Worse => Some(signed('▼', Answer::Worse, changed(diff, change))),
            _ => None,
        });
    let resolved: Vec<Item> = resolved.collect();
    let is_unshared = |change: &MetricChange| change.outcome == Change::NoBase;
    let blocks = match resolved.is_empty() {
        false => Block::List(resolved),
        true if diff.metrics.is_empty() => {
            paragraph("No variant was measured under the same placement in both runs.")
        }
        true if diff.metrics.iter().all(is_unshared) => paragraph(
            "Nothing is judged: these runs share no floor, or no second variant that calls in the same \
             way, or no A/A pair. The figures below hold only if the machine ran at the same speed.",
        ),
        true => paragraph("No figure changed by more than these two runs can tell."),
    };
    section("What changed".to_owned(), vec![blocks])
}

/// A resolved change in a sentence.
fn changed(diff: &Diff, change: &MetricChange) -> String {
    let against: Vec<String> = change.shifts.iter().map(|s| shift(change, s)).collect();
    // The only change that is judged without what both runs share.
    let phrase = match change.shifts.is_empty() {
        true if change.ratio == 0.0 => "0, since most trials answered no call".to_owned(),
        true => {
            words::change_phrase(change.metric, change.ratio)
                + ", since most trials answered no call"
        }
        false => against.join(", "),
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

/// A change against one thing that both runs share.
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

fn verdicts(diff: &Diff) -> Section {
    let unchanged = diff.verdicts_unchanged;
    let mut blocks: Vec<Block> = Vec::new();
    for change in &diff.verdicts {
        blocks.push(paragraph(format!(
            "{} against {} in {}: was {}, is {}",
            change.of,
            change.against,
            row(change.metric).name,
            change.was,
            change.is
        )));
        blocks.push(Block::Facts(vec![
            ("  before:".to_owned(), change.before.clone().into()),
            ("  after:".to_owned(), change.after.clone().into()),
        ]));
    }
    let rest = match (blocks.is_empty(), unchanged) {
        (true, 0) => None,
        (true, 1) => Some("The only verdict is the same.".to_owned()),
        (true, several) => Some(format!("All {several} verdicts are the same.")),
        (false, 1) => Some("1 other is the same.".to_owned()),
        (false, several) => Some(format!("{several} others are the same.")),
    };
    blocks.extend(rest.map(paragraph));
    section("Verdicts".to_owned(), blocks)
}

/// The ratios after/before of all variants under a placement, and the figures that they are of.
fn figures(diff: &Diff, placement: Placement) -> Section {
    let here = || diff.metrics.iter().filter(|m| m.placement == placement);
    let mut names: Vec<&str> = Vec::new();
    for change in here() {
        if !names.contains(&&*change.variant) {
            names.push(&change.variant);
        }
    }
    let rows = names.iter().flat_map(|name| {
        let line = |head: &str, cell: &dyn Fn(&MetricChange) -> String| {
            let cells = SHOWN.map(|(metric, ..)| {
                let change = here().find(|m| m.variant == *name && m.metric == metric);
                change.map_or_else(units::none, cell)
            });
            [head.to_owned()]
                .into_iter()
                .chain(cells)
                .collect::<Vec<_>>()
        };
        let value = |change: &MetricChange, value| row(change.metric).value(value);
        [
            line(name, &cell),
            line("  before", &|change| value(change, change.before)),
            line("  after", &|change| value(change, change.after)),
        ]
    });
    let mut legend =
        "Against the run's floor, bytes as they are. ▲ better, ▼ worse, = no difference, ? not \
                      resolved"
            .to_owned();
    if here().any(|m| m.outcome == Change::Unanswered) {
        legend += ", F calls that were not answered could have changed it";
    }
    if here().any(|m| m.shifts.is_empty()) {
        legend += ", ( ) as measured, with the machine's noise";
    }
    if here().any(|m| m.outcome == Change::ClientBound) {
        legend += ", C client-bound: says nothing of the server";
    }
    if here().any(|m| m.outcome == Change::LinkNotHeld) {
        legend += ", L link not held: says nothing of the link that was asked for";
    }
    let columns = SHOWN.map(|(_, title, rank)| Column::number(title, rank));
    let table = Table {
        rows: rows.collect(),
        columns: [Column::text("variant", 0)]
            .into_iter()
            .chain(columns)
            .collect(),
        notes: vec![legend],
        ..Table::default()
    };
    let blocks = (!names.is_empty()).then_some(Block::Table(table));
    let title = format!("After over before, {}", words::on(placement));
    section(title, blocks.into_iter().collect())
}

/// What a change comes to, behind its ratio.
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

/// What must be known of the figures above. Dynamic code stands beside the changes themselves.
fn cautions(diff: &Diff) -> Section {
    let lines = diff.cautions.iter().filter_map(|cell| {
        let [before, after] = [&cell.before, &cell.after].map(|of| Labels::of(of).names);
        let labels = match before == after {
            true if before.is_empty() => return None,
            true => format!("{before} before and after"),
            false => format!("{} before; {} after", or_none(&before), or_none(&after)),
        };
        let place = words::on(cell.placement);
        Some(paragraph(format!("{} {place}: {labels}", cell.variant)))
    });
    section("Cautions, by trials".to_owned(), lines.collect())
}

/// What else differs: terms, the settings of variants with what they do in words, and variants of one run.
pub(crate) fn others(
    terms: &[Difference],
    (does, settings): (&str, &[SettingsChange]),
    [only_before, only_after]: [&[String]; 2],
) -> Section {
    let mut entries: Vec<String> = Vec::new();
    let line = |difference: &Difference| {
        let [before, after] = [&difference.before, &difference.after].map(|text| match &**text {
            "" => units::NONE,
            text => text,
        });
        format!("{}: {before} → {after}", difference.what)
    };
    entries.extend(terms.iter().map(line));
    entries.extend(settings.iter().map(|change| {
        let lines: Vec<String> = change.differences.iter().map(line).collect();
        format!("{} {does}: {}", change.variant, lines.join(", "))
    }));
    if !only_before.is_empty() {
        entries.push(format!("only before: {}", only_before.join(", ")));
    }
    if !only_after.is_empty() {
        entries.push(format!("only after: {}", only_after.join(", ")));
    }
    section(
        "What else differs".to_owned(),
        entries.into_iter().map(paragraph).collect(),
    )
}
