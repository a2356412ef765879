//! Compares published figures with measured ones.

use rpcgauge_stats::check_claim;
use rpcgauge_study::plan::{Claim, Plan};
use rpcgauge_study::settings::{ENGINE, Target};

use super::compare::{Blocks, Judged};
use crate::error::ReportError;
use crate::findings::verdict::{ClaimFindings, ClaimMeasured, ClaimOutcome};

/// Tests a claim of the plan.
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
    let is_resolved = |p: &&ClaimMeasured| p.claim != ClaimOutcome::NotResolved;
    let resolved: Vec<&ClaimMeasured> = placements.iter().filter(is_resolved).collect();
    let depends_on_placement = resolved.windows(2).any(|two| two[0].claim != two[1].claim);
    let agreed = resolved.first().filter(|_| !depends_on_placement);
    let are_others_open = resolved.len() < placements.len();
    let only_under = if agreed.is_some() && are_others_open {
        &resolved[..]
    } else {
        &[]
    };
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
        outcome: agreed.map_or(ClaimOutcome::NotResolved, |p| p.claim),
        only_under: only_under.iter().map(|p| p.verdict.placement).collect(),
        placements,
        depends_on_placement,
    })
}

/// The stacks of a claim's two variants, without duplicates. The engine is one of them: a published stack called by
/// the engine is not the published stack with its own client.
fn stacks(plan: &Plan, claim: &Claim) -> Vec<String> {
    let variants = [&claim.of, &claim.against].into_iter();
    let targets = variants.filter_map(|name| Some(&plan.variant(name)?.settings.target));
    let mut stacks: Vec<String> = Vec::new();
    for target in targets {
        let is_engine = matches!(target, Target::Call(call) if call.client.is_none());
        let engine = is_engine.then_some(ENGINE);
        for stack in target.stacks().chain(engine) {
            if !stacks.iter().any(|known| known == stack) {
                stacks.push(stack.to_owned());
            }
        }
    }
    stacks
}

/// The outcome of a claim under a placement. `is_about` is true if all measured stacks are among the published
/// ones.
fn measured(judged: Judged, published_ratio: Option<f64>, is_about: bool) -> ClaimMeasured {
    let check = published_ratio
        .zip(judged.stats)
        .and_then(|(published, verdict)| check_claim(published, &verdict).ok());
    ClaimMeasured {
        verdict: judged.verdict,
        claim: match check.and_then(|c| c.is_reproduced) {
            Some(true) => ClaimOutcome::Reproduced,
            Some(false) if is_about => ClaimOutcome::Contradicted,
            Some(false) => ClaimOutcome::NotReproduced,
            None => ClaimOutcome::NotResolved,
        },
        size: check.and_then(|c| c.size),
    }
}
