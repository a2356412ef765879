use super::*;
use crate::findings::objective::ObjectiveOutcome;
use crate::fixture::{capacity, findings, live, two};
use crate::terminal::Style;
use rpcgauge_study::record::Outcome;

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
fn objectives_stand_beside_each_other() {
    let run = |objectives: &[&str]| {
        let mut sample = live();
        let objectives = objectives.iter().map(|text| text.parse().unwrap());
        sample.plan.objectives = objectives.collect();
        findings(&sample)
    };
    let before = run(&["p50<1s", "max<1s", "p99<1s", "mean<1s"]);
    // The first is written in another way, the last is another one.
    let mut after = run(&["p50<1000ms", "max<1s", "p99<1s", "mean<2s"]);
    after.objectives[1].outcome = ObjectiveOutcome::Missed;
    let diff = compare(&before, &after);
    let style = Style {
        color: false,
        width: 200,
    };
    let text = render(&diff, style);
    let (_, objectives) = text.split_once("Objectives\n").expect(&text);
    let lines: Vec<&str> = objectives.lines().take(5).collect();
    let told = |line: &str, sign: &str, words: [&str; 3]| {
        assert!(line.starts_with(&format!("  {sign} ")), "{line}");
        let mut rest = line;
        for word in words {
            (_, rest) = rest.split_once(word).expect(line);
        }
    };
    told(lines[0], "=", ["p50<1s: ", "reached", "before, reached"]);
    told(lines[1], "▼", ["max<1s: ", "missed", "before, reached"]);
    told(lines[2], "=", ["p99<1s: ", "reached", "before, reached"]);
    told(
        lines[3],
        "?",
        ["mean<1s: ", "no objective", "before, reached"],
    );
    told(
        lines[4],
        "?",
        ["mean<2s: ", "reached", "before, no objective"],
    );
    let back = compare(&after, &before);
    assert!(render(&back, style).contains("  ▲ "));
    let none = render(&compare(&run(&[]), &run(&[])), style);
    assert!(!none.contains("Objectives"), "{none}");
}

/// The goodput of a load variant in two runs of which the second is half as fast, with the client's
/// share of its core in each.
fn load_goodput(shares: [f64; 2]) -> (Diff, MetricChange) {
    let run = |latency_ns: f64, client_share| {
        let spec = crate::fixture::Spec {
            in_flight: 32,
            client_share,
            ..crate::fixture::Spec::new("load", latency_ns)
        };
        findings(&two(2.0).spec(spec).build())
    };
    let diff = compare(&run(200_000.0, shares[0]), &run(400_000.0, shares[1]));
    let goodput = change(&diff, "load", Metric::Goodput).clone();
    (diff, goodput)
}

#[test]
fn a_client_bound_run_is_not_judged_and_is_marked() {
    let (diff, goodput) = load_goodput([0.5, 0.5]);
    assert_eq!(goodput.outcome, Change::Worse);
    assert!(diff.marks.is_empty(), "{:?}", diff.marks);
    for shares in [[0.9, 0.5], [0.5, 0.9]] {
        let (diff, goodput) = load_goodput(shares);
        assert_eq!(
            (goodput.outcome, goodput.interval),
            (Change::ClientBound, None)
        );
        assert_eq!(
            change(&diff, "load", Metric::ServerCpu).outcome,
            Change::Worse,
            "CPU is what it is, whatever the client could do"
        );
        let marks = shares.map(|share| {
            if share > 0.8 {
                "client-bound 12/12"
            } else {
                ""
            }
        });
        let [cell] = &diff.marks[..] else {
            panic!("{:?}", diff.marks)
        };
        assert_eq!([&*cell.before, &*cell.after], marks);
        let style = Style {
            color: false,
            width: 80,
        };
        let text = render(&diff, style);
        assert!(text.contains("C client-bound"), "{text}");
        assert!(text.contains("load on two cores: "), "{text}");
    }
}

#[test]
fn some_client_bound_trials_are_left_out() {
    let sample = |client_share| {
        let spec = crate::fixture::Spec {
            in_flight: 32,
            ..crate::fixture::Spec::new("load", 200_000.0)
        };
        let mut sample = two(2.0).spec(spec).build();
        let load = sample.trials.iter_mut().filter(|t| t.variant == "load");
        for trial in load.take(3) {
            if let rpcgauge_study::record::Outcome::Measured(measured) = &mut trial.outcome {
                // As if the client had been four times too slow.
                measured.elapsed_ns *= 4;
                measured.client_share = client_share;
            }
        }
        findings(&sample)
    };
    let level = |client_share| {
        let findings = sample(client_share);
        let trials = Trials::of(&findings, "load", Placement::TwoCores, Metric::Goodput);
        assert!(!trials.are_client_bound());
        trials.level().unwrap().limits.unwrap()
    };
    let (kept, left_out) = (level(0.5), level(0.9));
    assert!(kept[1] - kept[0] > 2.0 * (left_out[1] - left_out[0]));
}

#[test]
fn a_placement_that_one_run_has_more_is_no_change_of_a_verdict() {
    let mut wider = two(2.0);
    wider.placements.push(Placement::OneCore);
    for spec in &mut wider.specs {
        spec.everywhere = true;
    }
    // On one core the answer is another one.
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
            .all(|c| c.outcome == Change::Worse && c.interval.is_some())
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
fn a_service_that_does_not_answer_any_more_is_worse() {
    let mut broken = two(2.0);
    broken.specs[1].failing = Some(("refused", "connection refused", 1));
    let (before, after) = (findings(&two(2.0).build()), findings(&broken.build()));
    let diff = compare(&before, &after);
    let goodput = change(&diff, "rest", Metric::Goodput);
    assert_eq!((goodput.outcome, goodput.ratio), (Change::Worse, 0.0));
    let slower: Vec<_> = diff.slower().map(|c| &*c.variant).collect();
    assert_eq!(slower, ["rest"]);
    let style = Style {
        color: false,
        width: 200,
    };
    let text = render(&diff, style);
    let told = "▼ rest on two cores: goodput 0, since most trials answered no call, ";
    assert!(
        text.contains(told) && text.contains(" before, 0 after"),
        "{text}"
    );
    assert_eq!(compare(&after, &after).slower().count(), 0, "it never did");
    assert_eq!(
        serde_json::from_str::<Diff>(&diff.to_json().unwrap()).unwrap(),
        diff
    );
}

#[test]
fn a_service_that_is_silent_in_some_trials_is_not_said_to_carry_the_same() {
    let before = two(2.0).build();
    let silent_in = |count: usize| {
        let mut sample = before.clone();
        let trials = sample
            .trials
            .iter_mut()
            .filter(|t| t.variant == "rest" && t.trial.placement == Placement::TwoCores);
        for trial in trials.take(count) {
            if let Outcome::Measured(measured) = &mut trial.outcome {
                measured.calls.failed = [("refused".to_owned(), measured.calls.answered)].into();
                measured.calls.answered = 0;
            }
        }
        findings(&sample)
    };
    let before = silent_in(0);
    let trials = |t: &&crate::findings::trial::TrialRow| {
        t.variant == "rest" && t.placement == Placement::TwoCores
    };
    let count = before.trials.iter().filter(trials).count();
    let goodput =
        |after: &Findings| change(&compare(&before, after), "rest", Metric::Goodput).clone();
    assert!(goodput(&before).interval.is_some());
    let some = goodput(&silent_in(count / 3));
    assert_eq!((some.outcome, some.interval), (Change::NotResolved, None));
    assert_eq!(some.ratio, some.after / some.before);
    let after = silent_in(count - 1);
    let most = goodput(&after);
    assert_eq!((most.outcome, most.interval), (Change::Worse, None));
    assert!(0.0 < most.ratio && most.ratio == most.after / most.before);
    let style = Style {
        color: false,
        width: 200,
    };
    let text = render(&compare(&before, &after), style);
    assert!(
        text.contains("lower, since most trials answered no call, "),
        "{text}"
    );
}

#[test]
fn what_a_variant_calls_otherwise_is_told_beside_its_change() {
    let (before, _) = days();
    let mut other = two(2.0);
    other.specs[0].latency_ns *= 2.6;
    other.specs[0].workload = rpcgauge_message::workload::WorkloadSpec::Echo { n: 9 };
    let style = Style {
        color: false,
        width: 200,
    };
    let text = render(&compare(&before, &findings(&other.build())), style);
    let told = "▼ grpc (called differently) on two cores: p50 latency 2.";
    assert!(text.contains(told), "{text}");
}

#[test]
fn of_two_searches_the_capacities_are_told_and_only_the_shown_rate_counts() {
    let before = findings(&capacity());
    let mut slower = capacity();
    // At all rates but the one that is shown.
    let shown = before.capacity.as_ref().unwrap().held.unwrap().rate;
    for record in slower.trials.iter_mut().filter(|t| t.rate != Some(shown)) {
        if let rpcgauge_study::record::Outcome::Measured(measured) = &mut record.outcome {
            measured.cpu.client.total_ns *= 3;
        }
    }
    let diff = compare(&before, &findings(&slower));
    let cpu = change(&diff, "grpc", Metric::ClientCpu);
    assert_eq!(
        (cpu.before, cpu.after, cpu.ratio),
        (cpu.before, cpu.before, 1.0)
    );
    let text = render(
        &diff,
        Style {
            color: false,
            width: 200,
        },
    );
    let sentence = "1,000 calls/s hold p99<20ms and errors<0.1% (held in 3 of 4 trials)";
    for label in ["  before  ", "  after   "] {
        assert!(text.contains(&format!("{label}{sentence}")), "{text}");
    }
    assert!(!text.contains("Verdicts"), "a load has none: {text}");
    let one = compare(&before, &findings(&live()));
    assert!(one.capacity.as_ref().is_some_and(|c| c.after.is_none()));
    assert_eq!(
        serde_json::from_str::<Diff>(&one.to_json().unwrap()).unwrap(),
        one
    );
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
