//! Tests of a variant's figures.

use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::{FailureKind, Stage};

use super::*;
use crate::fixture::Spec;

#[test]
fn percentiles_come_from_the_merged_histogram() {
    // The halves differ, so the median of all is neither the median of a half nor the mean of both medians.
    let builder = Builder {
        invocations: 2,
        blocks: 1,
        noise: (0.4, 0.0),
        ..two(1.0)
    };
    let sample = builder.build();
    let findings = findings(&sample);
    let mut all = hdrhistogram::Histogram::<u64>::new(3).unwrap();
    for trial in sample.trials.iter().filter(|t| t.variant == "grpc") {
        let TrialOutcome::Measured(measured) = &trial.outcome else {
            panic!("it was measured")
        };
        all.add(measured.latency.unpack().counts()).unwrap();
    }
    let latency = findings.variant("grpc").unwrap().cells[0]
        .figures
        .as_ref()
        .unwrap();
    let latency = latency.latency.as_ref().unwrap();
    assert_eq!(latency.count, 400);
    assert_eq!(latency.p50_ns, all.value_at_quantile(0.5) as f64);
    assert_eq!(latency.p99_ns, Some(all.value_at_quantile(0.99) as f64));
    assert_eq!(latency.p999_ns, None, "400 calls have no 99.9th percentile");
    assert_eq!(latency.max_ns, all.max() as f64);
}

#[test]
fn stages_floor_and_share_belong_together() {
    let findings = findings(&two(2.0).build());
    let figures = findings.figures("grpc", Placement::TwoCores).unwrap();
    let call = figures.latency.as_ref().unwrap();
    let own: f64 = figures
        .stages
        .iter()
        .filter(|s| s.share < 0.99)
        .map(|s| s.mean_ns)
        .sum();
    assert!(own > call.mean_ns, "client stages and spans overlap");
    let between = figures.between_stages_ns.unwrap();
    assert!(between > 0.0 && between < 0.03 * call.mean_ns, "{between}");
    let floor = figures.floor.as_ref().unwrap();
    let share = floor.share.unwrap();
    let pooled = floor.round_trip_ns / call.p50_ns;
    assert!(
        (share / pooled - 1.0).abs() < 0.05,
        "{share} by blocks, {pooled} pooled"
    );
    let [low, high] = floor.share_interval.unwrap();
    assert!(
        low <= share && share <= high && high < 1.0,
        "{low} {share} {high}"
    );
    assert_eq!(floor.count, 200 * floor.blocks);
    assert!(floor.round_trip_ns <= floor.highest_round_trip_ns);
}

#[test]
fn a_stage_that_few_calls_had_is_a_small_part_of_the_mean_call() {
    let mut sample = two(2.0).build();
    let mut connect = rpcgauge_study::histogram::Unpacked::new(3).unwrap();
    connect.record(90_000).unwrap();
    let connect = rpcgauge_study::record::Histogram::from(connect);
    for trial in &mut sample.trials {
        if let TrialOutcome::Measured(measured) = &mut trial.outcome {
            measured.stages.insert(Stage::Connect, connect.clone());
        }
    }
    let findings = findings(&sample);
    let figures = findings.figures("grpc", Placement::TwoCores).unwrap();
    let call = figures.latency.as_ref().unwrap();
    let connect = figures.stages[0];
    assert_eq!(connect.stage, Stage::Connect);
    assert!(connect.mean_ns > 0.8 * call.mean_ns, "{connect:?}");
    // One of each trial's 200 calls had this stage.
    assert!((connect.per_call_ns - connect.mean_ns / 200.0).abs() < 1e-6);
    assert!((connect.share - connect.per_call_ns / call.mean_ns).abs() < 1e-12);
    let of_client = |s: &&StageFindings| Stage::CLIENT.contains(&s.stage);
    let staged = figures.stages.iter().filter(of_client);
    let whole: f64 = staged.map(|s| s.per_call_ns).sum();
    let between = figures.between_stages_ns.unwrap();
    assert!(between > 0.0 && (whole + between - call.mean_ns).abs() < 1e-6);
}

/// If the machine slows down, the floor and the call of a block take longer, but their ratio stays the same.
#[test]
fn the_kernels_share_is_of_floors_and_calls_in_the_same_block() {
    let mut sample = two(2.0).build();
    let one = |ns: u64| {
        let mut latency = rpcgauge_study::histogram::Unpacked::new(3).unwrap();
        latency.record_n(ns, 5).unwrap();
        rpcgauge_study::record::Histogram::from(latency)
    };
    let speed = |invocation: u32, block: u32| 1 + u64::from(invocation + 3 * block);
    for floor in &mut sample.floors {
        floor.latency = one(10_000 * speed(floor.invocation, floor.block));
    }
    for trial in &mut sample.trials {
        let speed = speed(trial.trial.invocation, trial.trial.block);
        if let TrialOutcome::Measured(measured) = &mut trial.outcome {
            measured.latency = one(40_000 * speed);
        }
    }
    let findings = findings(&sample);
    let figures = findings.figures("grpc", Placement::TwoCores).unwrap();
    let floor = figures.floor.as_ref().unwrap();
    assert!((floor.share.unwrap() - 0.25).abs() < 0.001, "{floor:?}");
    let [low, high] = floor.share_interval.unwrap();
    assert!(high - low < 0.002, "{floor:?}");
    assert!(floor.highest_round_trip_ns >= 2.0 * floor.lowest_round_trip_ns);
    // If the bare loops take longer than the calls, there is no share.
    let usual = sample.floors.clone();
    for floor in &mut sample.floors {
        floor.latency = one(60_000 * speed(floor.invocation, floor.block));
    }
    let findings = self::findings(&sample);
    let figures = findings.figures("grpc", Placement::TwoCores).unwrap();
    let floor = figures.floor.as_ref().unwrap();
    assert_eq!((floor.share, floor.share_interval), (None, None));
    sample.floors = usual;
    // A floor is only used for its own variants.
    for floor in &mut sample.floors {
        floor.variants.retain(|name| name == "grpc");
    }
    let findings = self::findings(&sample);
    let other = findings.figures("rest", Placement::TwoCores);
    assert!(other.is_none_or(|figures| figures.floor.is_none()));
}

#[test]
fn calls_under_load_have_no_kernel_share() {
    let builder = two(1.0).spec(Spec {
        in_flight: 32,
        ..Spec::new("load", 400_000.0)
    });
    let findings = findings(&builder.build());
    let floor = findings
        .figures("load", Placement::TwoCores)
        .unwrap()
        .floor
        .as_ref()
        .unwrap();
    assert_eq!((floor.share, floor.share_interval), (None, None));
}

#[test]
fn the_bytes_of_a_call_are_the_same_with_marks_and_without() {
    let builder = two(1.0)
        .spec(Spec {
            in_flight: 32,
            ..Spec::new("load", 400_000.0)
        })
        .spec(Spec::new("stages", 400_000.0))
        .pair("More bytes?", "stages", "load", Metric::CallBytes);
    let findings = findings(&builder.build());
    let bytes = |name| findings.figures(name, Placement::TwoCores).unwrap().bytes;
    let (load, stages) = (bytes("load"), bytes("stages"));
    assert_eq!(
        (load.unwrap().received.marks, stages.unwrap().received.marks),
        (0.0, 76.0)
    );
    assert_eq!(load.unwrap().total(), stages.unwrap().total());
    let estimate = findings.comparisons[2].placements[0].estimate.unwrap();
    assert_eq!(estimate.interval, Some([1.0, 1.0]));
}

#[test]
fn a_trial_without_an_answer_knows_no_size_of_one() {
    let mut sample = two(2.0).build();
    let silence = |trial: &mut rpcgauge_study::record::TrialRecord| {
        if let TrialOutcome::Measured(measured) = &mut trial.outcome {
            measured.calls.answered = 0;
            measured.calls.failed = [(FailureKind::ConnectRefused, 200)].into();
            measured.payload.request = Some(0.0);
            measured.payload.response_compressed = Some(0.0);
        }
    };
    let of_grpc = |sample: &mut Sample, count: usize| {
        let trials = sample.trials.iter_mut().filter(|t| t.variant == "grpc");
        trials.take(count).for_each(silence);
    };
    of_grpc(&mut sample, 6);
    let some = findings(&sample);
    let figures = some.figures("grpc", Placement::TwoCores).unwrap();
    assert_eq!(figures.payload.request, Some(12.0));
    assert_eq!(figures.payload.response_compressed, Some(24.0));
    assert_eq!(
        crate::metric::of_cell(Metric::ResponseBytes, figures),
        Some(24.0)
    );
    of_grpc(&mut sample, 12);
    let none = findings(&sample);
    let figures = none.figures("grpc", Placement::TwoCores).unwrap();
    assert_eq!(
        (figures.payload.request, figures.payload.response),
        (Some(0.0), None)
    );
    assert_eq!(crate::metric::of_cell(Metric::ResponseBytes, figures), None);
}

/// The findings of a pair, with the server's CPU time split into user and system in the trials that `is_split`
/// selects.
fn with_server_split(is_split: impl Fn(usize) -> bool) -> Findings {
    let mut sample = two(2.0).build();
    for (index, trial) in sample.trials.iter_mut().enumerate() {
        let TrialOutcome::Measured(measured) = &mut trial.outcome else {
            continue;
        };
        if let Some(server) = measured.cpu.server.as_mut().filter(|_| !is_split(index)) {
            (server.user_ns, server.system_ns) = (None, None);
        }
    }
    findings(&sample)
}

#[test]
fn user_and_system_time_that_are_not_is_split_apart_are_neither() {
    let server = |is_split: fn(usize) -> bool| {
        let findings = with_server_split(is_split);
        let figures = findings.figures("grpc", Placement::TwoCores).unwrap();
        figures.cpu.server.unwrap()
    };
    let all = server(|_| true);
    assert_eq!(all.unsplit_ns, None);
    let none = server(|_| false);
    assert_eq!((none.user_ns, none.system_ns), (None, None));
    assert_eq!(none.unsplit_ns, Some(none.total_ns));
    let some = server(|index| index % 2 == 0);
    let parts = [some.user_ns, some.system_ns, some.unsplit_ns].map(Option::unwrap);
    assert!(parts.iter().all(|ns| *ns > 0.0), "{some:?}");
    assert!(
        (parts.iter().sum::<f64>() - some.total_ns).abs() < 1e-6,
        "{some:?}"
    );
}
