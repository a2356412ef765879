//! A report on one screen: the decisions, the headline verdicts, the results of live services, and how many verdicts
//! there are.

use rpcgauge_study::plan::Metric;

use super::{Answer, Block, Document, Item, Section, Shown, Text, decision, live, run};
use crate::closing;
use crate::findings::Findings;
use crate::findings::verdict::{Combined, Comparison};
use crate::units;
use crate::words::{self, About};

const MAX_DECISIONS: usize = 3;
const MAX_VERDICTS: usize = 5;

impl Document {
    /// The summary of these findings.
    pub fn summary(findings: &Findings) -> Self {
        let mut items: Vec<Item> = Vec::new();
        let capacity = findings
            .capacity
            .iter()
            .flat_map(words::capacity::sentences);
        items.extend(capacity.map(|sentence| Item::plain(sentence.into())));
        let objectives = live::objectives(findings).blocks.into_iter();
        items.extend(objectives.flat_map(|block| match block {
            Block::List(items) => items,
            _ => Vec::new(),
        }));
        let (headlines, others): (Vec<_>, Vec<_>) =
            findings.decisions.iter().partition(|one| one.headline);
        let decisions = headlines.into_iter().chain(others).take(MAX_DECISIONS);
        items.extend(decisions.map(|one| decision::item(findings, one)));
        let services = findings.live().flat_map(|variant| {
            let measured = variant.measured();
            measured.map(move |(_, figures)| (variant, figures))
        });
        items.extend(services.map(|(variant, figures)| {
            let text = format!(": {}; {}", live::calls(figures), live::rate(figures));
            let times = figures.latency.as_ref().map(live::times);
            let times = times.map_or_else(String::new, |times| format!("; {times}"));
            Item::plain(Text::strong(&variant.name).and(text + &times))
        }));
        let ramps = findings.ramps.iter().filter_map(|compared| {
            let (_, figures) = findings.variant(&compared.of)?.measured().next()?;
            let sentence = words::ramp::sentence(compared, &figures.steps);
            Some(Item::plain(sentence.into()))
        });
        items.extend(ramps);
        let asked = findings.comparisons.iter().filter(|one| !one.a_a);
        let mut asked: Vec<&Comparison> = asked.collect();
        // Headlines first, and of each variant its latency.
        asked.sort_by_key(|one| (!one.headline, one.metric != Metric::LatencyP50));
        let more = asked.len().saturating_sub(MAX_VERDICTS) as u64;
        let shown = asked.into_iter().take(MAX_VERDICTS);
        items.extend(shown.map(|one| verdict(findings, one)));
        let more = (more > 0).then(|| {
            format!(
                "{} not shown; `rpcgauge report DIR` prints them",
                units::counted(more, "verdict")
            )
        });
        let closing = closing(findings).map(|text| words::sentence(&text));
        let notes = [more, closing].into_iter().flatten().map(Block::Note);
        let blocks = Block::list(items).into_iter().chain(notes);
        Self {
            title: findings.study.name.clone(),
            question: findings.study.question.clone(),
            facts: run::facts(findings),
            cautions: run::cautions(findings),
            sections: vec![Section::new("summary", "Summary", Shown::Always, blocks)],
        }
    }
}

/// A comparison under the study's own placement, in one line.
fn verdict(findings: &Findings, comparison: &Comparison) -> Item {
    let about = About::from(comparison).within_group(findings);
    let own = comparison.placements.first();
    let answer = match comparison.combined {
        Combined::DependsOnPlacement => Answer::Depends,
        _ => own.map_or(Answer::Nothing, Answer::under),
    };
    let found = own.map(|own| words::brief(about, own).text());
    let found = found.unwrap_or_default();
    Item {
        sign: Some((answer.sign(), answer)),
        ..Item::plain(format!("{found}: {}", comparison.question).into())
    }
}
