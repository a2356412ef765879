//! Resolves the names in pairs and claims to variants.
//!
//! A name is either a variant's own name, without its group's prefix if the group is clear, or the name of a listed
//! variant. The latter stands for all variants that factors derive from the listed one.

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_message::nearest::Nearest;
use toml::Spanned;

use super::{Combined, Resolver};
use crate::error::{Source, StudyError};
use crate::file::{ClaimWritten, PairWritten, StudyFile};
use crate::plan::{Claim, Metric, Pair};
use crate::read::Line;
use crate::settings::{Target, Timing};
use crate::words::Named as _;

/// The variants that a name stands for.
struct Meaning<'v> {
    all: Vec<&'v Combined>,
    /// Whether it is the name of a listed variant, which stands for that variant under every
    /// combination of factors.
    is_listed: bool,
}

/// Where names are looked up.
struct Names<'v> {
    source: &'v Source,
    group: Option<&'v str>,
    variants: &'v [Combined],
    index: &'v Index<'v>,
}

/// The group of a variant, and a name in it.
type InGroup<'v> = (Option<&'v str>, &'v str);

/// Variants by their names.
struct Index<'v> {
    whole: BTreeMap<&'v str, &'v Combined>,
    local: BTreeMap<InGroup<'v>, &'v Combined>,
    listed: BTreeMap<InGroup<'v>, Vec<&'v Combined>>,
}

impl<'v> Index<'v> {
    fn of(variants: &'v [Combined]) -> Self {
        let mut index = Self {
            whole: BTreeMap::new(),
            local: BTreeMap::new(),
            listed: BTreeMap::new(),
        };
        for one in variants {
            let group = one.variant.group.as_deref();
            index.whole.entry(&one.variant.name).or_insert(one);
            index.local.entry((group, &one.local)).or_insert(one);
            if let Some(listed) = &one.listed {
                index.listed.entry((group, listed)).or_default().push(one);
            }
        }
        index
    }
}

impl Resolver<'_> {
    pub(super) fn pairs_and_claims(
        &self,
        variants: &[Combined],
    ) -> Result<(Vec<Pair>, Vec<Claim>), StudyError> {
        let (mut pairs, mut claims) = (Vec::new(), Vec::new());
        let (index, mut known) = (Index::of(variants), BTreeSet::new());
        for section in self.study.sections() {
            let names = self.names(section.group, variants, &index);
            for written in &section.part.pairs {
                pairs.extend(names.pair(written)?);
            }
            for written in &section.part.claims {
                let claim = names.claim(written)?;
                if !known.insert(claim.name.clone()) {
                    let message = format!("duplicate claim \"{}\"; rename one of them", claim.name);
                    return Err(self.source.error(written.of.span(), message));
                }
                claims.push(claim);
            }
        }
        Ok((pairs, claims))
    }

    /// The name of the variant that the study's `a-a` measures twice.
    pub(super) fn a_a(
        &self,
        variants: &[Combined],
        name: &Spanned<Line>,
    ) -> Result<String, StudyError> {
        let index = Index::of(variants);
        let one = self.names(None, variants, &index).find_one(name)?;
        Ok(one.variant.name.clone())
    }

    fn names<'v>(
        &'v self,
        group: Option<&'v str>,
        variants: &'v [Combined],
        index: &'v Index<'v>,
    ) -> Names<'v> {
        Names {
            source: self.source,
            group,
            variants,
            index,
        }
    }
}

impl<'v> Names<'v> {
    fn pair(&self, written: &PairWritten) -> Result<Vec<Pair>, StudyError> {
        let joined = self.join([&written.of, &written.against])?;
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

    /// The variants of a pair, matched by their factors.
    fn join(
        &self,
        names: [&Spanned<Line>; 2],
    ) -> Result<Vec<(&'v Combined, &'v Combined)>, StudyError> {
        let (of_all, against_all) = (self.find(names[0])?, self.find(names[1])?);
        let same_factors = of_all.is_listed && against_all.is_listed;
        // If the factors need not match, all variants get the same label.
        let label = |one: &'v Combined| same_factors.then_some(&one.label);
        let mut by_label: BTreeMap<_, Vec<&Combined>> = BTreeMap::new();
        for against in against_all.all {
            by_label.entry(label(against)).or_default().push(against);
        }
        let mut joined = Vec::new();
        for of in of_all.all {
            let against = by_label.get(&label(of)).into_iter().flatten();
            let others = against.filter(|against| of.variant.name != against.variant.name);
            joined.extend(others.map(|against| (of, *against)));
        }
        if joined.is_empty() {
            let [of, against] = names.map(|name| name.get_ref().as_str());
            let message =
                format!("\"{of}\" and \"{against}\" have no combination of factors in common");
            return Err(self.source.error(names[0].span(), message));
        }
        Ok(joined)
    }

    /// Refuses a metric that would never have a figure.
    fn check_metric(
        &self,
        name: &Spanned<Line>,
        [of, against]: [&Combined; 2],
        metric: Metric,
    ) -> Result<(), StudyError> {
        let refuse = |message: String| Err(self.source.error(name.span(), message));
        if is_codec(of) != is_codec(against) {
            return refuse(format!(
                "one of \"{}\" and \"{}\" is a codec, which makes no calls; compare \
                 codecs with codecs",
                of.variant.name, against.variant.name
            ));
        }
        for one in [of, against] {
            let (name, settings) = (&one.variant.name, &one.variant.settings);
            let in_server = matches!(
                metric,
                Metric::ServerCpu | Metric::Cpu | Metric::ServerMemory | Metric::MessageCpu
            );
            let is_cpu = matches!(
                metric,
                Metric::ClientCpu | Metric::ServerCpu | Metric::Cpu | Metric::MessageCpu
            );
            let does_not_time_them = || {
                format!(
                    "is about the first calls after a start, and \"{name}\" does not time them; \
                     give it cold-calls, e.g. cold-calls = 50"
                )
            };
            let why = match &settings.target {
                Target::Codec(_) if metric.is_of_a_call() => {
                    let all = Metric::all().filter(|metric| !metric.is_of_a_call());
                    let all: Vec<&str> = all.map(Metric::as_str).collect();
                    let all = all.join(", ");
                    format!("applies to calls, and \"{name}\" is a codec; use one of {all}")
                }
                Target::Call(call) if call.link.is_some() && is_cpu => format!(
                    "is not measured over a link, whose thread does part of the receiver's work, and \
                     \"{name}\" uses one; measure it on loopback (docs/link.md)"
                ),
                Target::Call(call) if call.client.is_some() && metric.is_of_the_engine() => {
                    format!(
                        "is counted only by rpcgauge's engine, and in \"{name}\" a subject makes the calls; use \
                         another metric, such as response-bytes"
                    )
                }
                Target::Live(live)
                    if metric.needs_stages() || in_server && live.service.start.is_none() =>
                {
                    format!(
                        "is measured inside the server, and \"{name}\" is a live service; use another metric"
                    )
                }
                Target::Call(_) | Target::Live(_)
                    if metric == Metric::ClientMemory && !settings.target.has_client() =>
                {
                    format!(
                        "is about a stack's client, and \"{name}\" is called by rpcgauge's own, whose memory holds the \
                         figures of the run; give it a client, or use another metric"
                    )
                }
                Target::Live(_) if metric.needs_cold_calls() => does_not_time_them(),
                Target::Call(call) if call.cold_calls == 0 && metric.needs_cold_calls() => {
                    does_not_time_them()
                }
                Target::Call(call)
                    if call
                        .stream
                        .is_some_and(|stream| !metric.is_of_stream(stream.form())) =>
                {
                    let form = call
                        .stream
                        .map_or("", |stream| stream.form().article_and_title());
                    format!("does not exist for {form}, which \"{name}\" is; use another metric")
                }
                Target::Call(call) if call.timing() == Timing::Load && metric.needs_stages() => {
                    let (why, instead) = match call.stream {
                        Some(_) => ("streams", "use another metric"),
                        None => ("has more or a rate", "use another metric, or in-flight = 1"),
                    };
                    format!(
                        "exists only with one unary call in flight, and \"{name}\" {why}; {instead}"
                    )
                }
                Target::Call(_) | Target::Codec(_) | Target::Live(_) => continue,
            };
            return refuse(format!("{} {why}", metric.as_str()));
        }
        Ok(())
    }

    fn claim(&self, written: &ClaimWritten) -> Result<Claim, StudyError> {
        let of = self.find_one(&written.of)?;
        let against = self.find_one(&written.against)?;
        let metric = written.metric;
        self.check_metric(&written.of, [of, against], metric)?;
        let name = written.name.as_ref().map(|name| name.to_string());
        Ok(Claim {
            name: name.unwrap_or_else(|| pair_name(of, against, metric, true)),
            source: written.source.to_string(),
            says: written.says.to_string(),
            of: of.variant.name.clone(),
            against: against.variant.name.clone(),
            metric,
            published: written.published.get_ref().clone(),
            stacks: written.stacks.iter().map(|stack| stack.0.clone()).collect(),
        })
    }

    fn find_one(&self, name: &Spanned<Line>) -> Result<&'v Combined, StudyError> {
        let all = self.find(name)?.all;
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

    fn find(&self, name: &Spanned<Line>) -> Result<Meaning<'v>, StudyError> {
        let wanted = name.get_ref().as_str();
        let Index {
            whole,
            local,
            listed,
        } = self.index;
        let in_group = (self.group, wanted);
        if let Some(one) = local.get(&in_group).or_else(|| whole.get(wanted)) {
            return Ok(Meaning {
                all: vec![one],
                is_listed: false,
            });
        }
        if let Some(all) = listed.get(&in_group) {
            return Ok(Meaning {
                all: all.clone(),
                is_listed: true,
            });
        }
        let all = self.variants.iter();
        let here = all.clone();
        let here = here.filter(|one| one.variant.group.as_deref() == self.group);
        let known = here.flat_map(|one| one.listed.as_deref().into_iter().chain([&*one.local]));
        let mut names: Vec<&str> = Vec::new();
        for name in known.chain(all.map(|one| &*one.variant.name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let hint = Nearest::or_known(wanted, names);
        let message = format!("there is no variant \"{wanted}\"{hint}");
        Err(self.source.error(name.span(), message))
    }
}

fn is_codec(one: &Combined) -> bool {
    matches!(one.variant.settings.target, Target::Codec(_))
}

impl StudyFile {
    /// The pairs of a study that names none: each variant against the first listed one with the same factors, or
    /// against the first variant of all if none is listed. Variants that are not in `names` are ignored.
    pub(super) fn default_pairs(
        &self,
        variants: &[Combined],
        names: &BTreeSet<String>,
    ) -> Vec<Pair> {
        let mut groups: BTreeMap<Option<&str>, Vec<&Combined>> = BTreeMap::new();
        for one in variants
            .iter()
            .filter(|one| names.contains(&one.variant.name))
        {
            let group = one.variant.group.as_deref();
            groups.entry(group).or_default().push(one);
        }
        let mut pairs = Vec::new();
        for section in self.sections() {
            let Some(here) = groups.get(&section.group) else {
                continue;
            };
            let first = here[0];
            let alike = here.iter().filter(|one| is_codec(one) == is_codec(first));
            let mut by_label: BTreeMap<&str, &Combined> = BTreeMap::new();
            for one in alike.clone().filter(|one| one.listed == first.listed) {
                by_label.entry(&one.label).or_insert(one);
            }
            for of in alike {
                let against = match &first.listed {
                    None => Some(&first),
                    Some(_) => by_label.get(&*of.label),
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
        question: metric.question(&of.local, &against.local, is_codec(of)),
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
        format!("{name}-{}", metric.as_str())
    } else {
        name
    }
}

/// The study's question about a pair, with the factors of that pair.
fn with_label(question: &str, of: &Combined, against: &Combined) -> String {
    if of.label.is_empty() || of.label != against.label || of.listed.is_none() {
        return question.to_owned();
    }
    format!("{question} ({})", of.label)
}
