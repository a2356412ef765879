//! Pairs and claims: names to variants.
//!
//! A name is a variant's own, its group's prefix left out where the group is clear, or that of a
//! listed variant, which then stands for all that the factors made of it.

use rpcgauge_message::nearest::Nearest;
use toml::Spanned;

use super::{Combined, Resolver, Section};
use crate::error::StudyError;
use crate::file::{ClaimWritten, PairWritten, StudyFile};
use crate::plan::{Claim, Metric, Pair};
use crate::read::Line;
use crate::settings::Timing;
use crate::words::Word as _;

/// The variants that a name stands for.
enum Meaning<'v> {
    /// One variant, named in full.
    One(&'v Combined),
    /// A listed variant under every combination of factors.
    Listed(Vec<&'v Combined>),
}

impl<'v> Meaning<'v> {
    fn all(&self) -> Vec<&'v Combined> {
        match self {
            Self::One(one) => vec![one],
            Self::Listed(all) => all.clone(),
        }
    }
}

impl Resolver<'_> {
    pub(super) fn pairs_and_claims(
        &self,
        study: &StudyFile,
        variants: &[Combined],
    ) -> Result<(Vec<Pair>, Vec<Claim>), StudyError> {
        let (mut pairs, mut claims) = (Vec::new(), Vec::new());
        for section in study.sections() {
            for written in &section.part.pairs {
                pairs.extend(self.pair(&section, variants, written)?);
            }
            for written in &section.part.claims {
                let claim = self.claim(&section, variants, written)?;
                if claims.iter().any(|other: &Claim| other.name == claim.name) {
                    let message = format!(
                        "the claim \"{}\" is there twice; give one another name",
                        claim.name
                    );
                    return Err(self.source.error(written.of.span(), message));
                }
                claims.push(claim);
            }
        }
        Ok((pairs, claims))
    }

    fn pair(
        &self,
        section: &Section<'_>,
        variants: &[Combined],
        written: &PairWritten,
    ) -> Result<Vec<Pair>, StudyError> {
        let joined = self.join(section, variants, [&written.of, &written.against])?;
        let mut pairs = Vec::new();
        for (of, against) in joined {
            for metric in &written.metric {
                self.check_metric(&written.of, [of, against], *metric)?;
                let mut pair = Pair {
                    headline: written.headline,
                    ..pair_of(of, against, *metric)
                };
                if let Some(question) = &written.question {
                    pair.question = with_label(question, of, against);
                }
                pairs.push(pair);
            }
        }
        Ok(pairs)
    }

    /// The variants of a pair, those under the same factors together.
    fn join<'v>(
        &self,
        section: &Section<'_>,
        variants: &'v [Combined],
        names: [&Spanned<Line>; 2],
    ) -> Result<Vec<(&'v Combined, &'v Combined)>, StudyError> {
        let [of_name, against_name] = names;
        let of = self.find(section, variants, of_name)?;
        let against = self.find(section, variants, against_name)?;
        let same_factors = matches!((&of, &against), (Meaning::Listed(_), Meaning::Listed(_)));
        let mut joined = Vec::new();
        for of in of.all() {
            for against in against.all() {
                if (!same_factors || of.label == against.label)
                    && of.variant.name != against.variant.name
                {
                    joined.push((of, against));
                }
            }
        }
        if joined.is_empty() {
            return Err(self.source.error(
                of_name.span(),
                format!(
                    "\"{}\" and \"{}\" have no combination of factors in common",
                    **of_name.get_ref(),
                    **against_name.get_ref()
                ),
            ));
        }
        Ok(joined)
    }

    /// Refuses what would never have a figure.
    fn check_metric(
        &self,
        name: &Spanned<Line>,
        variants: [&Combined; 2],
        metric: Metric,
    ) -> Result<(), StudyError> {
        let refuse = |message: String| Err(self.source.error(name.span(), message));
        let word = metric.word();
        let [of, against] = variants;
        if is_codec(of) != is_codec(against) {
            return refuse(format!(
                "one of \"{}\" and \"{}\" is a codec, which calls nothing; compare codecs \
                 with codecs",
                of.variant.name, against.variant.name
            ));
        }
        for one in variants {
            let (name, settings) = (&one.variant.name, &one.variant.settings);
            if is_codec(one) && metric.is_of_a_call() {
                return refuse(format!(
                    "{word} is a call's, and \"{name}\" is a codec; take latency-p50, -mean or \
                     -p99, goodput or client-cpu"
                ));
            }
            if settings.target.client().is_some() && metric == Metric::CallBytes {
                return refuse(format!(
                    "{word} is counted by the engine alone, and a subject calls in \"{name}\"; take \
                     response-bytes"
                ));
            }
            let in_server = metric == Metric::ServerCpu || metric.needs_stages();
            if settings.target.live().is_some() && in_server {
                return refuse(format!(
                    "{word} needs a look into the server, and \"{name}\" is a live service; take another \
                     metric"
                ));
            }
            if settings.cold_calls == 0 && metric.needs_cold_calls() {
                return refuse(format!(
                    "{word} is one of the first calls after a start, and \"{name}\" does not time them; \
                     give it cold-calls, e.g. cold-calls = 50"
                ));
            }
            if settings.timing() == Timing::Load && metric.needs_stages() {
                return refuse(format!(
                    "{word} exists for one call in flight only, and \"{name}\" has more or a rate; \
                     take another metric, or in-flight = 1"
                ));
            }
        }
        Ok(())
    }

    fn claim(
        &self,
        section: &Section<'_>,
        variants: &[Combined],
        written: &ClaimWritten,
    ) -> Result<Claim, StudyError> {
        let of = self.find_one(section, variants, &written.of)?;
        let against = self.find_one(section, variants, &written.against)?;
        let metric = written.metric;
        self.check_metric(&written.of, [of, against], metric)?;
        let name = written
            .name
            .as_ref()
            .map(|name| name.to_string())
            .unwrap_or_else(|| pair_name(of, against, metric, true));
        Ok(Claim {
            name,
            source: written.source.to_string(),
            says: written.says.to_string(),
            of: of.variant.name.clone(),
            against: against.variant.name.clone(),
            metric,
            published: written.published.get_ref().clone(),
            stacks: written.stacks.iter().map(|stack| stack.0.clone()).collect(),
        })
    }

    /// The name of the variant that the study wants measured twice.
    pub(super) fn a_a(
        &self,
        study: &StudyFile,
        variants: &[Combined],
        name: &Spanned<Line>,
    ) -> Result<String, StudyError> {
        let top = Section {
            group: None,
            part: &study.part,
        };
        Ok(self.find_one(&top, variants, name)?.variant.name.clone())
    }

    fn find_one<'v>(
        &self,
        section: &Section<'_>,
        variants: &'v [Combined],
        name: &Spanned<Line>,
    ) -> Result<&'v Combined, StudyError> {
        let all = self.find(section, variants, name)?.all();
        match all.as_slice() {
            [one] => Ok(one),
            all => Err(self.source.error(
                name.span(),
                format!(
                    "\"{}\" stands for {} variants here; name one of them, such as \"{}\"",
                    **name.get_ref(),
                    all.len(),
                    all.first().map_or("", |first| first.local.as_str())
                ),
            )),
        }
    }

    fn find<'v>(
        &self,
        section: &Section<'_>,
        variants: &'v [Combined],
        name: &Spanned<Line>,
    ) -> Result<Meaning<'v>, StudyError> {
        let wanted = name.get_ref().as_str();
        let here = |one: &&Combined| one.variant.group.as_deref() == section.group;
        let exact = variants
            .iter()
            .filter(here)
            .find(|one| one.local == wanted)
            .or_else(|| variants.iter().find(|one| one.variant.name == wanted));
        if let Some(one) = exact {
            return Ok(Meaning::One(one));
        }
        let listed: Vec<&Combined> = variants
            .iter()
            .filter(here)
            .filter(|one| one.listed.as_deref() == Some(wanted))
            .collect();
        if !listed.is_empty() {
            return Ok(Meaning::Listed(listed));
        }
        let known = variants
            .iter()
            .filter(here)
            .flat_map(|one| {
                one.listed
                    .as_deref()
                    .into_iter()
                    .chain([one.local.as_str()])
            })
            .chain(variants.iter().map(|one| one.variant.name.as_str()));
        let mut names: Vec<&str> = Vec::new();
        for name in known {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let message = format!(
            "there is no variant \"{wanted}\"{}",
            Nearest::or_known(wanted, names)
        );
        Err(self.source.error(name.span(), message))
    }
}

fn is_codec(one: &Combined) -> bool {
    one.variant.settings.target.codec().is_some()
}

impl StudyFile {
    /// Without any pair, every variant is compared with the first listed one under the same
    /// factors, or against the first of all where none is listed. Only those whose name `is_in`
    /// count.
    pub(super) fn default_pairs(
        &self,
        variants: &[Combined],
        is_in: impl Fn(&str) -> bool,
    ) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for section in self.sections() {
            let here: Vec<&Combined> = variants
                .iter()
                .filter(|one| one.variant.group.as_deref() == section.group)
                .filter(|one| is_in(&one.variant.name))
                .collect();
            let Some(first) = here.first() else { continue };
            let alike = |one: &&Combined| is_codec(one) == is_codec(first);
            let here: Vec<&Combined> = here.iter().copied().filter(alike).collect();
            for of in &here {
                let against = match &first.listed {
                    None => Some(first),
                    listed => here
                        .iter()
                        .find(|one| one.listed == *listed && one.label == of.label),
                };
                if let Some(against) = against.filter(|one| one.variant.name != of.variant.name) {
                    pairs.push(pair_of(of, against, Metric::LatencyP50));
                }
            }
        }
        pairs
    }
}

fn pair_of(of: &Combined, against: &Combined, metric: Metric) -> Pair {
    Pair {
        name: pair_name(of, against, metric, false),
        question: metric.question(&of.local, &against.local),
        of: of.variant.name.clone(),
        against: against.variant.name.clone(),
        metric,
        headline: false,
        a_a: false,
    }
}

fn pair_name(of: &Combined, against: &Combined, metric: Metric, always_metric: bool) -> String {
    let same_group = of.variant.group == against.variant.group;
    let against = if same_group {
        &against.local
    } else {
        &against.variant.name
    };
    let name = format!("{}-vs-{against}", of.variant.name);
    if always_metric || metric != Metric::LatencyP50 {
        format!("{name}-{}", metric.word())
    } else {
        name
    }
}

/// A question of the study's, with the factors it is asked under this time.
fn with_label(question: &str, of: &Combined, against: &Combined) -> String {
    if of.label.is_empty() || of.label != against.label || of.listed.is_none() {
        return question.to_owned();
    }
    format!("{question} ({})", of.label)
}
