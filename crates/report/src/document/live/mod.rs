//! The sections about live services: results, objectives, ramps and capacity searches.

mod capacity;
mod mix;
mod objectives;
mod ramp;
mod result;
mod side_by_side;

pub(super) use objectives::objectives;
pub(super) use result::{calls, rate, times};

use rpcgauge_study::objective::Objective;

use super::{Block, Section, Shown};
use crate::findings::{Cell, Figures, Findings, VariantFindings};
use crate::words;

/// The work that no figure of a load includes: requests are encoded before they are due or on another thread, and a
/// call ends with the last byte of its response.
pub(super) const LEFT_OUT: &str = "the client's own encoding of requests and decoding of responses";

/// A service with its figures.
type Called<'f> = (&'f VariantFindings, &'f Cell, &'f Figures);

/// One section of facts per service, or for two services one section with a column for each; then one per mix.
pub(super) fn results(findings: &Findings) -> Vec<Section> {
    let cells = findings.live().flat_map(|variant| {
        let measured = variant.measured();
        measured.map(move |(cell, figures)| (variant, cell, figures))
    });
    let cells: Vec<Called<'_>> = cells.collect();
    let section = |(variant, cell, figures): &Called<'_>, title: String| {
        let mut blocks = vec![result::facts(variant, figures)];
        blocks.extend(notes(cell, false));
        Section::new("result", title, Shown::Always, blocks)
    };
    let mixes = cells.iter().filter(|(.., figures)| !figures.mix.is_empty());
    let mixes = mixes.map(|one| match &cells[..] {
        [_] => mix::section(one, "Mix of calls".to_owned()),
        _ => mix::section(one, format!("Mix of calls, {}", one.0.name)),
    });
    let results = match &cells[..] {
        [one] if findings.live().count() == 1 => vec![section(one, "Result".to_owned())],
        [one, other] => vec![side_by_side::section([one, other])],
        all => {
            let title = |(variant, ..): &Called<'_>| format!("Target {}", variant.name);
            all.iter().map(|one| section(one, title(one))).collect()
        }
    };
    results.into_iter().chain(mixes).collect()
}

/// The cautions about a service.
fn notes(cell: &Cell, named: bool) -> impl Iterator<Item = Block> {
    let clauses = cell.cautions.iter();
    let clauses = clauses.map(move |caution| words::caution::clause(caution, named));
    clauses.map(|clause| Block::Note(words::capital(&clause) + "."))
}

/// The sections of capacity searches and ramps.
pub(super) fn listings(findings: &Findings) -> Vec<Section> {
    let is_single = findings.live().count() == 1;
    let ramps = findings.live().flat_map(|variant| {
        let own = findings
            .objectives
            .iter()
            .filter(|it| it.variant == variant.name);
        let objectives: Vec<Objective> = own.map(|it| it.objective.clone()).collect();
        let figures = variant.measured().map(|(_, figures)| figures);
        let ramps = figures.filter(|figures| !figures.steps.is_empty());
        let (title, shown) = if is_single {
            ("Ramp".to_owned(), Shown::Always)
        } else {
            (format!("Ramp of {}", variant.name), Shown::Folded)
        };
        ramps.map(move |figures| ramp::section(title.clone(), shown, figures, &objectives))
    });
    let searches = findings.capacity.iter().map(capacity::section);
    searches
        .chain(ramp::compared(findings))
        .chain(ramps)
        .collect()
}
