//! Tests of a figure's bases: the floor and the paired variant that both runs have.

use rpcgauge_study::plan::SharedProcesses;

use super::super::shared::Held;
use super::*;
use crate::fixture::Spec;
use crate::metric::depends_on_speed;

/// Multiplies most times of a run by `factor`, as if the machine were slower.
fn slow_down(sample: &mut crate::fixture::Sample, factor: f64) {
    let scaled = |histogram: &rpcgauge_study::record::Histogram| {
        let mut scaled = rpcgauge_study::histogram::Unpacked::new(3).unwrap();
        for step in histogram.unpack().counts().iter_recorded() {
            let ns = (step.value_iterated_to() as f64 * factor) as u64;
            scaled.record_n(ns, step.count_at_value()).unwrap();
        }
        rpcgauge_study::record::Histogram::from(scaled)
    };
    let times = |ns: &mut u64| *ns = (*ns as f64 * factor) as u64;
    for floor in &mut sample.floors {
        floor.latency = scaled(&floor.latency);
        floor.client_cpu_ns *= factor;
    }
    for trial in &mut sample.trials {
        if let TrialOutcome::Measured(measured) = &mut trial.outcome {
            measured.latency = scaled(&measured.latency);
            measured.stages.values_mut().for_each(|h| *h = scaled(h));
            times(&mut measured.elapsed_ns);
            if let Some(client) = &mut measured.cpu.client {
                times(&mut client.total_ns);
            }
            measured
                .cpu
                .server
                .iter_mut()
                .for_each(|cpu| times(&mut cpu.total_ns));
        }
    }
}

#[test]
fn another_speed_of_the_machine_changes_no_figure() {
    let later = crate::fixture::Builder {
        seed: 99,
        ..two(2.0)
    };
    let mut slow = later.build();
    slow_down(&mut slow, 1.5);
    let diff = compare(&findings(&two(2.0).build()), &findings(&slow));
    for name in ["grpc", "rest"] {
        let p50 = change(&diff, name, Metric::LatencyP50);
        assert!(p50.ratio > 1.4, "{p50:?}");
        assert!(
            p50.shifts.iter().all(|s| (s.ratio - 1.0).abs() < 0.05),
            "{p50:?}"
        );
    }
    let is_change = |m: &&MetricChange| matches!(m.outcome, Change::Better | Change::Worse);
    assert_eq!(diff.metrics.iter().filter(is_change).count(), 0);
    assert!(diff.judges_speed());
}

#[test]
fn a_figure_is_held_against_the_floor_and_the_variant_it_is_compared_with() {
    let (before, after) = days();
    let diff = compare(&before, &after);
    let bases = |variant: &str, metric| -> Vec<Base> {
        let shifts = change(&diff, variant, metric).shifts.iter();
        shifts.map(|shift| shift.base.clone()).collect()
    };
    let floor = |of: &str| Base::Floor { of: of.to_owned() };
    let variant = |name: &str| Base::Variant {
        name: name.to_owned(),
    };
    assert_eq!(
        bases("grpc", Metric::LatencyP50),
        [floor("grpc"), variant("rest")]
    );
    assert_eq!(
        bases("rest", Metric::ServerCpu),
        [floor("rest"), variant("grpc")]
    );
    assert_eq!(bases("grpc", Metric::CallBytes), [Base::Nothing]);
    // The control is not compared.
    assert!(diff.metrics.iter().all(|m| m.variant != "grpc-again"));
}

#[test]
fn only_the_variant_that_got_slower_is_said_to_be() {
    let before = findings(&two(2.0).build());
    // First the variant that others are compared with, then a variant that is compared with it.
    for (slow, name) in [(vec![1], "rest"), (vec![0, 2], "grpc")] {
        let mut later = two(2.0);
        later.seed = 99;
        slow.iter()
            .for_each(|spec| later.specs[*spec].latency_ns *= 1.5);
        let diff = compare(&before, &findings(&later.build()));
        let changed = |outcome| -> Vec<&str> {
            let changed = diff.metrics.iter().filter(|m| m.outcome == outcome);
            changed.map(|m| &*m.variant).collect()
        };
        let worse = changed(Change::Worse);
        assert!(
            !worse.is_empty() && worse.iter().all(|worse| *worse == name),
            "{worse:?}"
        );
        assert!(changed(Change::Better).is_empty());
        assert!(diff.slower().any(|m| m.metric == Metric::LatencyP50));
    }
    // If both are slower, the cause is the machine or something that they share.
    let mut later = two(2.0);
    later
        .specs
        .iter_mut()
        .for_each(|spec| spec.latency_ns *= 1.5);
    assert_eq!(
        compare(&before, &findings(&later.build())).slower().count(),
        0
    );
}

#[test]
fn without_what_both_runs_share_nothing_is_judged() {
    let alone = |change: fn(&mut crate::fixture::Sample)| {
        let mut sample = two(2.0).build();
        change(&mut sample);
        findings(&sample)
    };
    let runs = [
        alone(|sample| sample.floors.clear()),
        alone(|sample| sample.plan.pairs.clear()),
        alone(|sample| {
            let again = sample.plan.variants.iter_mut();
            again.for_each(|variant| variant.repeats = None);
        }),
        findings(&live()),
    ];
    for run in runs {
        let diff = compare(&run, &run);
        let of_speed = |m: &&MetricChange| depends_on_speed(m.metric);
        for m in diff.metrics.iter().filter(of_speed) {
            assert_eq!((m.outcome, m.shifts.len()), (Change::NoBase, 0), "{m:?}");
        }
        assert!(!diff.judges_speed());
        let text = shown(&diff);
        assert!(text.contains("(1.000) ?"), "{text}");
    }
    let live = findings(&live());
    let text = shown(&compare(&live, &live));
    assert!(
        text.contains("Nothing is judged: these runs share no floor"),
        "{text}"
    );
}

#[test]
fn a_variant_with_its_own_processes_is_held_against_an_a_a_pair_with_theirs() {
    let run = |with_own: bool| {
        let mut builder = two(2.0);
        if with_own {
            // It differs more, since it includes the variation between starts.
            let own = Spec {
                repeats: Some("grpc"),
                ..Spec::new("grpc-again-own", 120_000.0)
            };
            builder = builder.spec(own).a_a("grpc-again-own", "grpc");
        }
        let mut sample = builder.build();
        sample.plan.shared_processes = vec![SharedProcesses {
            variants: vec![0, 2],
            server: Some("reference".to_owned()),
            client: None,
        }];
        let names = [0, 2].map(|place: usize| &*sample.plan.variants[place].name);
        assert_eq!(names, ["grpc", "grpc-again"], "they share a process");
        findings(&sample)
    };
    let held = |run: &Findings, variant, metric| {
        let figure = Figure {
            variant,
            placement: Placement::TwoCores,
            metric,
        };
        let a_a = Held::new(figure, [run, run])?.a_a;
        Some(a_a.map(|estimate| (estimate.ratio() * 10.0).round() / 10.0))
    };
    let both = run(true);
    assert_eq!(held(&both, "rest", Metric::LatencyP50), Some([1.2, 1.2]));
    assert_eq!(held(&both, "grpc", Metric::LatencyP50), Some([1.2, 1.2]));
    let without = run(false);
    assert_eq!(held(&without, "rest", Metric::LatencyP50), None);
    assert_eq!(held(&without, "rest", Metric::CallBytes), None);
    assert_eq!(held(&without, "grpc", Metric::CallBytes), Some([1.0, 1.0]));
}
