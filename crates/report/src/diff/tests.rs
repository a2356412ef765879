use super::*;
use crate::fixture::{findings, two};
use crate::terminal::Style;

fn change<'a>(diff: &'a Diff, variant: &str, metric: Metric) -> &'a MetricChange {
    let found = diff
        .metrics
        .iter()
        .find(|m| m.variant == variant && m.metric == metric);
    found.expect("both runs have it")
}

#[test]
fn a_run_differs_in_nothing_from_itself() {
    let run = findings(&two(2.0).build());
    let diff = compare(&run, &run);
    assert!(diff.metrics.iter().all(|m| m.ratio == 1.0));
    assert!(
        diff.metrics
            .iter()
            .all(|m| !matches!(m.outcome, Change::Better | Change::Worse))
    );
    assert!(diff.verdicts.is_empty() && diff.environment.is_empty() && diff.settings.is_empty());
    assert_eq!(diff.verdicts_unchanged, 1);
    assert_eq!(diff.floors[0].ratio, 1.0);
}

#[test]
fn another_run_of_the_same_thing_changes_no_figure() {
    let (before, after) = (
        two(2.0),
        crate::fixture::Builder {
            seed: 99,
            ..two(2.0)
        },
    );
    let diff = compare(&findings(&before.build()), &findings(&after.build()));
    let changed = diff
        .metrics
        .iter()
        .filter(|m| matches!(m.outcome, Change::Better | Change::Worse));
    assert_eq!(changed.count(), 0);
}

/// A run, and one of a later day in which much is different.
fn days() -> (Findings, Findings) {
    let mut later = two(2.0);
    later.seed = 99;
    later.specs[0].latency_ns *= 2.6;
    later.specs[1].name = "rest-new";
    later.pairs[0].against = "rest-new".to_owned();
    later.specs.push(crate::fixture::Spec {
        ..crate::fixture::Spec::new("rest", 200_000.0).rest()
    });
    let later = later.pair("Which is faster?", "grpc", "rest", Metric::LatencyP50);
    let mut sample = later.build();
    sample.environment.system = "Linux 6.13.0 x86_64".to_owned();
    (findings(&two(2.0).build()), findings(&sample))
}

#[test]
fn a_slower_variant_is_found_and_its_verdict_turns() {
    let (before, after) = days();
    let diff = compare(&before, &after);
    let p50 = change(&diff, "grpc", Metric::LatencyP50);
    assert_eq!(p50.outcome, Change::Worse);
    let [low, high] = p50.interval.unwrap();
    assert!(low < 2.6 && 2.6 < high, "{low} {high}");
    assert_eq!(
        change(&diff, "grpc", Metric::Goodput).outcome,
        Change::Worse
    );
    assert_eq!(
        change(&diff, "grpc", Metric::CallBytes).outcome,
        Change::NoDifference
    );
    assert_eq!(diff.verdicts.len(), 1);
    assert_eq!(
        (&*diff.verdicts[0].was, &*diff.verdicts[0].is),
        ("better", "not resolved")
    );
    assert_eq!(diff.environment[0].what, "system");
    assert_eq!(diff.only_after, ["rest-new"]);
}

#[test]
fn in_the_terminal() {
    let (before, after) = days();
    let text = render(
        &compare(&before, &after),
        Style {
            color: false,
            width: 100,
        },
    );
    insta::assert_snapshot!(text);
}

#[test]
fn one_invocation_resolves_nothing() {
    let run = findings(
        &crate::fixture::Builder {
            invocations: 1,
            ..two(2.0)
        }
        .build(),
    );
    let diff = compare(&run, &run);
    assert!(
        diff.metrics
            .iter()
            .all(|m| m.interval.is_none() && m.outcome == Change::NotResolved)
    );
}

#[test]
fn json_reads_back() {
    let (before, after) = days();
    let diff = compare(&before, &after);
    let text = diff.to_json().unwrap();
    assert_eq!(serde_json::from_str::<Diff>(&text).unwrap(), diff);
}
