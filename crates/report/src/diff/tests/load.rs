//! Tests of differences between runs under load: client-bound trials, and unsuccessful calls.

use rpcgauge_study::record::FailureKind;

use super::*;
use crate::findings::caution::CautionKind;

#[test]
fn a_latency_that_unanswered_calls_could_have_changed_is_not_judged() {
    let mut later = two(2.0);
    later.specs[1].latency_ns *= 0.4;
    later.specs[1].failing = Some((FailureKind::HttpStatus(503), "status 503", 20));
    let diff = compare(&findings(&two(2.0).build()), &findings(&later.build()));
    let outcome = |metric| change(&diff, "rest", metric).outcome;
    assert_eq!(outcome(Metric::LatencyP50), Change::Better, "5% cannot");
    assert_eq!(outcome(Metric::LatencyMean), Change::Unanswered);
    let text = shown(&diff);
    assert!(!text.contains("mean latency"), "{text}");
}

#[test]
fn a_live_service_is_held_against_the_other_target_of_its_run() {
    let run = |ratio: f64| findings(&versus(ratio, 0.01));
    let outcome = |diff: &Diff, variant| change(diff, variant, Metric::LatencyP50).outcome;
    // rest takes twice as long as grpc, then four times: it is not known which of them has changed.
    let diff = compare(&run(2.0), &run(4.0));
    assert_eq!(outcome(&diff, "grpc"), Change::Better);
    assert_eq!(
        outcome(&diff, "rest"),
        Change::NoBase,
        "it is only the base"
    );
    assert!(diff.judges_speed());
    let grpc = change(&diff, "grpc", Metric::LatencyP50);
    let [shift] = &grpc.shifts[..] else {
        panic!("no floor: {:?}", grpc.shifts);
    };
    let name = "rest".to_owned();
    assert_eq!(shift.base, Base::Variant { name });
    let text = shown(&diff);
    for said in [
        "p50 latency 2.0",
        "A change may be of either target",
        "`rpcgauge gate`",
        "relative to the run's other target",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let back = compare(&run(4.0), &run(2.0));
    assert_eq!(back.slower().next().map(|it| &*it.variant), Some("grpc"));
    let same = compare(&run(2.0), &run(2.0));
    assert_eq!(same.slower().count(), 0);
}

#[test]
fn objectives_stand_beside_each_other() {
    let run = |objectives: &[&str]| {
        let mut sample = live();
        if let TrialOutcome::Measured(measured) = &mut sample.trials[0].outcome {
            measured.calls.started = measured.calls.answered;
            measured.calls.failed.clear();
        }
        let objectives = objectives.iter().map(|text| text.parse().unwrap());
        sample.plan.objectives = objectives.collect();
        findings(&sample)
    };
    let before = run(&["p50<1s", "max<1s", "p99<1s", "mean<1s"]);
    // The first objective is the same, but written differently. The last is a different one.
    let mut after = run(&["p50<1000ms", "max<1s", "p99<1s", "mean<2s"]);
    after.objectives[1].outcome = ObjectiveOutcome::Missed;
    let diff = compare(&before, &after);
    let text = shown(&diff);
    let (_, objectives) = text.split_once("Objectives\n").expect(&text);
    let lines: Vec<&str> = objectives.lines().take(5).collect();
    let expected = |line: &str, sign: &str, words: [&str; 3]| {
        assert!(line.starts_with(&format!("  {sign} ")), "{line}");
        let mut rest = line;
        for word in words {
            (_, rest) = rest.split_once(word).expect(line);
        }
    };
    expected(lines[0], "=", ["p50<1s: ", "met", "before, met"]);
    expected(lines[1], "▼", ["max<1s: ", "missed", "before, met"]);
    expected(lines[2], "=", ["p99<1s: ", "met", "before, met"]);
    expected(lines[3], "?", ["mean<1s: ", "no objective", "before, met"]);
    expected(lines[4], "?", ["mean<2s: ", "met", "before, no objective"]);
    let back = compare(&after, &before);
    assert!(shown(&back).contains("  ▲ "));
    let none = shown(&compare(&run(&[]), &run(&[])));
    assert!(!none.contains("Objectives"), "{none}");
}

/// The change of goodput of a load variant between two runs, the second of which is half as fast. `shares` are the
/// client's shares of its core in the two runs.
fn load_goodput(shares: [f64; 2]) -> (Diff, MetricChange) {
    let run = |latency_ns: f64, client_share| {
        let spec = crate::fixture::Spec {
            in_flight: 32,
            client_share,
            ..crate::fixture::Spec::new("load", latency_ns)
        };
        let pair = |builder: crate::fixture::Builder| {
            builder.pair("Which carries more?", "load", "grpc", Metric::Goodput)
        };
        findings(&pair(two(2.0).spec(spec)).build())
    };
    let diff = compare(&run(200_000.0, shares[0]), &run(400_000.0, shares[1]));
    let goodput = change(&diff, "load", Metric::Goodput).clone();
    (diff, goodput)
}

#[test]
fn a_client_bound_run_is_not_judged_and_has_a_caution() {
    let (diff, goodput) = load_goodput([0.5, 0.5]);
    assert_eq!(goodput.outcome, Change::Worse);
    assert!(diff.cautions.is_empty(), "{:?}", diff.cautions);
    for shares in [[0.9, 0.5], [0.5, 0.9]] {
        let (diff, goodput) = load_goodput(shares);
        assert_eq!(
            (goodput.outcome, goodput.shifts.len()),
            (Change::ClientBound, 0)
        );
        assert_eq!(
            change(&diff, "load", Metric::ServerCpu).outcome,
            Change::Worse,
            "CPU does not depend on a saturated client"
        );
        let bound = shares.map(|share| if share > 0.8 { vec![(12, 12)] } else { vec![] });
        let [cell] = &diff.cautions[..] else {
            panic!("{:?}", diff.cautions)
        };
        let found = [&cell.before, &cell.after].map(|cautions| {
            let bound = cautions
                .iter()
                .filter(|c| c.kind == CautionKind::ClientBound);
            bound.map(|c| (c.count, c.of)).collect::<Vec<_>>()
        });
        assert_eq!(found, bound);
        let text = shown(&diff);
        assert!(text.contains("C client-bound"), "{text}");
        let (_, cautions) = text.split_once("Cautions, by trials\n").expect(&text);
        assert!(cautions.starts_with("  load on two cores "), "{text}");
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
            if let rpcgauge_study::record::TrialOutcome::Measured(measured) = &mut trial.outcome {
                // As if the client were too slow by a factor of four.
                measured.elapsed_ns *= 4;
                measured.client_share = Some(client_share);
            }
        }
        findings(&sample)
    };
    let level = |client_share| {
        let findings = sample(client_share);
        let goodput = Figure {
            variant: "load",
            placement: Placement::TwoCores,
            metric: Metric::Goodput,
        };
        assert_eq!(goodput.trials(&findings).unfit(goodput.metric), None);
        let level = goodput.over(&Base::Nothing, &findings).unwrap();
        level.interval.unwrap()
    };
    let (kept, left_out) = (level(0.5), level(0.9));
    assert!(kept.half_width() > 2.0 * left_out.half_width());
}

#[test]
fn a_service_that_does_not_answer_any_more_is_worse() {
    let mut broken = two(2.0);
    broken.specs[1].failing = Some((FailureKind::ConnectRefused, "connection refused", 1));
    let (before, after) = (findings(&two(2.0).build()), findings(&broken.build()));
    let diff = compare(&before, &after);
    let goodput = change(&diff, "rest", Metric::Goodput);
    assert_eq!((goodput.outcome, goodput.ratio), (Change::Worse, 0.0));
    let slower: Vec<_> = diff.slower().map(|c| &*c.variant).collect();
    assert_eq!(slower, ["rest"]);
    let text = shown(&diff);
    let expected = "▼ rest on two cores: goodput 0, since in most trials no call succeeded; ";
    assert!(
        text.contains(expected) && text.contains(" before, 0 after"),
        "{text}"
    );
    assert_eq!(compare(&after, &after).slower().count(), 0, "it never did");
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
            if let TrialOutcome::Measured(measured) = &mut trial.outcome {
                measured.calls.failed =
                    [(FailureKind::ConnectRefused, measured.calls.answered)].into();
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
    assert_eq!(goodput(&before).shifts.len(), 2);
    let some = goodput(&silent_in(count / 3));
    assert_eq!((some.outcome, some.shifts.len()), (Change::NotResolved, 0));
    assert_eq!(some.ratio, some.after / some.before);
    let after = silent_in(count - 1);
    let most = goodput(&after);
    assert_eq!((most.outcome, most.shifts.len()), (Change::Worse, 0));
    assert!(0.0 < most.ratio && most.ratio == most.after / most.before);
    let text = shown(&compare(&before, &after));
    assert!(
        text.contains("lower, since in most trials no call succeeded; "),
        "{text}"
    );
}

#[test]
fn of_two_searches_the_capacities_are_shown_and_only_the_shown_rate_counts() {
    let before = findings(&capacity());
    let mut slower = capacity();
    // Changes all rates except the one that is shown.
    let rate = before.capacity.as_ref().unwrap().held.unwrap().rate;
    for record in slower.trials.iter_mut().filter(|t| t.rate != Some(rate)) {
        if let rpcgauge_study::record::TrialOutcome::Measured(measured) = &mut record.outcome {
            measured.cpu.client.as_mut().unwrap().total_ns *= 3;
        }
    }
    let diff = compare(&before, &findings(&slower));
    let cpu = change(&diff, "grpc", Metric::ClientCpu);
    assert_eq!(
        (cpu.before, cpu.after, cpu.ratio),
        (cpu.before, cpu.before, 1.0)
    );
    let text = shown(&diff);
    let sentence =
        "At 1,000 calls/s the service meets p99<20ms and errors<0.1% (met in 3 of 4 trials)";
    for label in ["  before       ", "  after        "] {
        assert!(text.contains(&format!("{label}{sentence}")), "{text}");
    }
    assert!(!text.contains("Verdicts"), "a load has none: {text}");
    let one = compare(&before, &findings(&live()));
    assert!(one.capacity.as_ref().is_some_and(|c| c.after.is_none()));
}
