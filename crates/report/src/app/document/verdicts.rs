//! What users gain, the verdicts and the published figures.

use std::collections::BTreeSet;

use rpcgauge_stats::Better;
use rpcgauge_study::app::{AppMetric, AppPair};

use super::super::findings::{AppClaimFindings, AppComparison, AppFindings};
use super::super::{better, like, metric_of, shown};
use crate::document::{
    Answer, Block, Claim, Drawn, Group, Item, Measured, Question, Row, Section, Shown, Text,
    Verdict, Verdicts, claimed, drawn, ratios, reach, turned,
};
use crate::findings::verdict::ClaimOutcome;
use crate::units;
use crate::words::{self, About, Line, Said};

pub(super) const OF_USERS: &str = "What users saw";
pub(super) const WITHIN: &str = "Within the application";

/// The words for a metric.
fn words_of(findings: &AppFindings, metric: &AppMetric) -> Said {
    let title = |name: &str| match metric_of(&findings.plan, name) {
        Some(metric) => metric.title.clone(),
        None => name.to_owned(),
    };
    let times = ["faster", "slower"];
    let better = better(&findings.plan, metric);
    let (name, verb, sides, phrase) = match metric {
        AppMetric::RequestsPerSecond => {
            let sides = ["more requests per second", "fewer requests per second"];
            ("requests per second", "serves", sides, "requests/s")
        }
        AppMetric::ResponseMean => ("mean response time", "responds", times, "(mean)"),
        AppMetric::ResponseP50 => ("median response time", "responds", times, "(median)"),
        AppMetric::ResponseP99 => ("p99 response time", "responds", times, "(p99)"),
        AppMetric::Cpu => {
            let sides = ["less CPU per request", "more CPU per request"];
            ("CPU per request", "takes", sides, "of CPU per request")
        }
        AppMetric::Inside(name) => {
            let own = metric_of(&findings.plan, name);
            let (verb, [less, more]) = if own.is_some_and(|one| one.unit.ns().is_some()) {
                ("takes", ["less time", "more time"])
            } else {
                ("is", ["smaller", "larger"])
            };
            return Said {
                name: title(name),
                verb,
                better,
                sides: match better {
                    Better::Lower => [less, more],
                    Better::Higher => [more, less],
                },
                phrase: "on average",
                value: own.map_or(units::number, |one| shown(one.unit)),
            };
        }
    };
    Said {
        name: name.to_owned(),
        verb,
        better,
        sides,
        phrase,
        value: match metric {
            AppMetric::RequestsPerSecond => units::number,
            _ => units::time,
        },
    }
}

/// The words for a comparison.
fn said(findings: &AppFindings, comparison: &AppComparison) -> Said {
    let of_metric = words_of(findings, &comparison.metric);
    Said {
        name: match &comparison.request {
            Some(request) => format!("{}, {request}", of_metric.name),
            None => of_metric.name,
        },
        ..of_metric
    }
}

/// A metric in a heading.
pub(crate) fn name(findings: &AppFindings, metric: &AppMetric) -> String {
    words_of(findings, metric).name
}

/// A figure of a metric with its unit.
pub(crate) fn value(findings: &AppFindings, metric: &AppMetric, figure: f64) -> String {
    (words_of(findings, metric).value)(figure)
}

/// A verdict in as few words as possible.
pub(crate) fn brief(findings: &AppFindings, one: &AppComparison) -> String {
    let said = said(findings, one);
    words::brief(about(findings, one, &said), &one.verdict).text()
}

/// A ratio in the words of a comparison's metric.
pub(crate) fn factor_phrase(findings: &AppFindings, one: &AppComparison, ratio: f64) -> String {
    let said = said(findings, one);
    words::factor_phrase(about(findings, one, &said), ratio)
}

/// The metric and request of a comparison, as a row's text.
pub(crate) fn subject(findings: &AppFindings, one: &AppComparison) -> String {
    said(findings, one).name
}

fn about<'a>(findings: &AppFindings, one: &'a AppComparison, said: &'a Said) -> About<'a> {
    About {
        of: &one.of,
        against: &one.against,
        metric: like(&findings.plan, &one.metric),
        operation: None,
        one_process: false,
        said: Some(said),
    }
}

fn row(findings: &AppFindings, comparison: &AppComparison) -> Row {
    let said = said(findings, comparison);
    let about = about(findings, comparison, &said);
    let (verdict, margin) = (&comparison.verdict, findings.plan.margin);
    let line = if comparison.a_a {
        Line {
            answer: Answer::Check,
            clause: words::a_a(about, verdict),
            ratio: String::new(),
            figures: None,
            reason: None,
        }
    } else {
        words::line(about, verdict, margin, false)
    };
    Row {
        answer: line.answer,
        verdicts: vec![Verdict {
            place: "",
            on: "",
            answer: line.answer,
            found: words::brief(about, verdict),
            line,
            drawn: drawn(about, verdict, margin),
        }],
        text: said.name,
    }
}

/// The comparisons of a pair, without those of the A/A pair.
fn of_pair<'a>(
    findings: &'a AppFindings,
    pair: &'a AppPair,
) -> impl Iterator<Item = &'a AppComparison> {
    let all = findings.comparisons.iter();
    all.filter(|one| !one.a_a && (&one.of, &one.against) == (&pair.of, &pair.against))
}

/// What users gain: for each pair, a sentence about requests per second and one about response time.
pub(super) fn gain(findings: &AppFindings) -> Section {
    let item = |of_metric: &[&AppComparison]| {
        let is_whole = |one: &&&AppComparison| one.request.is_none();
        let whole = *of_metric.iter().find(is_whole).or(of_metric.first())?;
        let said = said(findings, whole);
        let about = about(findings, whole, &said);
        let line = words::line(about, &whole.verdict, findings.plan.margin, false);
        let request = whole.request.as_deref();
        let request = request.map_or_else(String::new, |name| format!("{name}: "));
        let others = of_metric.iter().filter(|one| one.request != whole.request);
        let others = others.map(|one| by_request(findings, one));
        let reason = line.reason.as_deref().map(words::sentence);
        Some(Item {
            sign: Some((line.answer.sign(), line.answer)),
            text: Text::from(request).and(line.text() + "."),
            below: others.chain(reason).map(Text::from).collect(),
            log: String::new(),
        })
    };
    let of_users = [AppMetric::RequestsPerSecond, AppMetric::ResponseMean];
    let items = findings.plan.pairs.iter().flat_map(|pair| {
        let item = &item;
        of_users.iter().filter_map(move |metric| {
            let all = of_pair(findings, pair).filter(|one| one.metric == *metric);
            item(&all.collect::<Vec<_>>())
        })
    });
    let list = Block::list(items);
    let mut compared = findings.comparisons.iter();
    let has_interval = compared.any(|one| {
        let estimate = one.verdict.estimate.as_ref();
        !one.a_a
            && of_users.contains(&one.metric)
            && estimate.is_some_and(|estimate| estimate.interval.is_some())
    });
    let note = has_interval.then(|| {
        let starts: BTreeSet<u32> = findings.slices.iter().map(|one| one.invocation).collect();
        Block::Note(format!(
            "Ranges are {} intervals, over {} of the services",
            units::percent(findings.plan.confidence),
            units::counted(starts.len() as u64, "fresh start")
        ))
    });
    let blocks = list.into_iter().chain(note);
    let blocks = blocks.filter(|_| findings.measured > 0);
    Section::new("gain", "What users gain", Shown::Always, blocks)
}

/// `▲ search: 1.16× faster [1.10, 1.22], 399 ms against 487 ms`.
fn by_request(findings: &AppFindings, one: &AppComparison) -> String {
    let value = |figure: f64| value(findings, &one.metric, figure);
    let figures = one.verdict.of_value.zip(one.verdict.against_value);
    let figures = figures.map(|(of, other)| format!(", {} against {}", value(of), value(other)));
    format!(
        "{} {}: {}{}",
        Answer::under(&one.verdict).sign(),
        one.request.as_deref().unwrap_or("all requests"),
        brief(findings, one),
        figures.unwrap_or_default()
    )
}

/// The verdicts on what users see, or on metrics within the application.
pub(super) fn verdicts(findings: &AppFindings, of_users: bool) -> Option<Block> {
    let is_asked = |one: &&AppComparison| {
        let has_figures = one.verdict.of_value.or(one.verdict.against_value).is_some();
        one.metric.is_of_request() == of_users && (of_users || has_figures)
    };
    let question = |text: String, all: &[&AppComparison]| Question {
        text,
        rows: all.iter().map(|one| row(findings, one)).collect(),
        crossings: Vec::new(),
        cautions: None,
    };
    let groups = findings.plan.pairs.iter().filter_map(|pair| {
        let all: Vec<_> = of_pair(findings, pair).filter(is_asked).collect();
        let asked = all.first()?.question.as_str();
        let asked = if of_users {
            asked
        } else {
            "And within the application?"
        };
        let text = format!("{asked} ({} against {})", pair.of, pair.against);
        Some(Group {
            reach: reach(all.iter().flat_map(|one| ratios(&one.verdict))),
            questions: vec![question(text, &all)],
            title: String::new(),
            cautions: None,
            more: Vec::new(),
        })
    });
    let groups: Vec<Group> = groups.filter(|_| findings.measured > 0).collect();
    let checks = findings.comparisons.iter().filter(|one| one.a_a);
    let checks: Vec<&AppComparison> = checks.filter(is_asked).collect();
    let in_short = [AppMetric::RequestsPerSecond, AppMetric::ResponseMean];
    let below = checks.iter().filter(|one| in_short.contains(&one.metric));
    let below = below.map(|one| {
        let brief = words::a_a_brief(&one.verdict);
        let name = subject(findings, one);
        format!("A/A check of {} in {name}: {brief}", one.against)
    });
    let below = below.collect();
    let checks_reach = reach(checks.iter().flat_map(|one| ratios(&one.verdict)));
    let text = checks.first().map(|one| one.question.clone());
    (!groups.is_empty()).then(|| {
        Block::Verdicts(Verdicts {
            title: if of_users { OF_USERS } else { WITHIN },
            placements: vec!["verdict"],
            groups,
            checks: text.map(|text| question(text, &checks)),
            checks_reach,
            below,
        })
    })
}

/// The published figures, and whether this run reproduces them.
pub(super) fn claims(findings: &AppFindings) -> Section {
    let all = findings.claims.iter();
    let measured = all
        .clone()
        .flat_map(|claim| ratios(&claim.comparison.verdict));
    let reach = reach(measured.chain(all.clone().map(|claim| claim.ratio)));
    let sources: BTreeSet<&str> = all.clone().map(|claim| &*claim.source).collect();
    let source = Block::Note(format!("Source: {}", words::joined(sources, "; ")));
    let claims: Vec<Claim> = all.map(|one| claim(findings, one)).collect();
    let blocks = (!claims.is_empty()).then_some([Block::Claims(claims, reach), source]);
    let blocks = blocks.into_iter().flatten();
    Section::new("claims", "Published figures", Shown::Always, blocks)
}

fn claim(findings: &AppFindings, claim: &AppClaimFindings) -> Claim {
    let one = &claim.comparison;
    let said = said(findings, one);
    let about = about(findings, one, &said);
    let published = words::factor_phrase(about, claim.ratio);
    let drawn = drawn(about, &one.verdict, findings.plan.margin);
    let outcome = match claim.claim {
        ClaimOutcome::Reproduced => "reproduced",
        ClaimOutcome::NotResolved => "not resolved",
        ClaimOutcome::Contradicted | ClaimOutcome::NotReproduced => "not reproduced",
    };
    Claim {
        sign: claimed(claim.claim, false),
        outcome: outcome.to_owned(),
        about: format!("{}: {} against {}", said.name, one.of, one.against),
        says: claim.source.clone(),
        published: published.clone(),
        published_in_full: published,
        measured: vec![Measured {
            place: None,
            text: words::claim_measured(about, &one.verdict),
            size: claim.size.map(words::size_match),
            drawn: drawn.map(|drawn| Drawn {
                published: Some(turned(about.better(), claim.ratio)),
                ..drawn
            }),
        }],
    }
}
