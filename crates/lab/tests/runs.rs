//! Small plans, carried out as a study's would be.

mod common;

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use common::{failed, measured, options, plan, rest_json, run, run_until, settings, shell};
use rpcgauge_lab::machine::cores;
use rpcgauge_lab::machine::idle::IdleHold;
use rpcgauge_lab::{Ending, Event, Lab};
use rpcgauge_message::{Compression, Encoding, WorkloadSpec};
use rpcgauge_study::record::{Code, Fault, Stage};
use rpcgauge_study::run::{NewRun, Run, RunWriter};
use rpcgauge_study::settings::{
    Arrivals, ConnectionUse, HttpVersion, Idle, Placement, Protocol, Schedule, Settings, Stop,
    Transport,
};

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
        (Ending::Complete, 8, 0)
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
        assert_eq!(figures.latency.0.len(), calls.answered);
        assert_eq!(figures.stages[&Stage::Wait].0.len(), calls.answered);
        assert_eq!(figures.stages[&Stage::RequestTime].0.len(), calls.answered);
        assert!(figures.timeline.slices.len() >= 100);
        let in_slices: u64 = figures
            .timeline
            .slices
            .iter()
            .map(|slice| slice.answered)
            .sum();
        assert_eq!(in_slices, calls.answered);
        assert!(figures.bytes.sent.total() > 0 && figures.bytes.received.bodies > 0);
        assert!(figures.cpu.client.total_ns > 0 && figures.cpu.server.total_ns > 0);
        assert!(
            figures.cpu.server.total_ns < figures.elapsed_ns * 2,
            "the warm-up is not in it"
        );
        assert!(figures.memory.client_peak > 0 && figures.memory.server_peak > 0);
        assert!(figures.client_share > 0.0 && figures.client_share <= 1.0);
        assert_eq!(figures.code, Code::Generated);
        assert!(figures.warmup.calls > 0);
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
        assert_eq!(stands_under.len(), 2, "{stands_under:?}");
    }
}

#[test]
fn every_way_to_call_is_proved_right_and_measured() {
    let gzip = Compression::Gzip { level: 6 };
    let unix = Settings {
        transport: Transport::Unix,
        ..settings()
    };
    let compressed = Settings {
        request_compression: gzip,
        response_compression: gzip,
        ..settings()
    };
    let rest_compressed = Settings {
        response_compression: gzip,
        ..rest_json()
    };
    let rest2 = Settings {
        http: HttpVersion::Http2,
        encoding: Encoding::Cbor,
        ..rest_json()
    };
    let hybrid = Settings {
        encoding: Encoding::Hybrid,
        ..settings()
    };
    let proto_names = Settings {
        encoding: Encoding::JsonProtoNames,
        ..rest_json()
    };
    let msgpack = Settings {
        encoding: Encoding::Msgpack,
        ..rest_json()
    };
    let per_call = Settings {
        connection: ConnectionUse::PerCall,
        ..settings()
    };
    let hello = Settings {
        workload: WorkloadSpec::Hello,
        ..settings()
    };
    let load = Settings {
        workload: WorkloadSpec::Hello,
        connections: 2,
        schedule: Schedule::Closed { in_flight: 8 },
        ..settings()
    };
    let rate = Settings {
        schedule: Schedule::Rate {
            per_second: 500.0,
            arrivals: Arrivals::Poisson,
        },
        response_compression: gzip,
        ..settings()
    };
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
    assert_eq!(figures("per-call").connections_opened, 50);
    assert_eq!(figures("unix").payload.response, rate.payload.response);
}

#[test]
fn a_failing_subject_fails_its_trials_and_the_rest_goes_on() {
    let other = Settings {
        subject: "other".to_owned(),
        ..settings()
    };
    // An address that nobody listens on: it was free a moment ago.
    let nobody = TcpListener::bind("127.0.0.1:0")
        .and_then(|free| free.local_addr())
        .unwrap();
    let cases = [
        (
            "echo 'no library' >&2; exit 4",
            "exit code 4",
            Fault::Subject,
            "no library",
        ),
        ("echo hello", "it wrote: hello", Fault::Subject, ""),
        (
            r#"echo '{"contract":1,"error":"no zstd here","fault":"user"}'"#,
            "the subject refused: no zstd here",
            Fault::User,
            "",
        ),
        (
            r#"echo '{"contract":1,"ready":true,"address":"unix:/x"}'; read a; read b"#,
            "was to listen on TCP and says unix:/x",
            Fault::Subject,
            "",
        ),
        (
            &format!(
                r#"echo '{{"contract":1,"ready":true,"address":"{nobody}"}}'; read a; read b"#
            ),
            "connect-refused",
            Fault::Subject,
            "",
        ),
    ];
    for (script, told, fault, log) in cases {
        let plan = plan(vec![("bad", other.clone()), ("good", settings())], 1, 2);
        let left = run(&plan, Some(shell(script)));
        assert_eq!(
            (left.summary.measured, left.summary.failed),
            (2, 2),
            "{script}"
        );
        let (reason, blamed, kept) = failed(&left.trials[0]);
        assert!(reason.contains(told), "{script}: {reason}");
        assert_eq!((blamed, kept), (fault, log), "{script}");
        // What cannot start is not started again for every trial.
        assert_eq!(
            left.events
                .iter()
                .filter(|event| *event == "start bad")
                .count(),
            1
        );
    }
}

#[test]
fn a_wrong_answer_is_named_by_its_path_and_never_timed() {
    let other = Settings {
        subject: "other".to_owned(),
        workload: WorkloadSpec::Followers { n: 3 },
        ..settings()
    };
    let short = shell("read line; (echo \"$line\" | sed 's/\"n\":3/\"n\":2/'; cat) | \"$SUBJECT\"");
    let left = run(&plan(vec![("short", other)], 1, 2), Some(short));
    assert_eq!(left.summary.failed, 2);
    let (reason, fault, _) = failed(&left.trials[0]);
    assert!(reason.contains("wrong at $.userId"), "{reason}");
    assert_eq!(fault, Fault::Subject);
}

#[test]
fn a_server_that_does_not_compress_is_not_measured_as_if_it_did() {
    let gzip = Settings {
        subject: "other".to_owned(),
        response_compression: Compression::Gzip { level: 6 },
        ..settings()
    };
    let plain = shell(
        "read line; (echo \"$line\" | sed 's/,\"response_compression\":\"gzip\"//'; cat) | \
         \"$SUBJECT\"",
    );
    let left = run(&plan(vec![("gzip", gzip)], 1, 1), Some(plain));
    let (reason, fault, _) = failed(&left.trials[0]);
    assert!(
        reason.contains("without compression although gzip was asked for"),
        "{reason}"
    );
    assert_eq!(fault, Fault::Subject);
}

#[test]
fn a_subject_that_dies_is_started_again_for_its_next_trial() {
    let folder = tempfile::tempdir().unwrap();
    let dies_once = shell(&format!(
        "cd '{}'; if [ -e died ]; then exec \"$SUBJECT\"; fi; touch died; exec 3<&0; \
         \"$SUBJECT\" <&3 & sleep 0.7; echo 'out of memory' >&2; kill -9 $!; exit 9",
        folder.path().display()
    ));
    let long = Settings {
        subject: "other".to_owned(),
        stop: Stop {
            calls: None,
            time_ms: Some(1_500),
        },
        ..settings()
    };
    let left = run(&plan(vec![("dies", long)], 1, 2), Some(dies_once));
    let (reason, fault, log) = failed(&left.trials[0]);
    assert!(
        reason.contains("ended while it was measured (exit code 9)"),
        "{reason}"
    );
    assert_eq!(fault, Fault::Subject);
    assert!(log.contains("out of memory"), "{log}");
    assert!(measured(&left.trials[1]).calls.answered > 0);
    assert_eq!(
        left.events
            .iter()
            .filter(|event| *event == "start dies")
            .count(),
        2
    );
    assert!(left.logs.path().join("logs/0-dies-free-0.log").exists());
}

#[test]
fn one_that_dies_again_and_again_is_given_up() {
    let dies = shell("exec 3<&0; \"$SUBJECT\" <&3 & sleep 0.3; kill -9 $!; exit 9");
    let long = Settings {
        subject: "other".to_owned(),
        stop: Stop {
            calls: None,
            time_ms: Some(600),
        },
        ..settings()
    };
    let left = run(&plan(vec![("dies", long)], 1, 5), Some(dies));
    assert_eq!(left.summary.failed, 5);
    assert_eq!(
        left.events
            .iter()
            .filter(|event| *event == "start dies")
            .count(),
        3
    );
    let (reason, ..) = failed(&left.trials[4]);
    assert!(reason.contains("died 3 times"), "{reason}");
}

#[test]
fn an_unknown_subject_is_told_with_the_known_ones() {
    let unknown = Settings {
        subject: "go".to_owned(),
        ..settings()
    };
    let left = run(&plan(vec![("go", unknown)], 1, 1), None);
    let (reason, fault, _) = failed(&left.trials[0]);
    assert_eq!(reason, "there is no subject \"go\"; there is reference");
    assert_eq!(fault, Fault::User);
}

#[test]
fn a_plan_that_does_not_hold_together_runs_nothing() {
    let mut plan = plan(vec![("grpc", settings())], 1, 1);
    plan.trials[0].variant = 9;
    let folder = tempfile::tempdir().unwrap();
    let lab = Lab::new(options(None, &folder));
    let stop = AtomicBool::new(false);
    let error = lab
        .run(&plan, &plan.trials, &mut Vec::new(), &mut (), &stop)
        .unwrap_err();
    assert!(error.to_string().contains("variant 9"), "{error}");
}

#[test]
fn a_stop_gives_up_the_trial_that_runs_and_keeps_the_others() {
    let long = Settings {
        stop: Stop {
            calls: None,
            time_ms: Some(60_000),
        },
        ..settings()
    };
    let plan = plan(vec![("short", settings()), ("long", long)], 1, 2);
    // The flag is set while the second trial is measured.
    let left = run_until(&plan, None, |event, stop| {
        if let Event::TrialStarted { trial, .. } = event
            && trial.index == 1
        {
            stop.store(true, Ordering::Relaxed);
        }
    });
    assert_eq!(left.summary.ending, Ending::Stopped);
    assert_eq!(left.trials.len(), 1);
    assert_eq!(measured(&left.trials[0]).calls.answered, 50);
    assert!(left.floors.is_empty());
}

#[test]
fn what_is_recorded_is_not_run_again() {
    let plan = plan(vec![("a", settings()), ("b", settings())], 2, 1);
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let created_at = SystemTime::now();
    let new = NewRun {
        rpcgauge: "test",
        created_at,
        study: None,
        plan: &plan,
    };
    let lab = Lab::new(options(None, &folder));

    let mut writer = RunWriter::create(&directory, &new).unwrap();
    let stop = AtomicBool::new(false);
    let mut observer = |event: &Event<'_>| {
        let is_third = matches!(event, Event::TrialStarted { trial, .. } if trial.index == 2);
        stop.fetch_or(is_third, Ordering::Relaxed);
    };
    let summary = lab
        .run(&plan, &plan.trials, &mut writer, &mut observer, &stop)
        .unwrap();
    assert_eq!((summary.ending, summary.measured), (Ending::Stopped, 2));
    drop(writer);

    let mut resumed = RunWriter::resume(&directory, Some(&plan)).unwrap();
    let mut seen = Vec::new();
    let mut observer = |event: &Event<'_>| {
        if let Event::TrialStarted {
            trial, progress, ..
        } = event
        {
            seen.push((trial.index, progress.done, progress.total));
        }
    };
    let stop = AtomicBool::new(false);
    let summary = lab
        .run(
            &plan,
            &resumed.missing,
            &mut resumed.writer,
            &mut observer,
            &stop,
        )
        .unwrap();
    assert_eq!((summary.ending, summary.measured), (Ending::Complete, 2));
    assert_eq!(seen, [(2, 2, 4), (3, 3, 4)]);
    assert!(Run::read(&directory).unwrap().missing().is_empty());
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
    // A process for each placement: what a runtime decides at its start is right for its trials.
    assert_eq!(
        left.events
            .iter()
            .filter(|event| *event == "start grpc")
            .count(),
        3
    );
    let floors = left.floors.len() + left.summary.failed;
    assert_eq!(floors, 3, "one floor for each placement that was measured");
    assert!(left.floors.iter().all(|floor| floor.idle == held));
}

#[test]
fn a_floor_is_below_the_variants_that_stand_on_it() {
    let unix = Settings {
        transport: Transport::Unix,
        ..settings()
    };
    let rest = Settings {
        protocol: Protocol::Rest,
        encoding: Encoding::Protobuf,
        ..settings()
    };
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
        assert!(floor.latency.0.len() >= 50, "{}", floor.latency.0.len());
        assert!(floor.client_cpu_ns > 0.0);
        for name in &floor.variants {
            let trial = left
                .trials
                .iter()
                .find(|trial| trial.variant == *name)
                .unwrap();
            let figures = measured(trial);
            let sent = figures.bytes.sent.total() as f64 / figures.calls.started as f64;
            assert!((sent - floor.request_bytes as f64).abs() <= 513.0 + 0.05 * sent);
        }
    }
}
