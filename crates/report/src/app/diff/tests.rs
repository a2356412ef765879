use super::*;
use crate::Style;
use crate::app::tests::{noise, run, slice};

/// A run in which requests take `grpc` and `rest` ms.
fn of(grpc: f64, rest: f64, mut seed: u64) -> AppRun {
    run(6, |variant, _, _| {
        let time = if variant == "grpc" { grpc } else { rest };
        slice(time * noise(&mut seed), 0)
    })
}

/// The change of the pair in the mean response time.
fn mean(diff: &AppDiff) -> &GainChange {
    let mut gains = diff.gains.iter();
    let found = gains.find(|gain| gain.before.metric == AppMetric::ResponseMean);
    found.unwrap()
}

fn shown(diff: &AppDiff) -> String {
    let text = diff.document().terminal(Style::new(false, None, Some(200)));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_run_differs_in_nothing_from_itself() {
    let run = of(20.0, 30.0, 1);
    let diff = AppDiff::of(&run, &run);
    let is_changed = |gain: &GainChange| matches!(gain.outcome, Change::Better | Change::Worse);
    assert!(!diff.gains.is_empty() && !diff.gains.iter().any(is_changed));
    assert!(diff.figures.iter().all(|figure| figure.ratio == 1.0));
    assert!(diff.plan.is_empty() && diff.environment.is_empty() && diff.settings.is_empty());
    let text = shown(&diff);
    assert!(text.contains("No pair's ratio changed"), "{text}");
}

#[test]
fn what_changes_all_variants_alike_changes_no_ratio() {
    let diff = AppDiff::of(&of(20.0, 30.0, 1), &of(40.0, 60.0, 2));
    let gain = mean(&diff);
    assert!(
        matches!(gain.outcome, Change::NoDifference | Change::NotResolved),
        "{gain:?}"
    );
    let figure = |variant: &str| {
        let mut all = diff.figures.iter();
        let found = all.find(|one| one.variant == variant && one.metric == AppMetric::ResponseMean);
        found.unwrap().ratio
    };
    assert!((figure("grpc") - 2.0).abs() < 0.05 && (figure("rest") - 2.0).abs() < 0.05);
    let variants = diff.figures.iter().map(|one| &one.variant);
    assert!(variants.into_iter().all(|name| name != "rest-again"));
}

#[test]
fn a_pair_that_gains_less_is_found() {
    let diff = AppDiff::of(&of(20.0, 30.0, 1), &of(28.0, 30.0, 2));
    let gain = mean(&diff);
    assert_eq!(gain.outcome, Change::Worse);
    let shift = gain.shift.as_ref().unwrap();
    let [low, high] = shift.interval.unwrap();
    assert!(low < 1.4 && 1.4 < high, "{shift:?}");
    let text = shown(&diff);
    for part in [
        "▼ grpc, mean response time: 1.4",
        "× slower [1.",
        " against rest; 1.5",
        " before, 1.0",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn a_ratio_to_what_is_set_otherwise_is_not_judged_and_what_differs_is_told() {
    let before = of(20.0, 30.0, 1);
    let mut after = of(20.0, 60.0, 2);
    after.plan.slice_ms = 2_000;
    after.plan.metrics[0].metric = "other_seconds".to_owned();
    let set = ("calls".to_owned(), "kept".to_owned());
    after.plan.variants[1].configuration.0.extend([set]);
    after.plan.variants[2].name = "twin".to_owned();
    let diff = AppDiff::of(&before, &after);
    let gain = mean(&diff);
    assert_eq!((gain.outcome, &gain.shift), (Change::NoBase, &None));
    let text = shown(&diff);
    for part in [
        "Nothing is judged: these runs share no pair",
        "slice_ms 1000 → 2000",
        "the metric handler handler_seconds of gateway with {} → other_seconds of gateway with {}",
        "rest is set differently calls: – → kept",
        "only before rest-again only after twin",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}
