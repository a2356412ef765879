//! Published figures, and whether the run reproduces them.

use super::verdicts::{claimed, drawn, ratios, reach, turned};
use super::{Answer, Block, Drawn, Section, Shown};
use crate::findings::Findings;
use crate::findings::verdict::{ClaimFindings, ClaimMeasured};
use crate::metric::row as metric;
use crate::words::{self, About};

/// A published figure.
pub(crate) struct Claim {
    pub(crate) sign: (char, Answer),
    pub(crate) outcome: String,
    /// The metric and the two variants.
    pub(crate) about: String,
    /// What was published, and its source.
    pub(crate) says: String,
    /// The published ratio, or the figures if they have no ratio.
    pub(crate) published: String,
    /// The published ratio, if any, and the figures.
    pub(crate) published_in_full: String,
    pub(crate) measured: Vec<Measured>,
}

/// The measurement under a placement.
pub(crate) struct Measured {
    /// The placement, if there are several.
    pub(crate) place: Option<&'static str>,
    pub(crate) text: String,
    pub(crate) size: Option<&'static str>,
    pub(crate) drawn: Option<Drawn>,
}

impl Measured {
    /// The measurement in words, and how its size compares with the published one.
    pub(crate) fn words(&self) -> String {
        match self.size {
            Some(size) => format!("{}, {size}", self.text),
            None => self.text.clone(),
        }
    }
}

pub(super) fn section(findings: &Findings) -> Option<Section> {
    let margin = findings.study.margin;
    let all = || findings.claims.iter();
    let placements = all().flat_map(|claim| &claim.placements);
    let measured = placements.flat_map(|p| ratios(&p.verdict));
    let reach = reach(measured.chain(all().filter_map(|claim| claim.published_ratio)));
    let claims: Vec<Claim> = all().map(|c| claim(c, margin)).collect();
    let blocks = [
        Block::Note(words::HOW_CLAIMS_ARE_READ.to_owned()),
        Block::Claims(claims, reach),
    ];
    let section = Section::new("claims", "Published figures", Shown::InFiles, blocks);
    Some(section).filter(|_| !findings.claims.is_empty())
}

fn claim(claim: &ClaimFindings, margin: f64) -> Claim {
    let several = claim.placements.len() > 1;
    let about = About::from(claim);
    let published = claim.published_ratio;
    let published = published.map(|ratio| turned(about.better(), ratio));
    let measured = |(index, p): (usize, &ClaimMeasured)| Measured {
        place: several.then(|| words::place(p.verdict.placement)),
        text: words::claim_measured(about, &p.verdict),
        size: p.size.map(words::size_match),
        drawn: drawn(about, &p.verdict, margin).map(|drawn| Drawn {
            published: published.filter(|_| index == 0),
            ..drawn
        }),
    };
    Claim {
        sign: claimed(claim.outcome, claim.depends_on_placement),
        outcome: words::claim_outcome(claim),
        about: format!(
            "{}: {} against {}",
            metric(claim.metric).name,
            claim.of,
            claim.against
        ),
        says: format!("{} ({})", claim.says, claim.source),
        published: match claim.published_ratio {
            Some(ratio) => words::factor_phrase(about, ratio),
            None => words::claim_published(claim),
        },
        published_in_full: words::claim_published(claim),
        measured: claim.placements.iter().enumerate().map(measured).collect(),
    }
}
