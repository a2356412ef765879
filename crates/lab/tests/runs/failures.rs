//! Tests of subjects that fail, and of what is recorded about the failure.

use std::net::TcpListener;
use std::sync::atomic::AtomicBool;

use rpcgauge_lab::{Lab, SubjectCommand};
use rpcgauge_message::{Compression, WorkloadSpec};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{Protocol, Settings, Wire};
use rpcgauge_trial::{Arrivals, Schedule, Stop};

use crate::common::{
    failed, measured, options, plan, run, settings, settings_of, shell, subject, with,
};

#[test]
fn a_failing_subject_fails_its_trials_and_the_rest_goes_on() {
    let other = settings_of("other");
    // An address at which no process listens: it was free a moment ago.
    let closed = TcpListener::bind("127.0.0.1:0")
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
            "the subject reported an error: no zstd here",
            Fault::User,
            "",
        ),
        (
            r#"echo '{"contract":1,"ready":true,"address":"unix:/x"}'; read a; read b"#,
            "was told to listen on TCP at 127.0.0.1, but it reported unix:/x",
            Fault::Subject,
            "",
        ),
        (
            r#"echo '{"contract":1,"ready":true,"address":"192.0.2.1:80"}'; read a; read b"#,
            "was told to listen on TCP at 127.0.0.1, but it reported 192.0.2.1:80",
            Fault::Subject,
            "",
        ),
        (
            &format!(
                r#"echo '{{"contract":1,"ready":true,"address":"{closed}"}}'; read a; read b"#
            ),
            "connect-refused",
            Fault::Subject,
            "",
        ),
    ];
    for (script, text, fault, log) in cases {
        let plan = plan(vec![("bad", other.clone()), ("good", settings())], 1, 2);
        let left = run(&plan, Some(shell(script)));
        assert_eq!(
            (left.summary.measured, left.summary.failed),
            (2, 2),
            "{script}"
        );
        let (reason, blamed, kept) = failed(&left.trials[0]);
        assert!(reason.contains(text), "{script}: {reason}");
        assert_eq!((blamed, kept), (fault, log), "{script}");
        // A subject that cannot start is not started again for every trial.
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
    let followers = WorkloadSpec::Followers { n: 3 };
    let echo = WorkloadSpec::Echo { n: 1 };
    // In the second case, the response is the expected message in another form.
    for (protocol, workload, change, text) in [
        (
            Protocol::Grpc,
            followers,
            r#"s/"n":3/"n":2/"#,
            "wrong at $.userId",
        ),
        (
            Protocol::Rest,
            echo,
            r#"s/"encoding":"json"/"encoding":"protojson"/"#,
            "$.longData: as json, expected a number, got text",
        ),
    ] {
        let other = with(|call| {
            "other".clone_into(&mut call.server);
            call.workload = workload;
            call.wire = Wire::default_for(protocol);
        });
        let script = "read line; (echo \"$line\" | sed 'CHANGE'; cat) | \"$SUBJECT\"";
        let changed = shell(&script.replace("CHANGE", change));
        let left = run(&plan(vec![("wrong", other)], 1, 2), Some(changed));
        assert_eq!(left.summary.failed, 2);
        let (reason, fault, _) = failed(&left.trials[0]);
        assert!(reason.contains(text), "{reason}");
        assert_eq!(fault, Fault::Subject);
    }
}

#[test]
fn a_server_that_turns_wrong_while_it_is_measured_fails_its_trial() {
    const RIGHT_FOR: u64 = 90;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/turning.py");
    let closed = |in_flight| Schedule::Closed { in_flight };
    let at_a_rate = Schedule::Rate {
        per_second: 200.0,
        arrivals: Arrivals::Constant,
    };
    for schedule in [closed(1), closed(4), at_a_rate] {
        let mut turning = with(|call| {
            "other".clone_into(&mut call.server);
            call.workload = WorkloadSpec::Followers { n: 3 };
            call.wire = Wire::default_for(Protocol::Rest);
            call.options.connections = schedule.in_flight().unwrap_or(4);
            call.options.schedule = schedule.clone();
        });
        turning.stop = Stop {
            calls: Some(150),
            time_ms: None,
        };
        let right_for = RIGHT_FOR.to_string();
        let reference = subject();
        let command = [script, &right_for, reference.to_str().unwrap()];
        let server = SubjectCommand::new("python3", command);
        let left = run(&plan(vec![("turning", turning)], 1, 1), Some(server));
        let (reason, fault, _) = failed(&left.trials[0]);
        let call = reason.strip_prefix("the response to call ");
        let call = call.and_then(|rest| rest.split_once(" is wrong: $.userId"));
        let call = call.unwrap_or_else(|| panic!("{schedule:?}: {reason}")).0;
        // The number does not include the calls before the trial.
        let call: u64 = call.parse().unwrap();
        assert!(
            (RIGHT_FOR / 2..300).contains(&call),
            "{schedule:?}: {reason}"
        );
        assert_eq!(fault, Fault::Subject, "{schedule:?}");
    }
}

#[test]
fn a_server_that_does_not_compress_is_not_measured_as_if_it_did() {
    let gzip = with(|call| {
        "other".clone_into(&mut call.server);
        call.options.response_compression = Compression::Gzip { level: 6 };
    });
    let plain = shell(
        "read line; (echo \"$line\" | sed 's/,\"response_compression\":\"gzip\"//'; cat) | \
         \"$SUBJECT\"",
    );
    let left = run(&plan(vec![("gzip", gzip)], 1, 1), Some(plain));
    let (reason, fault, _) = failed(&left.trials[0]);
    assert!(
        reason.contains("without compression although gzip was requested"),
        "{reason}"
    );
    assert_eq!(fault, Fault::Subject);
}

#[test]
fn a_subject_that_dies_of_its_first_call_says_how() {
    let folder = tempfile::tempdir().unwrap();
    // The subject reports that it is ready, but has exited by the time it is called.
    let dies = shell(&format!(
        "cd '{}'; exec 3<&0; \"$SUBJECT\" <&3 >ready & until [ -s ready ]; do sleep 0.01; done; \
         kill -9 $!; cat ready; echo 'out of memory' >&2; exit 9",
        folder.path().display()
    ));
    let left = run(
        &plan(vec![("dies", settings_of("other"))], 1, 1),
        Some(dies),
    );
    let (reason, fault, log) = failed(&left.trials[0]);
    assert!(
        reason.contains("exited before it was asked to (exit code 9)"),
        "{reason}"
    );
    assert_eq!(fault, Fault::Subject);
    assert!(log.contains("out of memory"), "{log}");
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
        stop: Stop {
            calls: None,
            time_ms: Some(1_500),
        },
        ..settings_of("other")
    };
    let left = run(&plan(vec![("dies", long)], 1, 2), Some(dies_once));
    let (reason, fault, log) = failed(&left.trials[0]);
    assert!(
        reason.contains("exited before it was asked to (exit code 9)"),
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
        stop: Stop {
            calls: None,
            time_ms: Some(600),
        },
        ..settings_of("other")
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
fn an_unknown_subject_is_refused_with_the_known_ones() {
    let unknown = settings_of("go");
    let left = run(&plan(vec![("go", unknown)], 1, 1), None);
    let (reason, fault, _) = failed(&left.trials[0]);
    assert_eq!(reason, "there is no subject \"go\"; known: reference");
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
