//! Claims as sentences.

use rpcgauge_study::plan::Published;
use rpcgauge_study::settings::{ENGINE, REFERENCE};

use super::ratio::factor_phrase;
use super::reason::{aa_misses_1, code_mark};
use super::verdict::brief;
use super::{About, capital, joined, on};
use crate::findings::verdict::{
    ClaimFindings, ClaimOutcome, Outcome, PlacementVerdict, SizeMatch, Unresolved,
};
use crate::metric::row;

/// What the outcome of a claim covers, and what it does not.
pub(crate) const HOW_CLAIMS_ARE_READ: &str = "Only ratios are compared, since times depend on the machine. \
     The outcome is about the direction; how the sizes compare is shown after the measured ratio. Only a \
     measurement of the published stacks themselves can contradict a claim; on other stacks it is not reproduced.";

/// The outcome of a claim, and the only placement that shows it if others leave it open:
/// `contradicted on two cores only`.
pub(crate) fn claim_outcome(claim: &ClaimFindings) -> String {
    let outcome = match claim.outcome {
        _ if claim.depends_on_placement => "depends on placement".to_owned(),
        ClaimOutcome::Reproduced => "reproduced".to_owned(),
        ClaimOutcome::Contradicted => "contradicted".to_owned(),
        ClaimOutcome::NotReproduced => format!("not reproduced on {}", measured_stacks(claim)),
        ClaimOutcome::NotResolved => "not resolved".to_owned(),
    };
    let places = joined(claim.only_under.iter().map(|p| on(*p)), " and ");
    if claim.only_under.is_empty() {
        outcome
    } else {
        format!("{outcome} {places} only")
    }
}

/// The stacks that a claim was tested on: `go/grpc-go`, `node/grpc-js and rpcgauge's own client`.
fn measured_stacks(claim: &ClaimFindings) -> String {
    let has = |name: &str| claim.measured_stacks.iter().any(|stack| stack == name);
    let own = match (has(ENGINE), has(REFERENCE)) {
        (true, true) => Some("rpcgauge's own client and server"),
        (true, false) => Some("rpcgauge's own client"),
        (false, true) => Some("rpcgauge's reference stack"),
        // The stack of a live service is unknown.
        (false, false) if claim.measured_stacks.is_empty() => Some("this service"),
        (false, false) => None,
    };
    let others = claim.measured_stacks.iter().map(String::as_str);
    let others = others.filter(|stack| ![ENGINE, REFERENCE].contains(stack));
    joined(others.chain(own), " and ")
}

/// The measured side of a claim: `3.10× faster [2.94, 3.27]`.
pub(crate) fn claim_measured(about: About<'_>, verdict: &PlacementVerdict) -> String {
    let found = brief(about, verdict).text();
    let against_control = match verdict.outcome {
        Outcome::NoDifference => return format!("no difference, {found}{}", code_mark(verdict)),
        Outcome::NotResolved { reason, .. } => match reason {
            Unresolved::NotBeyondAa => ", no larger than the difference of the A/A pair",
            Unresolved::AaBeyondMargin => ", but the A/A pair's interval extends beyond the margin",
            Unresolved::AaNoInterval => ", but the A/A pair has no interval",
            Unresolved::NoInterval | Unresolved::IntervalTooWide => "",
        },
        _ if aa_misses_1(verdict) => ", larger than the difference of the A/A pair",
        _ => "",
    };
    format!("{found}{against_control}{}", code_mark(verdict))
}

/// How the measured size compares with the published one.
pub(crate) fn size_match(size: SizeMatch) -> &'static str {
    match size {
        SizeMatch::Agrees => "size agrees within a quarter",
        SizeMatch::Smaller => "smaller than published",
        SizeMatch::Larger => "larger than published",
        SizeMatch::NotResolved => "the published size is not ruled out",
    }
}

/// The published side of a claim: `2.45× faster (2.92 against 7.16 ms)`.
pub(crate) fn claim_published(claim: &ClaimFindings) -> String {
    let Published { of, against, unit } = &claim.published;
    let figures = format!("{of} against {against} {unit}");
    match claim.published_ratio {
        Some(ratio) => format!("{} ({figures})", factor_phrase(claim.into(), ratio)),
        None => figures,
    }
}

pub(crate) fn claim(claim: &ClaimFindings) -> String {
    let mut text = format!(
        "{}: {} against {} in {}, published {}",
        capital(&claim_outcome(claim)),
        claim.of,
        claim.against,
        row(claim.metric).name,
        claim_published(claim),
    );
    for (index, p) in claim.placements.iter().enumerate() {
        let place = match claim.placements.len() {
            1 => String::new(),
            _ => format!(" {}", on(p.verdict.placement)),
        };
        if p.verdict.estimate.is_none() {
            let without = brief(claim.into(), &p.verdict).text();
            text += &format!("; {without}{place}");
            continue;
        }
        let joint = if index == 0 { "; measured" } else { ", and" };
        let measured = claim_measured(claim.into(), &p.verdict);
        let size = p.size.map(|size| format!(" ({})", size_match(size)));
        text += &format!("{joint}{place} {measured}{}", size.unwrap_or_default());
    }
    text + "."
}
