//! The verdicts and the published figures.

use rpcgauge_study::app::AppMetric;

use super::super::findings::{AppClaimFindings, AppComparison, AppFindings};
use super::super::like;
use crate::document::{
    Answer, Block, Group, Item, Question, Row, Section, Shown, Text, Verdict, Verdicts, claimed,
    drawn, ratios, reach,
};
use crate::words::{self, About, Found, Line};

/// A metric in a heading.
pub(crate) fn name(findings: &AppFindings, metric: &AppMetric) -> String {
    let name = match metric {
        AppMetric::RequestsPerSecond => "requests per second",
        AppMetric::ResponseMean => "mean response time",
        AppMetric::ResponseP50 => "median response time",
        AppMetric::ResponseP99 => "p99 response time",
        AppMetric::Cpu => "CPU of all processes for a request",
        AppMetric::Inside(name) => {
            let found = findings
                .plan
                .metrics
                .iter()
                .find(|metric| metric.name == *name);
            found.map_or(name.as_str(), |metric| metric.title.as_str())
        }
    };
    name.to_owned()
}

/// A figure of a metric with its unit.
pub(crate) fn value(findings: &AppFindings, metric: &AppMetric, figure: f64) -> String {
    crate::metric::row(like(&findings.plan, metric)).value(figure)
}

/// A verdict in as few words as can be.
pub(crate) fn brief(findings: &AppFindings, one: &AppComparison) -> String {
    let found = words::brief(like(&findings.plan, &one.metric), &one.verdict);
    in_words(&one.metric, &found.text())
}

/// A ratio of what a comparison is about.
pub(crate) fn factor_phrase(findings: &AppFindings, one: &AppComparison, ratio: f64) -> String {
    let phrase = words::factor_phrase(like(&findings.plan, &one.metric), ratio);
    in_words(&one.metric, &phrase)
}

/// What a comparison is about, as a row's text.
pub(crate) fn subject(findings: &AppFindings, comparison: &AppComparison) -> String {
    let name = name(findings, &comparison.metric);
    match (&comparison.request, comparison.metric.is_of_request()) {
        (Some(request), _) => format!("{name}, {request}"),
        (None, true) => format!("{name}, all requests"),
        (None, false) => name.to_owned(),
    }
}

/// The words of a metric of calls, of an application.
fn in_words(metric: &AppMetric, text: &str) -> String {
    let text = text
        .replace("calls per second", "requests per second")
        .replace("calls/s", "requests/s")
        .replace("per call (", "(")
        .replace("server CPU per call", "CPU for a request")
        .replace("server CPU", "CPU");
    match metric {
        AppMetric::Inside(_) => text
            .replace(" responds ", " is ")
            .replace("(mean)", "(mean of one)"),
        _ => text,
    }
}

fn row(findings: &AppFindings, comparison: &AppComparison) -> Row {
    let about = About {
        of: &comparison.of,
        against: &comparison.against,
        metric: like(&findings.plan, &comparison.metric),
        operation: None,
    };
    let (verdict, margin) = (&comparison.verdict, findings.plan.margin);
    let metric = &comparison.metric;
    let words = |text: String| in_words(metric, &text);
    let line = match comparison.a_a {
        true => Line {
            answer: Answer::Check,
            clause: words(words::a_a(about, verdict)),
            ratio: String::new(),
            figures: None,
            reason: None,
        },
        false => {
            let line = words::line(about, verdict, margin, false);
            Line {
                clause: words(line.clause),
                ratio: words(line.ratio),
                figures: line.figures.map(words),
                reason: line.reason.map(words),
                ..line
            }
        }
    };
    let found = words::brief(about.metric, verdict);
    Row {
        text: subject(findings, comparison),
        answer: line.answer,
        verdicts: vec![Verdict {
            place: "",
            on: "",
            answer: line.answer,
            found: Found {
                phrase: in_words(metric, &found.phrase),
                interval: found.interval,
            },
            line,
            drawn: drawn(about, verdict, margin),
        }],
    }
}

pub(super) fn section(findings: &AppFindings) -> Section {
    let question = |text: String, all: Vec<&AppComparison>| Question {
        text,
        rows: all.into_iter().map(|one| row(findings, one)).collect(),
        crossings: Vec::new(),
        cautions: None,
    };
    let is_inside = |one: &&AppComparison| !one.metric.is_of_request();
    let mut groups = Vec::new();
    for pair in &findings.plan.pairs {
        let of_pair =
            |one: &&AppComparison| !one.a_a && (&one.of, &one.against) == (&pair.of, &pair.against);
        let all: Vec<&AppComparison> = findings.comparisons.iter().filter(of_pair).collect();
        let (inside, users): (Vec<_>, Vec<_>) = all.iter().copied().partition(is_inside);
        let asked = all
            .first()
            .map_or_else(String::new, |one| one.question.clone());
        let names = format!("{} against {}", pair.of, pair.against);
        let questions = [
            (format!("{asked} ({names})"), users),
            (format!("And within the application? ({names})"), inside),
        ];
        let questions = questions.into_iter().filter(|(_, all)| !all.is_empty());
        groups.push(Group {
            reach: reach(all.iter().flat_map(|one| ratios(&one.verdict))),
            questions: questions.map(|(text, all)| question(text, all)).collect(),
            title: String::new(),
            cautions: None,
            more: Vec::new(),
        });
    }
    let checks: Vec<&AppComparison> = findings.comparisons.iter().filter(|one| one.a_a).collect();
    let below = checks.iter().filter(|one| {
        matches!(
            one.metric,
            AppMetric::RequestsPerSecond | AppMetric::ResponseMean
        )
    });
    let below = below.map(|one| {
        let brief = in_words(&one.metric, &words::a_a_brief(&one.verdict));
        format!(
            "A/A check of {} in {}: {brief}",
            one.against,
            subject(findings, one)
        )
    });
    let below = below.collect();
    let checks_reach = reach(checks.iter().flat_map(|one| ratios(&one.verdict)));
    let text = checks.first().map(|one| one.question.clone());
    let verdicts = Verdicts {
        placements: vec!["verdict"],
        groups,
        checks: text.map(|text| question(text, checks)),
        checks_reach,
        below,
    };
    let blocks = match findings.plan.pairs.is_empty() || findings.measured == 0 {
        true => Vec::new(),
        false => vec![Block::Verdicts(verdicts)],
    };
    Section::new("verdicts", "Verdicts", Shown::Always, blocks)
}

pub(super) fn claims(findings: &AppFindings) -> Section {
    let item = |claim: &AppClaimFindings| {
        let one = &claim.comparison;
        let metric = like(&findings.plan, &one.metric);
        let words = |text: String| in_words(&one.metric, &text);
        let outcome = claimed(claim.claim, false);
        let said = match outcome.1 {
            Answer::Better => "reproduced",
            _ if outcome.0 == '?' => "not resolved",
            _ => "not reproduced",
        };
        let size = claim.size.map(words::size_match);
        let size = size.map_or_else(String::new, |size| format!(", {size}"));
        let published = words(words::factor_phrase(metric, claim.ratio));
        let measured = words(words::claim_measured(metric, &one.verdict));
        Item {
            sign: Some(outcome),
            text: Text::strong(said)
                .and(format!(": {} against {} in ", one.of, one.against))
                .and_foreign(subject(findings, one)),
            below: vec![
                Text::from(format!("published {published}; measured {measured}{size}")),
                Text::foreign(claim.source.clone()),
            ],
            log: String::new(),
        }
    };
    let list = Block::list(findings.claims.iter().map(item));
    Section::new("claims", "Published figures", Shown::Always, list)
}
