//! Differences between two runs of an application, as a document.

use rpcgauge_study::app::AppMetric;

use super::super::document::{brief, factor_phrase, subject, value};
use super::{AppDiff, FigureChange, GainChange};
use crate::diff::Change;
use crate::diff::document::{filled, others, paragraph, section, sign, signed};
use crate::document::{Answer, Block, Column, Document, Section, Table};
use crate::units;
use crate::words::{self, Factor};

impl Document {
    /// The report of the differences between two runs of an application.
    pub(super) fn of_app_diff(diff: &AppDiff) -> Self {
        let terms = [&diff.plan[..], &diff.environment].concat();
        let sections = [
            changes(diff),
            gains(diff),
            of_users(diff),
            within(diff),
            others(
                &terms,
                ("is set differently", &diff.settings),
                [&diff.only_before, &diff.only_after],
            ),
        ];
        Self::of_runs([&diff.before, &diff.after], [], sections)
    }
}

/// Every resolved change as a sentence, and how changes were judged.
fn changes(diff: &AppDiff) -> Section {
    let item = |gain: &GainChange| {
        let (sign, answer) = match gain.outcome {
            Change::Better => ('▲', Answer::Better),
            Change::Worse => ('▼', Answer::Worse),
            _ => return None,
        };
        Some(signed(sign, answer, changed(diff, gain)?))
    };
    let found = Block::list(diff.gains.iter().filter_map(item)).unwrap_or_else(|| {
        paragraph(if diff.gains.iter().all(|gain| gain.shift.is_none()) {
            "Nothing is judged: these runs share no pair whose second variant has the same settings in both, or no A/A \
             pair. The figures below are comparable only if the machine ran at the same speed."
        } else {
            "No pair's ratio changed by more than these two runs can resolve."
        })
    });
    let method = Block::Note(format!(
        "Without a floor, a change of the application cannot be told from a change of the machine, so single variants \
         are not judged. The ratio of each pair is, because both variants were measured in the same blocks. If neither \
         the application nor the machine changed, at most {} of diffs report a change.",
        words::margin_percent(1.0 - diff.confidence)
    ));
    section("changes", "What changed", [found, method])
}

fn changed(diff: &AppDiff, gain: &GainChange) -> Option<String> {
    let (old, shift) = (&gain.before, gain.shift.as_ref()?);
    let is_other = diff.settings.iter().any(|one| one.variant == old.of);
    let other = if is_other { " (set differently)" } else { "" };
    let factor = Factor::of(
        super::better(&diff.run.plan, &old.metric),
        shift.ratio,
        shift.interval,
    );
    let interval = factor.interval.map_or_else(String::new, |interval| {
        format!(" {}", words::interval_beside(factor.value, interval))
    });
    let [before, after] = [old, &gain.after].map(|one| brief(&diff.run, one));
    Some(format!(
        "{}{other}, {}: {}{interval} against {}; {before} before, {after} after",
        old.of,
        subject(&diff.run, old),
        factor_phrase(&diff.run, old, shift.ratio),
        old.against
    ))
}

/// The ratios of all pairs.
fn gains(diff: &AppDiff) -> Section {
    let mut table = Table {
        columns: vec![
            Column::text("pair", 0),
            Column::text("in", 0),
            Column::number("before", 1),
            Column::number("after", 1),
            Column::number("after over before", 0),
        ],
        notes: vec![
            "▲ better, ▼ worse, = no difference, ? not resolved, F requests that failed, C load generator at its limit"
                .to_owned(),
        ],
        ..Table::default()
    };
    table.rows.extend(diff.gains.iter().map(|gain| {
        let old = &gain.before;
        let ratio = gain.shift.as_ref();
        let ratio = ratio.map_or_else(units::none, |shift| units::ratio(shift.ratio));
        vec![
            format!("{} against {}", old.of, old.against),
            subject(&diff.run, old),
            brief(&diff.run, old),
            brief(&diff.run, &gain.after),
            format!("{ratio} {}", sign(gain.outcome)),
        ]
    }));
    section("gains", "Ratios of the pairs", filled(table))
}

/// The figures that users see.
fn of_users(diff: &AppDiff) -> Section {
    const SHOWN: [(AppMetric, &str, u8); 4] = [
        (AppMetric::RequestsPerSecond, "per second", 0),
        (AppMetric::ResponseMean, "mean", 0),
        (AppMetric::ResponseP50, "p50", 2),
        (AppMetric::ResponseP99, "p99", 1),
    ];
    let columns = SHOWN.map(|(_, title, rank)| Column::number(title, rank));
    let texts = [Column::text("variant", 0), Column::text("request", 0)];
    let mut table = Table {
        columns: texts.into_iter().chain(columns).collect(),
        ..Table::default()
    };
    let users = || diff.figures.iter().filter(|one| one.metric.is_of_request());
    let of = |one: &FigureChange| (one.variant.clone(), one.request.clone());
    let mut kinds: Vec<_> = users().map(of).collect();
    kinds.dedup();
    kinds.sort();
    kinds.dedup();
    for (variant, request) in &kinds {
        let line = |head: [&str; 2], cell: &dyn Fn(&FigureChange) -> String| {
            let cells = SHOWN.map(|(metric, ..)| {
                let mut own =
                    users().filter(|one| (&one.variant, &one.request) == (variant, request));
                let figure = own.find(|one| one.metric == metric);
                figure.map_or_else(units::none, cell)
            });
            head.map(str::to_owned).into_iter().chain(cells).collect()
        };
        let request = request.as_deref().unwrap_or("all");
        let value = |one: &FigureChange, figure| value(&diff.run, &one.metric, figure);
        table.add_group([
            line([variant, request], &|one| units::ratio(one.ratio)),
            line(["  before", ""], &|one| value(one, one.before)),
            line(["  after", ""], &|one| value(one, one.after)),
        ]);
    }
    let title = "What users saw, after over before, as measured";
    section("users", title, filled(table))
}

/// The application's own metrics.
fn within(diff: &AppDiff) -> Section {
    let mut table = Table {
        columns: vec![
            Column::text("metric", 0),
            Column::text("variant", 0),
            Column::number("before", 0),
            Column::number("after", 0),
            Column::number("after over before", 0),
        ],
        ..Table::default()
    };
    let inside = || {
        diff.figures
            .iter()
            .filter(|one| !one.metric.is_of_request())
    };
    let mut metrics: Vec<&AppMetric> = inside().map(|one| &one.metric).collect();
    metrics.sort();
    metrics.dedup();
    for metric in metrics {
        let own = inside().filter(|one| one.metric == *metric);
        table.add_group(own.map(|one| {
            vec![
                super::super::document::name(&diff.run, metric),
                one.variant.clone(),
                value(&diff.run, metric, one.before),
                value(&diff.run, metric, one.after),
                units::ratio(one.ratio),
            ]
        }));
    }
    let title = "Within the application, as measured";
    section("inside", title, filled(table))
}
