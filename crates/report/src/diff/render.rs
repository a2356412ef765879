//! Differences for a terminal.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;

use super::{Base, Change, Diff, MetricChange, ObjectiveChange, RunLabel, Shift};
use crate::escape::terminal as safe;
use crate::findings::objective::{ObjectiveFindings, ObjectiveOutcome};
use crate::terminal::{Column, Paint, Style, Table};
use crate::units;
use crate::words;

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
#[must_use]
pub fn render(diff: &Diff, style: Style) -> String {
    let method = format!(
        "The machine's mood is another one in each run. So a figure is held against its run's floor and \
         against the variant that it is compared with, and changed where both say so: in at most {} of \
         diffs anything does by chance.",
        words::margin_percent(1.0 - diff.confidence)
    );
    let mut lines = vec![
        style.paint(
            Paint::Heading,
            &style.wrap("before  ", &safe(&label(&diff.before))),
        ),
        style.paint(
            Paint::Heading,
            &style.wrap("after   ", &safe(&label(&diff.after))),
        ),
        style.paint(Paint::Quiet, &style.wrap("", &method)),
    ];
    for floor in &diff.floors {
        let text = format!(
            "The floor {} is {}× what it was (median over {} variants).",
            words::on(floor.placement),
            units::ratio(floor.ratio),
            floor.variants
        );
        lines.push(style.paint(Paint::Quiet, &style.wrap("", &text)));
    }
    capacity(&mut lines, diff, style);
    objectives(&mut lines, diff, style);
    changes(&mut lines, diff, style);
    verdicts(&mut lines, diff, style);
    for placement in [Placement::TwoCores, Placement::OneCore, Placement::Free] {
        table(&mut lines, diff, placement, style);
    }
    marks(&mut lines, diff, style);
    others(&mut lines, diff, style);
    lines.join("\n") + "\n"
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

fn heading(lines: &mut Vec<String>, text: &str, style: Style) {
    lines.push(String::new());
    lines.push(style.paint(Paint::Heading, text));
}

/// What both searches came to.
fn capacity(lines: &mut Vec<String>, diff: &Diff, style: Style) {
    let Some(change) = &diff.capacity else {
        return;
    };
    heading(lines, "Capacity", style);
    for (label, found) in [("before", &change.before), ("after", &change.after)] {
        let told = found
            .as_ref()
            .map_or("not searched for", |found| &*found.sentence);
        lines.push(style.wrap(&format!("  {label:<8}"), &safe(told)));
    }
}

/// What became of every objective, before and after.
fn objectives(lines: &mut Vec<String>, diff: &Diff, style: Style) {
    if diff.objectives.is_empty() {
        return;
    }
    heading(lines, "Objectives", style);
    for change in &diff.objectives {
        let (paint, sign) = turn(change);
        let wrapped = style.wrap("    ", &safe(&objective(change)));
        lines.push(format!("  {} {}", style.paint(paint, sign), &wrapped[4..]));
    }
}

/// Whether an objective is reached or missed now and was not before.
fn turn(change: &ObjectiveChange) -> (Paint, &'static str) {
    let outcomes = [&change.before, &change.after].map(|o| o.as_ref().map(|o| o.outcome));
    let [before, after] = outcomes;
    match after {
        Some(ObjectiveOutcome::Reached) if before == Some(ObjectiveOutcome::Missed) => {
            (Paint::Good, "▲")
        }
        Some(ObjectiveOutcome::Missed) if before == Some(ObjectiveOutcome::Reached) => {
            (Paint::Bad, "▼")
        }
        Some(ObjectiveOutcome::Reached | ObjectiveOutcome::Missed) if before == after => {
            (Paint::Quiet, "=")
        }
        _ => (Paint::Open, "?"),
    }
}

fn objective(change: &ObjectiveChange) -> String {
    let named = change.before.as_ref().or(change.after.as_ref());
    let name = named.map_or_else(String::new, |o| format!("{} {}", o.variant, o.objective));
    let told = |found: &Option<ObjectiveFindings>| {
        let words = found.as_ref().map(words::live::objective);
        words.unwrap_or_else(|| "no objective".to_owned())
    };
    let (before, after) = (told(&change.before), told(&change.after));
    format!("{name}: {after}; before, {before}")
}

/// Every resolved change in a sentence.
fn changes(lines: &mut Vec<String>, diff: &Diff, style: Style) {
    let resolved: Vec<&MetricChange> = diff
        .metrics
        .iter()
        .filter(|m| matches!(m.outcome, Change::Better | Change::Worse))
        .collect();
    heading(lines, "What changed", style);
    if resolved.is_empty() {
        let text = match diff.metrics.is_empty() {
            true => "No variant was measured under the same placement in both runs.",
            false if diff.metrics.iter().all(is_unshared) => {
                "Nothing is judged: these runs share no floor, or no second variant that calls in the \
                 same way, or no A/A pair. The figures below hold only if the machine was in the same mood."
            }
            false => "No figure changed by more than these two runs can tell.",
        };
        lines.push(style.wrap("  ", text));
    }
    for change in resolved {
        let (paint, sign) = match change.outcome {
            Change::Better => (Paint::Good, "▲"),
            _ => (Paint::Bad, "▼"),
        };
        let wrapped = style.wrap("    ", &safe(&changed(diff, change)));
        lines.push(format!("  {} {}", style.paint(paint, sign), &wrapped[4..]));
    }
}

/// A resolved change in a sentence.
fn changed(diff: &Diff, change: &MetricChange) -> String {
    let against: Vec<String> = change.shifts.iter().map(|s| shift(change, s)).collect();
    // The only change that is told without what both runs share.
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
    let value = |value| words::value(change.metric, value);
    let code = if change.dynamic_code {
        " (dynamic code)"
    } else {
        ""
    };
    format!(
        "{}{other} {}: {} {phrase}{code}; {} before, {} after",
        change.variant,
        words::on(change.placement),
        words::metric_name(change.metric),
        value(change.before),
        value(change.after),
    )
}

/// A change against one thing that both runs share.
fn shift(change: &MetricChange, shift: &Shift) -> String {
    let phrase = words::change_phrase(change.metric, shift.ratio);
    let factor = words::Factor::of(change.metric, shift.ratio, shift.interval);
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

/// Whether a figure is not judged for want of what both runs share.
fn is_unshared(change: &MetricChange) -> bool {
    change.outcome == Change::NoBase
}

fn verdicts(lines: &mut Vec<String>, diff: &Diff, style: Style) {
    let unchanged = diff.verdicts_unchanged;
    if diff.verdicts.is_empty() && unchanged == 0 {
        return;
    }
    heading(lines, "Verdicts", style);
    if diff.verdicts.is_empty() {
        let text = match unchanged {
            1 => "The only verdict is the same.".to_owned(),
            several => format!("All {several} verdicts are the same."),
        };
        lines.push(style.wrap("  ", &text));
        return;
    }
    for change in &diff.verdicts {
        let text = format!(
            "{} against {} in {}: was {}, is {}",
            change.of,
            change.against,
            words::metric_name(change.metric),
            change.was,
            change.is
        );
        lines.push(style.wrap("  ", &safe(&text)));
        lines.push(style.paint(
            Paint::Quiet,
            &style.wrap("    before: ", &safe(&change.before)),
        ));
        lines.push(style.paint(
            Paint::Quiet,
            &style.wrap("    after:  ", &safe(&change.after)),
        ));
    }
    let text = match unchanged {
        1 => "1 other is the same.".to_owned(),
        several => format!("{several} others are the same."),
    };
    lines.push(style.wrap("  ", &text));
}

/// The ratios after/before of all variants under a placement.
fn table(lines: &mut Vec<String>, diff: &Diff, placement: Placement, style: Style) {
    let here = || diff.metrics.iter().filter(|m| m.placement == placement);
    let mut names: Vec<&str> = Vec::new();
    for change in here() {
        if !names.contains(&&*change.variant) {
            names.push(&change.variant);
        }
    }
    if names.is_empty() {
        return;
    }
    heading(
        lines,
        &format!("After over before, {}", words::on(placement)),
        style,
    );
    let columns = SHOWN.map(|(_, title, rank)| Column {
        title,
        rank,
        right: true,
    });
    let mut table = Table {
        columns: vec![Column {
            title: "variant",
            rank: 0,
            right: false,
        }],
        rows: Vec::new(),
    };
    table.columns.extend(columns);
    for name in names {
        let mut row = vec![safe(name)];
        row.extend(SHOWN.map(|(metric, ..)| {
            let change = here().find(|m| m.variant == name && m.metric == metric);
            change.map_or_else(|| units::NONE.to_owned(), cell)
        }));
        table.rows.push(row);
    }
    let (rows, _) = table.lines(style.columns());
    lines.extend(rows);
    let mut legend =
        "Against the run's floor, bytes as they are. ▲ better, ▼ worse, = no difference, ? not \
                      resolved"
            .to_owned();
    if here().any(|m| m.outcome == Change::Unanswered) {
        legend += ", F calls that were not answered could have changed it";
    }
    if here().any(|m| m.shifts.is_empty()) {
        legend += ", ( ) as measured, with the machine's mood in it";
    }
    if here().any(|m| m.outcome == Change::ClientBound) {
        legend += ", C client-bound: says nothing of the server";
    }
    lines.push(style.paint(Paint::Quiet, &style.wrap("", &legend)));
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

/// What must be known of the figures above.
fn marks(lines: &mut Vec<String>, diff: &Diff, style: Style) {
    if diff.marks.is_empty() {
        return;
    }
    heading(lines, "Marks, by trials", style);
    for cell in &diff.marks {
        let marks = if cell.before == cell.after {
            format!("{} before and after", cell.before)
        } else {
            let (before, after) = (or_none(&cell.before), or_none(&cell.after));
            format!("{before} before; {after} after")
        };
        let text = format!("{} {}: {marks}", cell.variant, words::on(cell.placement));
        lines.push(style.wrap("  ", &safe(&text)));
    }
}

fn cell(change: &MetricChange) -> String {
    let sign = match change.outcome {
        Change::Better => "▲",
        Change::Worse => "▼",
        Change::NoDifference => "=",
        Change::NotResolved | Change::NoBase => "?",
        Change::ClientBound => "C",
        Change::Unanswered => "F",
    };
    match change.shifts.first() {
        Some(shift) => format!("{} {sign}", units::ratio(shift.ratio)),
        None => format!("({}) {sign}", units::ratio(change.ratio)),
    }
}

fn others(lines: &mut Vec<String>, diff: &Diff, style: Style) {
    let mut entries: Vec<String> = Vec::new();
    entries.extend(diff.environment.iter().map(|change| {
        format!(
            "{}: {} → {}",
            change.what,
            or_none(&change.before),
            or_none(&change.after)
        )
    }));
    entries.extend(diff.settings.iter().map(|change| {
        format!(
            "{} calls differently: {} → {}",
            change.variant, change.before, change.after
        )
    }));
    if !diff.only_before.is_empty() {
        entries.push(format!("only before: {}", diff.only_before.join(", ")));
    }
    if !diff.only_after.is_empty() {
        entries.push(format!("only after: {}", diff.only_after.join(", ")));
    }
    if entries.is_empty() {
        return;
    }
    heading(lines, "What else differs", style);
    lines.extend(entries.iter().map(|entry| style.wrap("  ", &safe(entry))));
}
