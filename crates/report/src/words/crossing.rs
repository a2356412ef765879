//! Crossings as sentences.

use super::{joined, local, place};
use crate::findings::Findings;
use crate::findings::sweep::{Crossing, SizeVerdict, Stretch, Sweep, Swept, SweptOutcome, Turn};
use crate::metric::{Kind, row};
use crate::units;

/// The words for two ways to call and for their size.
struct Names<'a> {
    of: &'a str,
    against: &'a str,
    by: &'a str,
    /// `is faster`, `has fewer bytes per call`.
    is_better: String,
}

/// A crossing in words, with a line for each placement:
/// `By n: grpc is faster up to n≈120 [95, 160], rest-json from there on`. With several placements, each line names
/// its own.
pub(crate) fn crossing_lines(
    findings: &Findings,
    sweep: &Sweep,
    crossing: &Crossing,
) -> Vec<String> {
    let under = |swept: &Swept| {
        let place = match crossing.placements.len() {
            1 => String::new(),
            _ => format!(", {}", place(swept.placement)),
        };
        let found = found(findings, sweep, crossing, swept);
        format!("By {}{place}: {found}", sweep.sized_by)
    };
    crossing.placements.iter().map(under).collect()
}

/// The lines of [`crossing_lines`] as one text.
pub(crate) fn crossing(findings: &Findings, sweep: &Sweep, crossing: &Crossing) -> String {
    crossing_lines(findings, sweep, crossing).join(". ") + "."
}

pub(crate) fn found(
    findings: &Findings,
    sweep: &Sweep,
    crossing: &Crossing,
    swept: &Swept,
) -> String {
    let [better, _] = row(crossing.metric).sides(None);
    let names = Names {
        of: within_group(findings, sweep, &crossing.of),
        against: within_group(findings, sweep, &crossing.against),
        by: sweep.sized_by,
        is_better: match row(crossing.metric).kind {
            Kind::Quantile(_) | Kind::Mean { .. } => format!("is {better}"),
            Kind::Bytes(_) if !better.contains(' ') => format!("is {better}"),
            Kind::Bytes(_) | Kind::Cpu(_) | Kind::Goodput | Kind::Memory(_) => {
                format!("has {better}")
            }
        },
    };
    let stretches = &swept.stretches[..];
    let listed = || names.stretches(stretches);
    match (swept.outcome, stretches) {
        (SweptOutcome::Crosses, _) => {
            let turns = names.turns(swept);
            match names.stretches(swept.beside()) {
                none if none.is_empty() => turns,
                beside => format!("{turns}; {beside}"),
            }
        }
        (SweptOutcome::NoCrossing, [all]) => {
            let ahead = names.ahead(all.verdict);
            format!("no crossing up to {}: {ahead} throughout", names.at(all.to))
        }
        (SweptOutcome::NoCrossing, several) => {
            let last = several.last().map_or(0, |stretch| stretch.to);
            format!("no crossing up to {}: {}", names.at(last), listed())
        }
        (SweptOutcome::NotResolved, [all]) => {
            let [from, to] = [all.from, all.to].map(|size| names.at(size));
            format!("not resolved between {from} and {to}")
        }
        (SweptOutcome::NotResolved, _) => format!("a crossing is not resolved: {}", listed()),
    }
}

/// The name of a series without its group's prefix, as it is shown under the group's question.
pub(crate) fn within_group<'a>(findings: &Findings, sweep: &Sweep, name: &'a str) -> &'a str {
    let series = sweep.series.iter().find(|series| series.name == name);
    let variant = series.and_then(|series| series.variants.values().next());
    let variant = variant.and_then(|variant| findings.variant(variant));
    let group = variant.and_then(|variant| variant.group.as_deref());
    group.and_then(|group| local(name, group)).unwrap_or(name)
}

impl Names<'_> {
    fn at(&self, size: u32) -> String {
        format!("{}={}", self.by, units::count(size.into()))
    }

    /// A clause that names the way that is ahead by a verdict.
    fn ahead(&self, verdict: SizeVerdict) -> String {
        match verdict {
            SizeVerdict::Faster => format!("{} {}", self.of, self.is_better),
            SizeVerdict::Slower => format!("{} {}", self.against, self.is_better),
            SizeVerdict::NoDifference => "no difference".to_owned(),
            SizeVerdict::NotResolved => "not resolved".to_owned(),
        }
    }

    /// `grpc is faster at n=10 to 100, no difference at n=300`.
    fn stretches<'s>(&self, stretches: impl IntoIterator<Item = &'s Stretch>) -> String {
        let stretch = |stretch: &Stretch| {
            let (ahead, from) = (self.ahead(stretch.verdict), self.at(stretch.from));
            if stretch.from == stretch.to {
                format!("{ahead} at {from}")
            } else {
                format!("{ahead} at {from} to {}", units::count(stretch.to.into()))
            }
        };
        joined(stretches.into_iter().map(stretch), ", ")
    }

    /// `grpc is faster up to n≈120 [95, 160], rest-json from there on`.
    fn turns(&self, swept: &Swept) -> String {
        let ahead = |of: bool| if of { self.of } else { self.against };
        let mut stretches = swept.stretches.iter();
        let first = stretches.find_map(|stretch| match stretch.verdict {
            SizeVerdict::Faster => Some(true),
            SizeVerdict::Slower => Some(false),
            SizeVerdict::NoDifference | SizeVerdict::NotResolved => None,
        });
        let mut is_of = first.unwrap_or(true);
        let mut text = format!("{} {}", ahead(is_of), self.is_better);
        for (place, turn) in swept.turns.iter().enumerate() {
            if place > 0 {
                text += &format!(", {} from there", ahead(is_of));
            }
            text += &format!(" up to {}", self.turn(turn));
            is_of = !is_of;
        }
        format!("{text}, {} from there on", ahead(is_of))
    }

    /// `n≈120 [95, 160]`.
    fn turn(&self, turn: &Turn) -> String {
        let [low, high] = turn.interval.map(units::about);
        format!("{}≈{} [{low}, {high}]", self.by, units::about(turn.size))
    }
}
