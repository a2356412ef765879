//! Tests that run small plans the way studies do.

mod callers;
mod common;
mod events;
mod failures;
mod marks;
mod shared;
mod stopping;
mod training;

use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use common::{failed, measured, options, plan, rest_json, run, settings, with};
use rpcgauge_lab::machine::cores;
use rpcgauge_lab::machine::idle::IdleHold;
use rpcgauge_lab::{Lab, RunEnding};
use rpcgauge_message::{Compression, Encoding, WorkloadSpec};
use rpcgauge_study::record::CodeKind;
use rpcgauge_study::run::{NewRun, Run, RunWriter};
use rpcgauge_study::settings::{ConnectionUse, HttpVersion, Idle, Placement, Transport, Wire};
use rpcgauge_trial::{Arrivals, Schedule, Stage};

#[test]
fn a_small_plan_runs_to_a_run_directory_whose_sums_hold() {
    let plan = plan(vec![("rest-json", rest_json()), ("grpc", settings())], 2, 2);
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let created_at = SystemTime::now();
    let new = NewRun {
        rpcgauge: "test",
        created_at,
        study: None,
        plan: &plan,
    };
    let mut writer = RunWriter::create(&directory, &new).unwrap();
    let lab = Lab::new(options(None, &folder));
    let stop = AtomicBool::new(false);
    let summary = lab
        .run(&plan, &plan.trials, &mut writer, &mut (), &stop)
        .unwrap();
    drop(writer);
    assert_eq!(
        (summary.ending, summary.measured, summary.failed),
        (RunEnding::Complete, 8, 0)
    );

    let run = Run::read(&directory).unwrap();
    assert!(run.missing().is_empty() && run.warnings.is_empty());
    let order: Vec<u32> = run.trials.iter().map(|trial| trial.trial.index).collect();
    assert_eq!(order, (0..8).collect::<Vec<_>>());
    for trial in &run.trials {
        let figures = measured(trial);
        let calls = &figures.calls;
        assert_eq!(calls.started, 50);
        assert_eq!(
            calls.started,
            calls.answered + calls.failed_total() + calls.abandoned
        );
        assert_eq!(figures.latency.unpack().len(), calls.answered);
        assert_eq!(figures.stages[&Stage::Wait].unpack().len(), calls.answered);
        assert_eq!(
            figures.stages[&Stage::RequestTime].unpack().len(),
            calls.answered
        );
        assert!(figures.timeline.slices.len() >= 100);
        let in_slices: u64 = figures
            .timeline
            .slices
            .iter()
            .map(|slice| slice.answered)
            .sum();
        assert_eq!(in_slices, calls.answered);
        assert!(
            figures.bytes.unwrap().sent.total() > 0 && figures.bytes.unwrap().received.bodies > 0
        );
        let server = figures.cpu.server.unwrap();
        assert!(figures.cpu.client.unwrap().total_ns > 0 && server.total_ns > 0);
        assert!(
            server.total_ns < figures.elapsed_ns * 2,
            "the warm-up is not included"
        );
        assert!(figures.memory.client_peak > 0 && figures.memory.server_peak > Some(0));
        assert_eq!(
            figures.startup.client_ns, None,
            "the engine makes the calls"
        );
        assert!(figures.startup.server_ns > Some(0));
        assert!(figures.client_share > Some(0.0) && figures.client_share <= Some(1.0));
        assert_eq!(figures.code, Some(CodeKind::Generated));
        assert!(figures.warmup.calls > 0);
        assert_eq!(figures.warmup.failed, 0);
        assert_eq!(figures.connections_at_start, Some(1));
        assert_eq!(figures.most_in_flight, Some(1));
        let problems = [
            figures.connects_failed,
            figures.uncompressed_responses,
            figures.errors_without_sample,
            calls.never_begun,
            calls.retried,
            figures.bodies_late,
        ];
        assert_eq!(problems, [0; 6]);
    }
    let environment = run.environment.unwrap();
    assert!(environment.subjects["reference"].contains_key("hyper"));
    let floors_of = |invocation| {
        run.floors
            .iter()
            .filter(move |f| f.invocation == invocation)
    };
    for invocation in 0..2 {
        let stands_under: Vec<&String> = floors_of(invocation).flat_map(|f| &f.variants).collect();
        assert_eq!(stands_under.len(), 4, "in both blocks: {stands_under:?}");
    }
}

#[test]
fn every_way_to_call_is_proved_right_and_measured() {
    let gzip = Compression::Gzip { level: 6 };
    let rest = |http, encoding| Wire::Rest { http, encoding };
    let rest1 = |encoding| with(|call| call.wire = rest(HttpVersion::Http1, encoding));
    let unix = with(|call| call.transport = Transport::Unix);
    let compressed = with(|call| {
        call.options.request_compression = gzip;
        call.options.response_compression = gzip;
    });
    let rest_compressed = with(|call| {
        call.wire = rest(HttpVersion::Http1, Encoding::Json);
        call.options.response_compression = gzip;
    });
    let rest2 = with(|call| call.wire = rest(HttpVersion::Http2, Encoding::Cbor));
    let hybrid = with(|call| {
        call.wire = Wire::Grpc {
            encoding: Encoding::Hybrid,
        };
    });
    let proto_names = rest1(Encoding::JsonProtoNames);
    let msgpack = rest1(Encoding::Msgpack);
    let per_call = with(|call| call.options.connection = ConnectionUse::PerCall);
    let hello = with(|call| call.workload = WorkloadSpec::Hello {});
    let load = with(|call| {
        call.workload = WorkloadSpec::Hello {};
        call.options.connections = 2;
        call.options.schedule = Schedule::Closed { in_flight: 8 };
    });
    let rate = with(|call| {
        call.options.schedule = Schedule::Rate {
            per_second: 500.0,
            arrivals: Arrivals::Poisson,
        };
        call.options.response_compression = gzip;
    });
    let plan = plan(
        vec![
            ("unix", unix),
            ("gzip", compressed),
            ("rest-gzip", rest_compressed),
            ("rest-h2-cbor", rest2),
            ("hybrid", hybrid),
            ("proto-names", proto_names),
            ("msgpack", msgpack),
            ("per-call", per_call),
            ("hello", hello),
            ("load", load),
            ("rate", rate),
        ],
        1,
        1,
    );
    let left = run(&plan, None);
    assert_eq!(left.summary.measured, plan.variants.len());
    let figures = |name: &str| {
        measured(
            left.trials
                .iter()
                .find(|trial| trial.variant == name)
                .unwrap(),
        )
        .clone()
    };
    for trial in &left.trials {
        assert_eq!(measured(trial).calls.answered, 50, "{}", trial.variant);
    }
    let gzip = figures("gzip").payload;
    assert!(gzip.response_compressed < gzip.response, "{gzip:?}");
    let rate = figures("rate");
    assert!(
        rate.payload.response > rate.payload.response_compressed,
        "{:?}",
        rate.payload
    );
    assert!(rate.stages.is_empty());
    assert_eq!(figures("per-call").connections_opened, Some(50));
    assert_eq!(figures("unix").payload.response, rate.payload.response);
}

#[test]
fn placements_are_what_the_trial_says() {
    let mut plan = plan(vec![("grpc", settings())], 1, 3);
    plan.idle = Idle::Held;
    let held = IdleHold::ask(Idle::Held).got();
    let wanted = [Placement::OneCore, Placement::TwoCores, Placement::Free];
    for (trial, placement) in plan.trials.iter_mut().zip(wanted) {
        trial.placement = placement;
    }
    let left = run(&plan, None);
    let has_two = cores::allowed().unwrap().len() > 1;
    for (trial, placement) in left.trials.iter().zip(wanted) {
        assert_eq!(trial.trial.placement, placement);
        if placement == Placement::TwoCores && !has_two {
            assert!(failed(trial).0.contains("needs two cores"));
        } else {
            assert_eq!(measured(trial).calls.answered, 50);
            assert_eq!(trial.idle, held);
        }
    }
    // A process for each placement, so that what a runtime decides at startup fits its trials.
    assert_eq!(
        left.events
            .iter()
            .filter(|event| *event == "start grpc")
            .count(),
        3
    );
    let floors = left.floors.len() + left.summary.failed;
    assert_eq!(floors, 3, "one floor for each measured placement");
    assert!(left.floors.iter().all(|floor| floor.idle == held));
}

#[test]
fn a_floor_is_below_the_variants_that_stand_on_it() {
    let unix = with(|call| call.transport = Transport::Unix);
    let rest = with(|call| {
        call.wire = Wire::Rest {
            http: HttpVersion::Http2,
            encoding: Encoding::Protobuf,
        };
    });
    let left = run(
        &plan(
            vec![("grpc", settings()), ("rest", rest), ("unix", unix)],
            1,
            1,
        ),
        None,
    );
    let transports: Vec<Transport> = left.floors.iter().map(|floor| floor.transport).collect();
    assert!(transports.contains(&Transport::Tcp) && transports.contains(&Transport::Unix));
    for floor in &left.floors {
        assert!(
            floor.latency.unpack().len() >= 50,
            "{}",
            floor.latency.unpack().len()
        );
        assert!(floor.client_cpu_ns > 0.0);
        for name in &floor.variants {
            let trial = left
                .trials
                .iter()
                .find(|trial| trial.variant == *name)
                .unwrap();
            let figures = measured(trial);
            let sent =
                figures.bytes.unwrap().sent.total() as f64 / figures.calls_of_sent_bytes() as f64;
            assert!((sent - floor.request_bytes as f64).abs() <= 513.0 + 0.05 * sent);
        }
    }
}
