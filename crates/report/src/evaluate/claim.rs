//! Published figures against measured ones.

use rpcgauge_stats as stats;
use rpcgauge_stats::DEFAULT_SIZE_TOLERANCE;
use rpcgauge_study::plan::{Claim, Plan};
use rpcgauge_study::settings::{ENGINE, Placement, Target};

use super::compare::{Blocks, Judged};
use crate::error::ReportError;
use crate::findings::verdict::{ClaimFindings, ClaimMeasured, ClaimOutcome};

/// Puts a claim of the plan to the test.
pub(crate) fn check(
    plan: &Plan,
    claim: &Claim,
    blocks: &Blocks<'_>,
) -> Result<ClaimFindings, ReportError> {
    let place = || format!("the claim {:?}", claim.name);
    let judged = blocks.judge_all(&claim.of, &claim.against, claim.metric, false, place)?;
    let ratio = claim.published.of / claim.published.against;
    let published_ratio = (ratio.is_finite() && ratio > 0.0).then_some(ratio);
    let measured_stacks = stacks(plan, claim);
    let is_published = |stack: &String| claim.stacks.contains(stack);
    let is_about = !measured_stacks.is_empty() && measured_stacks.iter().all(is_published);
    let placements: Vec<ClaimMeasured> = judged
        .into_iter()
        .map(|j| measured(j, published_ratio, is_about))
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
        stacks: claim.stacks.clone(),
        measured_stacks,
        outcome,
        only_under: only_under(&placements, outcome),
        placements,
        depends_on_placement,
    })
}

/// The stacks of a claim's two variants, each once. The engine is one of them: a published stack that
/// it calls is not the published stack with its own client.
fn stacks(plan: &Plan, claim: &Claim) -> Vec<String> {
    let variants = [&claim.of, &claim.against].into_iter();
    let targets = variants.filter_map(|name| Some(&plan.variant(name)?.settings.target));
    let mut stacks: Vec<String> = Vec::new();
    for target in targets {
        let engine = matches!(target, Target::Subject { client: None, .. }).then_some(ENGINE);
        for stack in target.stacks().chain(engine) {
            if !stacks.iter().any(|known| known == stack) {
                stacks.push(stack.to_owned());
            }
        }
    }
    stacks
}

/// What was measured under a placement. `is_about` says whether it is of the stacks that were published,
/// and of no others.
fn measured(judged: Judged, published_ratio: Option<f64>, is_about: bool) -> ClaimMeasured {
    let published = published_ratio.map(stats::Published::Ratio);
    let check = published
        .zip(judged.stats)
        .and_then(|(p, verdict)| stats::check_claim(p, &verdict, DEFAULT_SIZE_TOLERANCE).ok());
    ClaimMeasured {
        verdict: judged.verdict,
        claim: match check.map(|c| c.outcome) {
            Some(stats::ClaimOutcome::Reproduced) => ClaimOutcome::Reproduced,
            Some(stats::ClaimOutcome::Contradicted) if is_about => ClaimOutcome::Contradicted,
            Some(stats::ClaimOutcome::Contradicted) => ClaimOutcome::NotReproduced,
            Some(stats::ClaimOutcome::NotResolved) | None => ClaimOutcome::NotResolved,
        },
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
