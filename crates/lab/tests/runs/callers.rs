//! Tests of clients and codecs, a few lines of Python each, that succeed or fail while they are
//! measured.

use rpcgauge_lab::SubjectCommand;
use rpcgauge_message::{Encoding, WorkloadSpec};
use rpcgauge_study::plan::Plan;
use rpcgauge_study::record::{Fault, TrialOutcome, TrialRecord};
use rpcgauge_study::settings::{Client, CodecWork, Protocol, Settings, Style, SubjectCall, Wire};
use rpcgauge_trial::{Stage, Stop};

use crate::common::{Left, failed, measured, plan, rest_json, run, with};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/caller.py");

fn python(fault: &str) -> SubjectCommand {
    SubjectCommand::new("python3", [SCRIPT, fault])
}

fn stop(calls: u64) -> Stop {
    Stop {
        calls: Some(calls),
        time_ms: None,
    }
}

fn engine() -> Settings {
    Settings {
        stop: stop(100),
        ..rest_json()
    }
}

fn with_client(stack: &str) -> Settings {
    let change = |call: &mut SubjectCall| {
        call.wire = Wire::default_for(Protocol::Rest);
        call.options.deadline_ms = 500;
        call.client = Some(Client {
            stack: stack.to_owned(),
            style: Style::Blocking,
        });
    };
    Settings {
        stop: stop(100),
        ..with(change)
    }
}

fn codec() -> Settings {
    let work = CodecWork::new("other", WorkloadSpec::List { n: 3 }, Encoding::Json);
    Settings {
        stop: stop(5_000),
        ..Settings::new(work)
    }
}

/// A plan that measures all variants in alternation, in short slices.
fn together(variants: Vec<(&str, Settings)>) -> Plan {
    let mut plan = plan(variants, 1, 2);
    plan.slice_us = 500;
    for trial in &mut plan.trials {
        trial.rotation = 0;
    }
    plan
}

fn of<'l>(left: &'l Left, variant: &str) -> Vec<&'l TrialRecord> {
    let trials = left.trials.iter();
    trials.filter(|trial| trial.variant == variant).collect()
}

#[test]
fn a_client_is_measured_beside_the_engine_and_tells_what_it_knows() {
    let plan = together(vec![("engine", engine()), ("client", with_client("other"))]);
    let left = run(&plan, Some(python("nothing")));
    assert_eq!(left.summary.measured, 4);
    for trial in of(&left, "client") {
        let figures = measured(trial);
        assert_eq!(figures.calls.answered, 100);
        assert_eq!(figures.latency.unpack().len(), 100);
        for stage in [Stage::Encode, Stage::Wait, Stage::HandlerTime] {
            assert_eq!(figures.stages[&stage].unpack().len(), 100, "{stage:?}");
        }
        let slices = figures.slices.expect("it was measured in slices");
        assert!(slices.count > 1 && slices.skipped >= slices.count);
        assert!(figures.cpu.client.unwrap().total_ns > 0);
        assert!(figures.cpu.server.unwrap().total_ns > 0);
        assert!(figures.memory.client_peak > 0 && figures.memory.server_peak.is_some());
        assert!(figures.payload.request == figures.payload.request_compressed);
        assert!(figures.payload.response > Some(0.0));
        // Unknown figures are absent, not 0.
        assert_eq!((figures.bytes, figures.client_share), (None, None));
        assert_eq!(figures.connections_opened, None);
        assert!(figures.send_delay.unpack().is_empty());
    }
    assert!(measured(of(&left, "engine")[0]).bytes.is_some());
    for floor in &left.floors {
        assert_eq!(floor.variants, ["engine"]);
    }
}

#[test]
fn a_codec_is_measured_and_calls_nothing() {
    let left = run(&together(vec![("codec", codec())]), Some(python("nothing")));
    assert_eq!(left.summary.measured, 2);
    for trial in of(&left, "codec") {
        let figures = measured(trial);
        assert!(figures.calls.answered >= 5_000);
        let stages: Vec<&Stage> = figures.stages.keys().collect();
        assert_eq!(stages, [&Stage::Encode]);
        assert_eq!(figures.cpu.server, None);
        assert_eq!(figures.payload.request_compressed, None);
        assert!(figures.payload.response > Some(0.0));
    }
    assert!(left.floors.is_empty());
}

#[test]
fn one_that_turns_wrong_while_it_is_measured_fails() {
    for (variant, settings, text) in [
        (
            "client",
            with_client("other"),
            "the message that it decoded is wrong at $.response",
        ),
        (
            "codec",
            codec(),
            "the message that it encoded is wrong at $: as json, it has no \"response\"",
        ),
    ] {
        let left = run(&together(vec![(variant, settings)]), Some(python("turns")));
        let (reason, fault, _) = failed(&left.trials[0]);
        assert!(reason.contains(text), "{variant}: {reason}");
        assert!(reason.contains("after it was measured"), "{reason}");
        assert_eq!(fault, Fault::Subject, "{variant}");
    }
}

#[test]
fn figures_that_contradict_each_other_are_the_subject_s_fault() {
    let codec = Settings {
        stop: stop(100),
        ..codec()
    };
    let left = run(&together(vec![("codec", codec)]), Some(python("instant")));
    assert_eq!(left.summary.failed, 2);
    for trial in &left.trials {
        let (reason, fault, _) = failed(trial);
        let text = "its figures contradict each other: it has successful calls, but took no time";
        assert_eq!((reason, fault), (text, Fault::Subject));
    }
}

#[test]
fn one_that_makes_a_tenth_of_its_calls_is_found() {
    let variants = vec![("engine", engine()), ("client", with_client("other"))];
    let plan = together(variants);
    // Slices in which a server of another test accepts a connection are not checked.
    let found = (0..10).any(|_| {
        let left = run(&plan, Some(python("tenth")));
        for trial in of(&left, "engine") {
            assert_eq!(measured(trial).calls.answered, 100);
        }
        of(&left, "client")
            .iter()
            .all(|trial| match &trial.outcome {
                TrialOutcome::Measured(_) => false,
                TrialOutcome::Failed { reason, fault, .. } => {
                    assert!(
                        reason.contains("the other calls did not reach it"),
                        "{reason}"
                    );
                    assert_eq!(*fault, Fault::Subject);
                    true
                }
            })
    });
    assert!(found, "the client was believed ten times");
}

#[test]
fn one_that_fails_in_a_slice_fails_alone_and_keeps_its_log() {
    for (fault, text, log) in [
        (
            "dies",
            "exited instead of answering (exit code 9)",
            "out of memory",
        ),
        ("hangs", "did not answer within 3.", "thinking"),
        ("size", "it reports", "saving bytes"),
        // Found after its slice or in the next one, depending on the machine's load.
        ("goes-on", "record", "one more"),
        ("none", "it recorded 0 calls", "nothing to tell"),
        ("backwards", "before \"begin\"", "winding back"),
        ("overlaps", "have 2 calls in flight", "doing all at once"),
        ("shrinks", "a response of 5 bytes", "leaving out the half"),
        ("pretends", "calls, but the server used", ""),
        ("many", "reports 1073741824 records", "making a hole"),
        (
            "reopened",
            "reports 18446744073709551615 reopened",
            "opening doors",
        ),
        ("cpu", "reports 219000000 s of CPU time", "thinking hard"),
        ("fifo", "not a regular file", ""),
    ] {
        let variants = vec![("engine", engine()), ("client", with_client("other"))];
        let left = run(&together(variants), Some(python(fault)));
        for trial in of(&left, "client") {
            let (reason, blamed, kept) = failed(trial);
            assert!(reason.contains(text), "{fault}: {reason}");
            assert_eq!(blamed, Fault::Subject, "{fault}");
            assert!(kept.contains(log), "{fault}: {kept}");
        }
        for trial in of(&left, "engine") {
            assert_eq!(measured(trial).calls.answered, 100, "{fault}");
        }
    }
}
