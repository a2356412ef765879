//! Published figures against measured ones.

use rpcgauge_stats as stats;
use rpcgauge_stats::DEFAULT_SIZE_TOLERANCE;
use rpcgauge_study::plan::Claim;
use rpcgauge_study::settings::Placement;

use super::compare::{Blocks, Judged};
use super::verdict::{ClaimFindings, ClaimMeasured, ClaimOutcome};
use crate::error::ReportError;

/// Puts a claim of the plan to the test.
pub(crate) fn check(claim: &Claim, blocks: &Blocks<'_>) -> Result<ClaimFindings, ReportError> {
    let place = || format!("the claim {:?}", claim.name);
    let judged = blocks.judge_all(&claim.of, &claim.against, claim.metric, false, place)?;
    let ratio = claim.published.of / claim.published.against;
    let published_ratio = (ratio.is_finite() && ratio > 0.0).then_some(ratio);
    let placements: Vec<ClaimMeasured> = judged
        .into_iter()
        .map(|j| measured(j, published_ratio))
        .collect();
    let depends_on_placement = differ(&placements);
    let outcome = outcome(&placements, depends_on_placement);
    Ok(ClaimFindings {
        name: claim.name.clone(),
        source: claim.source.clone(),
        says: claim.says.clone(),
        of: claim.of.clone(),
        against: claim.against.clone(),
        metric: claim.metric,
        published: claim.published.clone(),
        published_ratio,
        outcome,
        only_under: only_under(&placements, outcome),
        placements,
        depends_on_placement,
    })
}

fn measured(judged: Judged, published_ratio: Option<f64>) -> ClaimMeasured {
    let published = published_ratio.map(stats::Published::Ratio);
    let check = published
        .zip(judged.stats)
        .and_then(|(p, verdict)| stats::check_claim(p, &verdict, DEFAULT_SIZE_TOLERANCE).ok());
    ClaimMeasured {
        verdict: judged.verdict,
        claim: check.map_or(ClaimOutcome::NotResolved, |c| c.outcome),
        size: check.and_then(|c| c.size),
    }
}

/// Whether two placements are resolved in different ways.
fn differ(placements: &[ClaimMeasured]) -> bool {
    let mut resolved = placements
        .iter()
        .map(|p| p.claim)
        .filter(|c| *c != ClaimOutcome::NotResolved);
    let first = resolved.next();
    resolved.any(|claim| Some(claim) != first)
}

/// What the resolved placements come to, as of a comparison; nothing where they differ.
fn outcome(placements: &[ClaimMeasured], depends_on_placement: bool) -> ClaimOutcome {
    let mut claims = placements.iter().map(|p| p.claim);
    claims
        .find(|claim| *claim != ClaimOutcome::NotResolved)
        .filter(|_| !depends_on_placement)
        .unwrap_or(ClaimOutcome::NotResolved)
}

/// The placements of this outcome, where it is one and others are not resolved.
fn only_under(placements: &[ClaimMeasured], outcome: ClaimOutcome) -> Vec<Placement> {
    let all = placements.iter();
    let such = all.filter(|p| p.claim == outcome && outcome != ClaimOutcome::NotResolved);
    let such: Vec<Placement> = such.map(|p| p.verdict.placement).collect();
    if such.len() == placements.len() {
        return Vec::new();
    }
    such
}
