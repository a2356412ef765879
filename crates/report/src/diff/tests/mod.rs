use super::shared::Figure;
use super::*;
use crate::findings::objective::ObjectiveOutcome;
use crate::fixture::{call, capacity, findings, linked, live, two, versus};
use crate::terminal::Style;
use rpcgauge_message::Compression;
use rpcgauge_study::record::TrialOutcome;

mod bases;
mod load;

/// The differences as shown on a wide terminal.
fn shown(diff: &Diff) -> String {
    let style = Style::new(false, None, Some(200));
    diff.document().terminal(style)
}

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
fn a_link_that_changed_under_its_name_is_a_change() {
    let before = linked(0);
    let mut after = linked(0);
    for variant in &mut after.plan.variants {
        let link = call(variant).link.as_mut().expect("a link");
        link.terms.up.delay_ns += 100_000;
    }
    let diff = compare(&findings(&before), &findings(&after));
    let changed = diff.settings.iter().find(|it| it.variant == "grpc");
    let differences = &changed.expect("it calls in another way").differences;
    assert_eq!(differences.len(), 1, "{differences:?}");
    assert_eq!(differences[0].what, "the link's values");
    assert!(
        differences[0]
            .before
            .starts_with("up: 100Mbit/s, delay 900us, queue 30ms; down: ")
    );
    assert!(
        differences[0]
            .after
            .starts_with("up: 100Mbit/s, delay 1ms, ")
    );
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

#[test]
fn a_change_on_dynamic_code_says_so() {
    let (before, _) = days();
    let mut later = two(2.0);
    for spec in &mut later.specs {
        spec.code = rpcgauge_study::record::CodeKind::Dynamic;
    }
    later.specs[1].latency_ns *= 2.0;
    let diff = compare(&before, &findings(&later.build()));
    let text = shown(&diff);
    let line = text
        .lines()
        .find(|line| line.contains("▼ rest on two cores: p50 latency"));
    assert!(line.expect(&text).contains(" (dynamic code); "), "{text}");
    assert!(!change(&diff, "rest", Metric::CallBytes).dynamic_code);
}

/// A run, and a later one in which many things differ.
fn days() -> (Findings, Findings) {
    let mut later = two(2.0);
    later.seed = 99;
    later.specs[0].latency_ns *= 2.6;
    later.specs[2].latency_ns *= 2.6;
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
    for shift in &p50.shifts {
        let [low, high] = shift.interval.unwrap();
        assert!(low < 2.6 && 2.6 < high, "{low} {high}");
    }
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
        ("better", "worse")
    );
    assert_eq!(diff.environment[0].what, "System");
    assert_eq!(diff.only_after, ["rest-new"]);
}

#[test]
fn a_variant_that_calls_differently_is_shown_setting_by_setting() {
    let mut sample = two(2.0).build();
    let before = findings(&sample);
    let rest = &mut sample.plan.variants[1];
    call(rest).options.response_compression = Compression::GZIP;
    call(rest).options.deadline_ms = 5_000;
    // Trials of a different length do not call in a different way.
    rest.settings.stop.time_ms = Some(7_000);
    let diff = compare(&before, &findings(&sample));
    let [change] = &diff.settings[..] else {
        panic!("{:?}", diff.settings)
    };
    assert_eq!(change.variant, "rest");
    let differences = change.differences.iter();
    let differences: Vec<[&str; 3]> = differences
        .map(|d| [&*d.what, &*d.before, &*d.after])
        .collect();
    let expected = [
        ["compression", "none", ""],
        ["deadline", "10s", "5s"],
        ["request-compression", "", "none"],
        ["response-compression", "", "gzip"],
    ];
    assert_eq!(differences, expected);
}

#[test]
fn in_the_terminal() {
    let (before, after) = days();
    let document = compare(&before, &after).document();
    insta::assert_snapshot!(document.terminal(Style::new(false, None, None)));
}

#[test]
fn in_markdown() {
    let (before, after) = days();
    insta::assert_snapshot!(compare(&before, &after).document().markdown());
}

/// The page has all sections, and texts from other programs are escaped.
#[test]
fn on_a_page() {
    let (before, mut after) = days();
    let environment = after.environment.as_mut().unwrap();
    environment.system = "Linux <6.13>".to_owned();
    let page = compare(&before, &after).document().html();
    for part in [
        "<h1>diff of two</h1>",
        "<span>before: two, ",
        "<a href=\"#changes\">What changed</a>",
        "<section id=\"changes\"><h2>What changed</h2>",
        "<b class=\"sign worse\">▼</b> grpc on two cores: p50 latency 2.",
        "<section id=\"figures\"><h2>After over before, on two cores</h2>",
        "<th scope=\"row\">  before</th>",
        " → Linux &lt;6.13&gt;</bdi></dd>",
    ] {
        assert!(page.contains(part), "{part} is not in:\n{page}");
    }
}

#[test]
fn a_placement_that_one_run_has_more_is_no_change_of_a_verdict() {
    let mut wider = two(2.0);
    wider.placements.push(Placement::OneCore);
    for spec in &mut wider.specs {
        spec.everywhere = true;
    }
    // On one core the answer differs.
    wider.specs[0].one_core = 4.0;
    wider.specs[2].one_core = 4.0;
    let (narrow, wide) = (findings(&two(2.0).build()), findings(&wider.build()));
    for (before, after) in [(&narrow, &wide), (&wide, &narrow)] {
        let diff = compare(before, after);
        assert!(diff.verdicts.is_empty(), "{:?}", diff.verdicts);
        assert_eq!(diff.verdicts_unchanged, 1);
    }
    let mut other = wide.clone();
    other.comparisons[0].placements[1].outcome = crate::findings::verdict::Outcome::NoDifference;
    let diff = compare(&wide, &other);
    let [change] = &diff.verdicts[..] else {
        panic!("{:?}", diff.verdicts)
    };
    assert_eq!(change.was, "better on two cores, worse on one core");
    assert_eq!(change.is, "better on two cores, no difference on one core");
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
            .all(|m| m.shifts.iter().all(|s| s.interval.is_none())
                && m.outcome == Change::NotResolved)
    );
}

#[test]
fn json_holds_every_change() {
    let (before, after) = days();
    let diff = compare(&before, &after);
    let value: serde_json::Value = serde_json::from_str(&diff.to_json().unwrap()).unwrap();
    assert_eq!(
        value["metrics"].as_array().unwrap().len(),
        diff.metrics.len()
    );
    assert_eq!(value["verdicts"][0]["is"], "worse");
    assert_eq!(value["only_after"], serde_json::json!(["rest-new"]));
    assert_eq!(value.get("capacity"), None);
}

#[test]
fn what_is_slower_is_resolved_and_about_speed() {
    let (before, after) = days();
    let diff = compare(&before, &after);
    let slower: Vec<_> = diff.slower().map(|c| (&*c.variant, c.metric)).collect();
    assert!(slower.contains(&("grpc", Metric::LatencyP50)), "{slower:?}");
    assert!(
        slower.iter().all(|(variant, _)| *variant == "grpc"),
        "{slower:?}"
    );
    assert!(
        diff.slower()
            .all(|c| c.outcome == Change::Worse && c.shifts.len() == 2)
    );
    assert_eq!(compare(&after, &before).slower().count(), 0, "it is faster");
    assert!(diff.judges_speed());
}

#[test]
fn runs_of_one_invocation_judge_no_speed() {
    let one = crate::fixture::Builder {
        invocations: 1,
        ..two(2.0)
    };
    let run = findings(&one.build());
    assert!(!compare(&run, &run).judges_speed());
}

#[test]
fn what_a_variant_calls_otherwise_is_told_beside_its_change() {
    let (before, _) = days();
    let mut other = two(2.0);
    other.specs[0].latency_ns *= 2.6;
    other.specs[2].latency_ns *= 2.6;
    other.specs[0].workload = rpcgauge_message::workload::WorkloadSpec::Echo { n: 9 };
    let text = shown(&compare(&before, &findings(&other.build())));
    let expected = "▼ grpc (called differently) on two cores: p50 latency 2.";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn runs_without_a_common_variant_share_none() {
    let mut other = two(2.0).build();
    for variant in &mut other.plan.variants {
        variant.name += "-else";
        variant.repeats = variant.repeats.take().map(|name| name + "-else");
    }
    other.plan.pairs.clear();
    for trial in &mut other.trials {
        trial.variant += "-else";
    }
    other.floors.clear();
    let (one, other) = (findings(&two(2.0).build()), findings(&other));
    assert!(!share_a_variant(&one, &other));
    assert!(share_a_variant(&one, &one));
}
