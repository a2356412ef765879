//! Tests of clients and codecs that answer correctly or misbehave, each a few lines of shell.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_contract::{
    CodecSettings, JsonText, Limits, Operation, SettingsLine, SliceAsk, SliceDone, Until, Verified,
};
use rpcgauge_lab::TrialFailure;
use rpcgauge_lab::subject::{Start, Subject, SubjectCommand};
use rpcgauge_message::{Compression, Encoding, Sample, WorkloadSpec};
use rpcgauge_study::record::Fault;

/// Longer than anything takes, even on a busy machine.
const LONG: Duration = Duration::from_secs(30);

/// How long a test waits for something that never happens.
const SHORT: Duration = Duration::from_millis(500);

const ASK: SliceAsk = SliceAsk {
    skip: 0,
    until: Until::Calls(3),
    batch: Some(1),
};

/// Starts a codec that becomes ready and then runs `script`.
fn start(script: &str) -> Result<Subject, TrialFailure> {
    let settings = SettingsLine::Codec(Box::new(CodecSettings {
        stack: None,
        workload: WorkloadSpec::Hello {},
        sample: Sample::Request,
        message: JsonText::new("{}".to_owned()).unwrap(),
        encoding: Encoding::Json,
        operation: Operation::Encode,
        compression: Compression::None,
        records: "/dev/null".into(),
        protobuf_samples: Vec::new(),
        limits: Limits::default(),
    }));
    let script = format!("read line; echo '{{\"contract\":1,\"ready\":true}}'; {script}");
    let folder = tempfile::tempdir().unwrap();
    let start = Start {
        command: &SubjectCommand::new("/bin/sh", ["-c", &script]),
        settings: &settings,
        cores: None,
        log: &folder.path().join("subject.log"),
        ready_timeout: LONG,
        end_timeout: LONG,
    };
    Subject::start(&start, &AtomicBool::new(false))
}

fn slice(script: &str, limit: Duration) -> Result<SliceDone, TrialFailure> {
    start(script)
        .unwrap()
        .slice(&ASK, limit, &AtomicBool::new(false))
}

#[test]
fn one_line_in_is_one_line_out() {
    let script = "read a; echo \"$a\" >&2; echo '{\"verified\":{\"bytes\":\"AA==\"}}';
        read b; echo \"$b\" >&2; echo '{\"slice\":{\"records\":3,\"cpu_ns\":7}}';
        read c; echo ended >&2";
    let mut subject = start(script).unwrap();
    let stop = AtomicBool::new(false);
    let verified = subject.verify(LONG, &stop).unwrap();
    assert_eq!(verified, Verified::Bytes("AA==".into()));
    let done = subject.slice(&ASK, LONG, &stop).unwrap();
    assert_eq!((done.records, done.cpu_ns), (3, Some(7)));
    // The answer and the log arrive through different pipes.
    while !subject.log_tail().contains("slice") {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(
        subject.log_tail(),
        "{\"verify\":true}\n{\"slice\":{\"batch\":1,\"calls\":3,\"skip\":0}}"
    );
    assert_eq!(subject.ended(), None);
}

#[test]
fn one_that_hangs_is_ended() {
    let failure = slice("read a; echo working >&2; sleep 1000", SHORT).unwrap_err();
    assert_eq!(
        failure.reason,
        "the subject did not answer within 0.5 s; see its log"
    );
    assert_eq!(
        (failure.fault, failure.log.as_str()),
        (Fault::Subject, "working")
    );
}

#[test]
fn one_that_dies_in_a_slice_or_between_two_is_reported_with_its_log() {
    for script in [
        "read a; echo 'out of memory' >&2; exit 9",
        "echo 'out of memory' >&2; exit 9",
    ] {
        let failure = slice(script, LONG).unwrap_err();
        assert_eq!(
            failure.reason,
            "the subject exited instead of answering (exit code 9); see its log"
        );
        assert_eq!(failure.log, "out of memory");
    }
    let mut subject = start("read a; exit 0").unwrap();
    let stop = AtomicBool::new(false);
    subject.slice(&ASK, LONG, &stop).unwrap_err();
    let again = subject.slice(&ASK, LONG, &stop).unwrap_err();
    assert!(again.reason.contains("exited instead"), "{}", again.reason);
}

#[test]
fn what_is_no_answer_is_a_broken_contract() {
    for (answer, why) in [
        ("Traceback", "is not a JSON object"),
        (
            "{\"verified\":{\"bytes\":\"\"}}",
            "it sent an answer that was not requested",
        ),
        ("{\"slice\":{\"records\":-3}}", "does not fit the contract"),
        (
            "{\"slice\":{\"records\":3}}\\n{}",
            "a line without being asked",
        ),
    ] {
        let failure = slice(&format!("read a; printf '{answer}\\n'; read b"), LONG).unwrap_err();
        assert!(failure.reason.contains(why), "{}", failure.reason);
        assert_eq!(failure.fault, Fault::Subject);
    }
}

#[test]
fn one_that_cannot_go_on_says_why() {
    let line = r#"{"contract":1,"error":"the server is gone","fault":"machine"}"#;
    let failure = slice(&format!("read a; echo '{line}'"), LONG).unwrap_err();
    assert_eq!(
        failure.reason,
        "the subject reported an error: the server is gone"
    );
    assert_eq!(failure.fault, Fault::Machine);
}

#[test]
fn a_run_that_stops_does_not_wait_for_an_answer() {
    let mut subject = start("read a; sleep 1000").unwrap();
    let failure = subject
        .slice(&ASK, LONG, &AtomicBool::new(true))
        .unwrap_err();
    assert_eq!(failure.fault, Fault::Instrument);
}
