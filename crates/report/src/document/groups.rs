//! Groups a study's comparisons and variants.

use std::collections::BTreeSet;

use rpcgauge_study::settings::Placement;

use super::{Block, Section, Shown, Table};
use crate::by_key;
use crate::findings::verdict::Comparison;
use crate::findings::{Cell, Figures, Findings, VariantFindings};
use crate::words::{self, About};

/// A question, and the comparisons that answer it.
pub(crate) struct Asked<'a> {
    pub(crate) text: &'a str,
    pub(crate) comparisons: Vec<&'a Comparison>,
}

impl<'a> Asked<'a> {
    /// What one of its comparisons is about. Names lack the group's prefix if all comparisons are of one group.
    pub(crate) fn about(&self, findings: &'a Findings, comparison: &'a Comparison) -> About<'a> {
        let group = |c: &Comparison| findings.variant(&c.of).map(|v| v.group.as_deref());
        let about = About::from(comparison);
        let mut all = self.comparisons.iter();
        if all.all(|c| group(c) == group(comparison)) {
            about.within_group(findings)
        } else {
            about
        }
    }

    /// The groups of the study that its variants belong to.
    fn parts(&self, findings: &'a Findings) -> BTreeSet<Option<&'a str>> {
        let names = self.comparisons.iter().flat_map(|c| [&c.of, &c.against]);
        let variants = names.filter_map(|name| findings.variant(name));
        variants.map(|variant| variant.group.as_deref()).collect()
    }
}

/// The questions in the study's order.
pub(crate) fn questions(findings: &Findings) -> Vec<Asked<'_>> {
    let comparisons = findings.comparisons.iter().filter(|c| !c.a_a);
    let questions = by_key(comparisons.map(|c| (&*c.question, c))).into_iter();
    questions
        .map(|(text, comparisons)| Asked { text, comparisons })
        .collect()
}

pub(crate) fn a_a_checks(findings: &Findings) -> impl Iterator<Item = &Comparison> {
    findings.comparisons.iter().filter(|c| c.a_a)
}

/// Questions about the same variants, with these variants.
pub(crate) struct Together<'a> {
    pub(crate) questions: Vec<Asked<'a>>,
    pub(crate) variants: Vec<&'a VariantFindings>,
}

/// The parts of a study, in the order of their questions. Variants without a question come last.
pub(crate) fn together(findings: &Findings) -> Vec<Together<'_>> {
    let mut all: Vec<(BTreeSet<Option<&str>>, Vec<Asked<'_>>)> = Vec::new();
    for question in questions(findings) {
        let parts = question.parts(findings);
        match all.iter_mut().find(|(known, _)| !known.is_disjoint(&parts)) {
            Some((known, questions)) => {
                known.extend(parts);
                questions.push(question);
            }
            None => all.push((parts, vec![question])),
        }
    }
    let mut left: Vec<&VariantFindings> = findings.variants.iter().collect();
    let mut groups = Vec::new();
    for (parts, questions) in all {
        let variants = left.extract_if(.., |v| parts.contains(&v.group.as_deref()));
        groups.push(Together {
            questions,
            variants: variants.collect(),
        });
    }
    if !left.is_empty() {
        groups.push(Together {
            questions: Vec::new(),
            variants: left,
        });
    }
    groups
}

/// A variant and its cell under a placement.
pub(crate) type Member<'a> = (&'a VariantFindings, &'a Cell);

/// Variants of a study that are shown together.
pub(crate) struct Group<'a> {
    /// The study's group that they belong to, and the parts that their names share: `list: n=10`.
    pub(crate) title: Option<String>,
    pub(crate) members: Vec<Member<'a>>,
}

/// Every variant of these groups.
pub(crate) fn members<'a>(groups: &[Group<'a>]) -> impl Iterator<Item = Member<'a>> {
    let groups = groups.iter();
    groups.flat_map(|group| group.members.iter().copied())
}

/// Every measured variant of these groups.
pub(crate) fn measured<'a>(
    groups: &[Group<'a>],
) -> impl Iterator<Item = (&'a VariantFindings, &'a Figures)> {
    members(groups).filter_map(|(variant, cell)| Some((variant, cell.figures.as_deref()?)))
}

/// The variants that were planned under a placement, in the study's order. Each of the study's groups is split into
/// variants that are compared with each other.
pub(crate) fn groups<'a>(
    findings: &Findings,
    variants: impl IntoIterator<Item = &'a VariantFindings>,
    placement: Placement,
) -> Vec<Group<'a>> {
    let planned = variants.into_iter().filter_map(|variant| {
        let cell = variant.cell(placement)?;
        Some((&variant.group, (variant, cell)))
    });
    let mut groups = Vec::new();
    for (_, part) in by_key(planned) {
        let compared = compared(findings, part);
        let several = compared.len() > 1;
        groups.extend(compared.into_iter().map(|members| Group {
            title: title(&members, several),
            members,
        }));
    }
    groups
}

/// A section with a table for each of the study's placements that has one.
pub(super) fn tables(
    findings: &Findings,
    id: &'static str,
    title: &str,
    table: impl Fn(&[Group<'_>]) -> Option<Table>,
) -> Vec<Section> {
    let placements = findings.study.placements.iter();
    let sections = placements.map(|placement| {
        let groups = groups(findings, &findings.variants, *placement);
        let title = format!("{title}, {}", words::on(*placement));
        Section::new(id, title, Shown::Always, table(&groups).map(Block::Table))
    });
    sections.collect()
}

/// Splits variants into sets that are compared with each other, directly or through other variants.
fn compared<'a>(findings: &Findings, part: Vec<Member<'a>>) -> Vec<Vec<Member<'a>>> {
    let place = |name: &str| part.iter().position(|(v, _)| v.name == name);
    let mut set: Vec<usize> = (0..part.len()).collect();
    for comparison in &findings.comparisons {
        let (Some(of), Some(against)) = (place(&comparison.of), place(&comparison.against)) else {
            continue;
        };
        let (low, high) = (set[of].min(set[against]), set[of].max(set[against]));
        for member in &mut set {
            if *member == high {
                *member = low;
            }
        }
    }
    let sets = by_key(set.into_iter().zip(part)).into_iter();
    sets.map(|(_, members)| members).collect()
}

/// The group's name; if the group is split, also the shared parts of the variants' names.
fn title(members: &[Member<'_>], several: bool) -> Option<String> {
    let group = members.first()?.0.group.as_deref()?;
    let mut names = members.iter().map(|(variant, _)| {
        let local = words::local(&variant.name, group).unwrap_or(&variant.name);
        local.split(['-', ' ']).collect::<Vec<&str>>()
    });
    let mut shared = names.next()?;
    names.for_each(|parts| shared.retain(|part| parts.contains(part)));
    Some(if several && !shared.is_empty() {
        format!("{group}: {}", shared.join(" "))
    } else {
        group.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::quickstart;

    fn titles(findings: &Findings) -> Vec<String> {
        let groups = groups(findings, &findings.variants, Placement::TwoCores);
        groups.into_iter().filter_map(|g| g.title).collect()
    }

    #[test]
    fn a_question_at_several_sizes_names_the_size_of_each_answer() {
        let mut sample = crate::fixture::two(2.0)
            .spec(crate::fixture::Spec::new("large", 300_000.0))
            .pair(
                "Which is faster?",
                "large",
                "rest",
                rpcgauge_study::plan::Metric::LatencyP50,
            )
            .build();
        let scaled = |name: &str| match name {
            "large" => "scale=10-large".to_owned(),
            name => format!("scale=1-{name}"),
        };
        let plan = &mut sample.plan;
        for variant in &mut plan.variants {
            variant.name = scaled(&variant.name);
            variant.repeats = variant.repeats.take().map(|name| scaled(&name));
            variant.group = variant
                .name
                .split_once('-')
                .map(|(group, _)| group.to_owned());
        }
        for pair in &mut plan.pairs {
            (pair.of, pair.against) = (scaled(&pair.of), scaled(&pair.against));
        }
        for trial in &mut sample.trials {
            trial.variant = scaled(&trial.variant);
        }
        sample.floors.clear();
        let findings = crate::fixture::findings(&sample);
        let document = crate::document::Document::of(&findings);
        let verdicts = document
            .sections
            .into_iter()
            .flat_map(|section| section.blocks);
        let verdicts = verdicts.filter_map(|block| match block {
            crate::document::Block::Verdicts(verdicts) => Some(verdicts),
            _ => None,
        });
        let questions = verdicts
            .flat_map(|v| v.groups)
            .flat_map(|group| group.questions);
        let rows: Vec<String> = questions.flat_map(|q| q.rows).map(|row| row.text).collect();
        assert_eq!(
            rows,
            [
                "scale=1-grpc against scale=1-rest, p50 latency",
                "scale=10-large against scale=1-rest, p50 latency"
            ]
        );
    }

    #[test]
    fn variants_that_are_compared_stand_together_under_what_they_share() {
        let titles = titles(quickstart::findings());
        assert_eq!(
            titles,
            [
                "several",
                "list: n=10",
                "list: n=500",
                "gzip: one",
                "gzip: all",
                "unix-socket",
                "load"
            ]
        );
    }
}
