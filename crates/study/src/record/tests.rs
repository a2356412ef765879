//! What records leave out, and what comes back.

use super::*;

fn measured() -> Measured {
    let empty = || Histogram::from(crate::histogram::Unpacked::new(3).unwrap());
    Measured {
        calls: Calls::default(),
        warmup: Warmup {
            calls: 0,
            failed: 0,
            elapsed_ns: 0,
            settled: true,
        },
        elapsed_ns: 1,
        latency: empty(),
        failed_latency: None,
        send_delay: empty(),
        stages: BTreeMap::new(),
        timeline: Timeline::default(),
        steps: Vec::new(),
        warmup_ended_after: 0,
        slices: None,
        measured_from_ms: None,
        bytes: Some(Bytes::default()),
        payload: Payload::default(),
        cpu: CpuTimes::default(),
        memory: Memory::default(),
        client_share: Some(0.5),
        code: Some(Code::Dynamic),
        ending: Ending::Complete,
        connections_at_start: None,
        connections_opened: Some(0),
        connections_reopened: 0,
        tls_resumed: 0,
        connects_failed: 0,
        uncompressed_answers: 0,
        bodies_late: 0,
        most_in_flight: None,
        error_samples: Vec::new(),
        errors_without_sample: 0,
    }
}

#[test]
fn counts_of_what_did_not_happen_are_left_out() {
    let calm = measured();
    let text = serde_json::to_string(&calm).unwrap();
    for key in [
        "never_begun",
        "never_sent",
        "retried",
        "answered_after_retry",
        "bodies_late",
        "most_in_flight",
        "warmup_ended_after",
        "failed",
        "connections_at_start",
        "connects_failed",
        "uncompressed_answers",
        "errors_without_sample",
    ] {
        assert!(!text.contains(&format!("\"{key}\"")), "{key}: {text}");
    }
    assert_eq!(serde_json::from_str::<Measured>(&text).unwrap(), calm);
}

#[test]
fn counts_of_what_went_amiss_come_back() {
    let mut amiss = measured();
    amiss.calls.never_begun = 1;
    amiss.calls.never_sent = 2;
    amiss.calls.retried = 6;
    amiss.calls.answered_after_retry = 7;
    amiss.bodies_late = 8;
    amiss.warmup_ended_after = 10;
    amiss.most_in_flight = Some(9);
    amiss.warmup.failed = 2;
    amiss.connections_at_start = Some(0);
    amiss.connects_failed = 3;
    amiss.uncompressed_answers = 4;
    amiss.errors_without_sample = 5;
    let text = serde_json::to_string(&amiss).unwrap();
    assert_eq!(serde_json::from_str::<Measured>(&text).unwrap(), amiss);
}

#[test]
fn marks_that_are_absent_are_zero_and_zero_is_absent() {
    let without = r#"{"headers":3,"bodies":2,"overhead":1}"#;
    let mut traffic: Traffic = serde_json::from_str(without).unwrap();
    assert_eq!((traffic.of_call(), traffic.total()), (6, 6));
    assert_eq!(serde_json::to_string(&traffic).unwrap(), without);
    traffic.marks = 76;
    let line = serde_json::to_string(&traffic).unwrap();
    assert_eq!(serde_json::from_str::<Traffic>(&line).unwrap(), traffic);
    assert_eq!((traffic.of_call(), traffic.total()), (6, 82));
}
