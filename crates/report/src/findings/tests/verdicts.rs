//! Tests of verdicts.

use rpcgauge_study::features::Role;
use rpcgauge_study::histogram::{Times, Unit};
use rpcgauge_study::plan::{Metric, SharedProcesses};
use rpcgauge_study::record::{FailureKind, TrialOutcome};

use super::super::caution::CautionKind;
use super::super::verdict::{ClaimOutcome, Combined, Unresolved, Withheld};
use super::*;
use crate::fixture::{Spec, call};

#[test]
fn a_known_ratio_lies_in_its_interval() {
    let findings = findings(&two(2.3).build());
    let verdict = &findings.comparisons[0].placements[0];
    let estimate = verdict.estimate.unwrap();
    let [low, high] = estimate.interval.unwrap();
    assert!(low < 1.0 / 2.3 && 1.0 / 2.3 < high, "{estimate:?}");
    assert_eq!(verdict.outcome, verdict::Outcome::Faster);
    assert_eq!((estimate.invocations, estimate.blocks), (4, 12));
    assert!(verdict.control.is_some() && verdict.smallest_difference.unwrap() > 1.0);
}

/// The verdict on the first pair, if its variants take `three_ns` for three operations in every block.
fn of_operations(unit: Unit, three_ns: [u64; 2]) -> verdict::PlacementVerdict {
    let mut sample = two(1.0).build();
    for record in &mut sample.trials {
        if let TrialOutcome::Measured(measured) = &mut record.outcome {
            let is_second = record.variant == "rest";
            let mut times = Times::new(unit);
            times.add_each(three_ns[usize::from(is_second)], 3);
            measured.latency = times.into();
        }
    }
    findings(&sample).comparisons[0].placements[0].clone()
}

#[test]
fn operations_of_parts_of_a_nanosecond_are_told_apart() {
    let verdict = of_operations(Unit::Ps, [20, 23]);
    assert_eq!(verdict.outcome, verdict::Outcome::Faster);
    let estimate = verdict.estimate.unwrap();
    assert!((estimate.ratio * 23.0 / 20.0 - 1.0).abs() < 0.001);
    assert!((verdict.of_value.unwrap() - 20.0 / 3.0).abs() < 0.01);
    // Even if the figures are on the same step in every block, the interval is as wide as the step.
    let [low, high] = estimate.interval.unwrap();
    assert!(high / low > 1.001, "{low} to {high}");
    assert!(verdict.smallest_difference.unwrap() > 1.000_5);
}

#[test]
fn times_that_are_a_few_of_their_unit_tell_no_small_difference() {
    let verdict = of_operations(Unit::Ns, [18, 21]);
    assert!(matches!(
        verdict.outcome,
        verdict::Outcome::NotResolved { .. }
    ));
    let [low, high] = verdict.estimate.unwrap().interval.unwrap();
    assert!(low < 0.75 && high >= 1.0, "{low} to {high}");
    assert!(verdict.smallest_difference.unwrap() > 1.16);
}

#[test]
fn counted_bytes_are_held_against_an_a_a_interval_of_1_alone() {
    let builder = two(2.0).pair("Which is smaller?", "rest", "grpc", Metric::CallBytes);
    let findings = findings(&builder.build());
    let verdict = &findings.comparisons[2].placements[0];
    let control = verdict.control.as_ref().unwrap();
    assert_eq!(control.estimate.interval, Some([1.0, 1.0]));
    assert_eq!(verdict.outcome, verdict::Outcome::Slower);
}

/// The first pair's outcome, its sentence and the A/A pair's sentence, if the second variant is `ratio` times as slow
/// and the A/A pair differs by a factor of 1.2.
fn beside_an_a_a_pair_that_differs(ratio: f64) -> (verdict::Outcome, String, String) {
    let mut builder = Builder {
        noise: (0.001, 0.001),
        calls: 1_000,
        ..two(ratio)
    };
    builder.specs[2].latency_ns *= 1.2;
    let findings = findings(&builder.build());
    let said = |pair: usize| words::comparison(&findings.comparisons[pair], 0.03);
    (outcome(&findings, 0), said(0), said(1))
}

#[test]
fn a_difference_beyond_an_a_a_pair_that_differs_stands_and_says_so() {
    let (outcome, said, check) = beside_an_a_a_pair_that_differs(1.6);
    assert_eq!(outcome, verdict::Outcome::Faster);
    assert!(
        said.contains(". This exceeds the difference of the A/A pair (1."),
        "{said}"
    );
    assert!(
        check.starts_with("A/A check fails: grpc-again against grpc"),
        "{check}"
    );
}

#[test]
fn what_does_not_lie_beyond_an_a_a_pair_is_not_resolved() {
    let open = |reason| verdict::Outcome::NotResolved { reason, more: None };
    for (ratio, reason, expected) in [
        (1.2, Unresolved::NotBeyondAa, "This does not exceed"),
        (
            1.0,
            Unresolved::AaBeyondMargin,
            "This lies inside the margin, but",
        ),
    ] {
        let (outcome, said, _) = beside_an_a_a_pair_that_differs(ratio);
        assert_eq!(outcome, open(reason), "{said}");
        let expected = format!("{expected} the difference of the A/A pair (1.");
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn a_verdict_is_held_against_the_a_a_pair_of_its_own_group() {
    let mut builder = two(1.2);
    for spec in &mut builder.specs {
        spec.group = Some("first");
    }
    let second = |name, ns| Spec {
        group: Some("second"),
        ..Spec::new(name, ns)
    };
    let builder = builder
        .spec(second("unix", 50_000.0))
        .spec(second("tcp", 60_000.0))
        .spec(Spec {
            repeats: Some("tcp"),
            ..second("tcp-again", 120_000.0)
        })
        .spec(Spec::new("alone", 90_000.0))
        .pair("Which is faster?", "unix", "tcp", Metric::LatencyP50)
        .pair("And this?", "alone", "grpc", Metric::LatencyMean);
    let findings = findings(&builder.build());
    let control = |pair: usize| {
        let control = findings.comparisons[pair].placements[0].control.as_ref();
        &*control.unwrap().again
    };
    assert_eq!([control(0), control(2)], ["grpc-again", "tcp-again"]);
    assert_eq!(control(3), "grpc-again", "its group has none");
    assert_eq!(outcome(&findings, 0), verdict::Outcome::Faster);
    let reason = Unresolved::NotBeyondAa;
    let open = verdict::Outcome::NotResolved { reason, more: None };
    assert_eq!(
        outcome(&findings, 2),
        open,
        "one thing differs by a factor of two"
    );
}

#[test]
fn an_a_a_pair_in_one_process_is_no_control_of_variants_with_their_own() {
    let with_shared = |names: &[&str]| {
        let mut sample = two(2.3).build();
        let place = |name: &&str| {
            let mut variants = sample.plan.variants.iter();
            u32::try_from(variants.position(|one| one.name == *name).unwrap()).unwrap()
        };
        let shared = SharedProcesses {
            variants: names.iter().map(place).collect(),
            server: Some("reference".to_owned()),
            client: None,
        };
        sample.plan.shared_processes = vec![shared];
        findings(&sample)
    };
    let verdict = |findings: &Findings| findings.comparisons[0].placements[0].clone();
    let apart = with_shared(&["grpc", "grpc-again"]);
    assert!(verdict(&apart).control.is_none());
    assert!(!apart.comparisons[0].one_process);
    let together = with_shared(&["grpc", "rest", "grpc-again"]);
    assert!(verdict(&together).control.is_some());
    assert!(together.comparisons[0].one_process);
    let [process] = &together.processes[..] else {
        panic!("one process: {:?}", together.processes)
    };
    assert_eq!(
        (&*process.program, process.role),
        ("reference", Role::Server)
    );
    assert_eq!(process.variants, ["grpc", "rest", "grpc-again"]);
    let peaks = together.variants.iter().map(|variant| {
        let figures = variant.cells[0].figures.as_ref().unwrap();
        figures.memory.server_peak
    });
    assert_eq!(process.memory_peak, peaks.max().unwrap());
    // The memory and threads of a shared process belong to no single variant.
    let shares = |findings: &Findings, name: &str| {
        let cell = &findings.variant(name).unwrap().cells[0];
        cell.figures.as_ref().unwrap().shared_process
    };
    assert!(shares(&together, "rest") && shares(&apart, "grpc") && !shares(&apart, "rest"));
}

#[test]
fn a_verdict_without_an_a_a_pair_says_so() {
    let mut builder = two(2.0);
    builder.specs.truncate(2);
    builder.pairs.truncate(1);
    let findings = findings(&builder.build());
    let cautions = &findings.comparisons[0].placements[0].cautions;
    let kinds: Vec<CautionKind> = cautions.iter().map(|caution| caution.kind).collect();
    assert_eq!(kinds, [CautionKind::NoControl]);
}

#[test]
fn one_invocation_gives_no_interval_and_says_what_would() {
    let findings = findings(
        &Builder {
            invocations: 1,
            ..two(2.0)
        }
        .build(),
    );
    let verdict = &findings.comparisons[0].placements[0];
    assert_eq!(verdict.estimate.unwrap().interval, None);
    assert!(words::comparison(&findings.comparisons[0], 0.03).contains("more invocations"));
}

#[test]
fn a_verdict_that_flips_depends_on_placement() {
    let findings = quickstart::findings();
    let flips = findings
        .comparisons
        .iter()
        .find(|c| c.of == "unix-socket")
        .unwrap();
    assert_eq!(flips.combined, Combined::DependsOnPlacement);
    assert!(words::comparison(flips, 0.03).starts_with("Depends on placement. On two cores: "));
    let claim = findings
        .claims
        .iter()
        .find(|c| c.name == "unix-socket")
        .unwrap();
    assert!(claim.depends_on_placement);
    assert_eq!(claim.outcome, ClaimOutcome::NotResolved);
}

#[test]
fn a_claim_that_one_placement_leaves_open_says_where_it_is_resolved() {
    let mut sample = quickstart::quickstart().build();
    for trial in &mut sample.trials {
        // On one core only one invocation is measured, so there is no interval.
        if trial.trial.placement == Placement::OneCore && trial.trial.invocation > 0 {
            trial.outcome = TrialOutcome::Failed {
                reason: "it was in use".to_owned(),
                fault: rpcgauge_study::record::Fault::Machine,
                requests_sent: None,
                log: String::new(),
            };
        }
    }
    let findings = findings(&sample);
    let resolved = findings
        .claims
        .iter()
        .filter(|c| c.placements.len() > 1 && c.outcome != ClaimOutcome::NotResolved);
    let resolved: Vec<_> = resolved.collect();
    assert!(!resolved.is_empty());
    for claim in resolved {
        assert_eq!(claim.only_under, [Placement::TwoCores], "{}", claim.name);
        let said = words::claim(claim);
        let (said, _) = said.split_once(':').unwrap();
        assert!(said.ends_with(" on two cores only"), "{said}");
    }
    let page = crate::html::render(&findings);
    assert!(page.contains("reproduced on two cores only</em>"));
}

#[test]
fn only_the_stacks_that_a_claim_is_about_contradict_it() {
    use rpcgauge_study::settings::{Client, Style};
    let sample = two(2.0)
        .claim(
            "old",
            ("grpc", "rest"),
            Metric::LatencyP50,
            (2.0, 1.0, "ms"),
        )
        .build();
    let said = |server: &str, client: Option<&str>, about: &[&str]| {
        let mut sample = sample.clone();
        for variant in &mut sample.plan.variants {
            let call = call(variant);
            server.clone_into(&mut call.server);
            call.client = client.map(|stack| Client {
                stack: stack.to_owned(),
                style: Style::Blocking,
            });
        }
        sample.plan.claims[0].stacks = about.iter().map(|stack| (*stack).to_owned()).collect();
        words::claim(&findings(&sample).claims[0])
    };
    let go = "go/grpc-go";
    for (server, client, about, outcome) in [
        (go, Some(go), &[go][..], "Contradicted"),
        (go, Some(go), &[], "Not reproduced on go/grpc-go"),
        (
            go,
            Some("node/grpc-js"),
            &[go],
            "Not reproduced on go/grpc-go and node/grpc-js",
        ),
        (
            go,
            None,
            &[go],
            "Not reproduced on go/grpc-go and rpcgauge's own client",
        ),
        (
            "reference",
            None,
            &[go],
            "Not reproduced on rpcgauge's own client and server",
        ),
    ] {
        let said = said(server, client, about);
        let (said, _) = said.split_once(':').unwrap();
        assert_eq!(said, outcome);
    }
}

#[test]
fn a_variant_whose_calls_all_fail_has_no_verdict() {
    let mut builder = two(2.0);
    builder.specs[1].failing = Some((FailureKind::ConnectRefused, "connection refused", 1));
    let findings = findings(&builder.build());
    let reason = Withheld::NotMeasured;
    assert_eq!(
        outcome(&findings, 0),
        verdict::Outcome::NoVerdict { reason }
    );
    assert_eq!(findings.comparisons[0].placements[0].blocks.no_value, 12);
    let figures = findings.figures("rest", Placement::TwoCores).unwrap();
    assert!(figures.latency.is_none() && figures.goodput == 0.0);
}

/// The outcome and sentence for a metric if one in `every` calls of each variant fails (0: none). The second variant
/// is four times as slow.
fn failing(metric: Metric, every: [u64; 2]) -> (verdict::Outcome, String) {
    let mut builder = Builder {
        calls: 1_000,
        ..two(4.0)
    };
    builder.pairs[0].metric = metric;
    // The last variant is the control of the first.
    let every = [every[0], every[1], every[0]];
    for (spec, every) in builder.specs.iter_mut().zip(every) {
        spec.failing = (every > 0).then_some((FailureKind::HttpStatus(503), "status 503", every));
    }
    let findings = findings(&builder.build());
    (
        outcome(&findings, 0),
        words::comparison(&findings.comparisons[0], 0.03),
    )
}

#[test]
fn a_latency_that_unanswered_calls_could_have_changed_has_no_verdict() {
    let reason = Withheld::Unanswered;
    let withheld = verdict::Outcome::NoVerdict { reason };
    for (metric, every) in [
        (Metric::LatencyP50, [2, 0]),
        // The calls that failed may have been the faster variant's slowest.
        (Metric::LatencyP99, [50, 0]),
        (Metric::LatencyMean, [50, 0]),
        (Metric::RequestTime, [50, 0]),
    ] {
        let (outcome, said) = failing(metric, every);
        assert_eq!(outcome, withheld, "{metric:?} {every:?}: {said}");
        let expected = "of the calls of grpc and 0.0% of the calls of rest did not succeed: counting \
                    them could change the verdict";
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_cost_that_unanswered_calls_could_have_changed_has_no_verdict() {
    let reason = Withheld::Unanswered;
    let withheld = verdict::Outcome::NoVerdict { reason };
    for (metric, every) in [
        // The calls that succeeded may have used all the CPU time.
        (Metric::ServerCpu, [1, 0]),
        (Metric::ClientCpu, [1, 0]),
        (Metric::CallBytes, [2, 0]),
        (Metric::CallBytes, [0, 2]),
        (Metric::ResponseBytes, [2, 0]),
        // Had they succeeded, the slower variant would have more calls per second.
        (Metric::Goodput, [0, 2]),
    ] {
        let (outcome, said) = failing(metric, every);
        assert_eq!(outcome, withheld, "{metric:?} {every:?}: {said}");
    }
    // Failed calls of the faster variant can only make it faster, which does not change the verdict.
    let (outcome, said) = failing(Metric::Goodput, [2, 0]);
    assert_eq!(outcome, verdict::Outcome::Faster, "{said}");
}

#[test]
fn a_latency_that_unanswered_calls_cannot_have_changed_stands() {
    for (metric, every) in [
        (Metric::LatencyP50, [50, 0]),
        (Metric::LatencyP50, [0, 50]),
        // Had they succeeded, they could hardly make the slower variant faster.
        (Metric::LatencyP99, [0, 200]),
        (Metric::LatencyMean, [0, 50]),
    ] {
        let (outcome, said) = failing(metric, every);
        assert_eq!(
            outcome,
            verdict::Outcome::Faster,
            "{metric:?} {every:?}: {said}"
        );
        assert!(
            said.contains("did not succeed: counting them would not change the verdict"),
            "{said}"
        );
    }
    // Both variants have the same share.
    let (outcome, said) = failing(Metric::LatencyMean, [20, 20]);
    assert_eq!(outcome, verdict::Outcome::Faster);
    assert!(!said.contains("did not succeed"), "{said}");
}
