//! Tests of handler marks: only trials with stages have them, and no figure of a call's own bytes
//! includes them.

use rpcgauge_message::Encoding;
use rpcgauge_study::record::{Bytes, BytesByClass, TrialFigures};
use rpcgauge_study::settings::{HttpVersion, Protocol, Settings, Wire};
use rpcgauge_trial::{Schedule, Stage, Stop};

use crate::common::{measured, plan, run, settings_of, shell, with};

/// Enough calls for marks in HPACK's table to evict everything else ten times over.
const CALLS: u64 = 300;

/// Measures the same variant in stages and under load.
fn both(wire: Wire) -> [TrialFigures; 2] {
    let stop = Stop {
        calls: Some(CALLS),
        time_ms: None,
    };
    let staged = Settings {
        stop,
        ..with(|call| call.wire = wire)
    };
    let load = Settings {
        stop,
        ..with(|call| {
            call.wire = wire;
            call.options.connections = 2;
            call.options.schedule = Schedule::Closed { in_flight: 2 };
        })
    };
    let left = run(&plan(vec![("staged", staged), ("load", load)], 1, 1), None);
    let both = [0, 1].map(|index| measured(&left.trials[index]).clone());
    for figures in &both {
        assert_eq!(figures.calls.answered, CALLS);
    }
    let [staged, load] = &both;
    assert_eq!(staged.stages[&Stage::RequestTime].unpack().len(), CALLS);
    assert!(staged.bytes.unwrap().received.marks > 0 && load.stages.is_empty());
    assert_eq!(
        (
            load.bytes.unwrap().received.marks,
            load.bytes.unwrap().sent.marks
        ),
        (0, 0)
    );
    both
}

#[test]
fn by_http_1_a_call_has_the_same_bytes_timed_in_stages_and_under_load() {
    let [staged, load] = both(Wire::default_for(Protocol::Rest)).map(per_call);
    assert_eq!(staged.sent, load.sent);
    assert_eq!(staged.received.headers, load.received.headers);
    assert_eq!(staged.received.of_call(), load.received.of_call());
    let received = staged.received;
    assert_eq!(received.total() - received.of_call(), received.marks);
}

/// The bytes per call: what all calls of the slices carried, divided by their number.
fn per_call(figures: TrialFigures) -> Bytes {
    let calls = figures.calls_of_sent_bytes();
    let each = |traffic: BytesByClass| BytesByClass {
        headers: traffic.headers / calls,
        bodies: traffic.bodies / calls,
        overhead: traffic.overhead / calls,
        marks: traffic.marks / calls,
    };
    Bytes {
        sent: each(figures.bytes.unwrap().sent),
        received: each(figures.bytes.unwrap().received),
    }
}

#[test]
fn by_http_2_a_call_has_the_same_bytes_but_for_what_the_clock_changes() {
    let rest = Wire::Rest {
        http: HttpVersion::Http2,
        encoding: Encoding::Json,
    };
    for wire in [Wire::default_for(Protocol::Grpc), rest] {
        let [staged, load] = both(wire).map(per_call);
        assert_eq!(staged.sent.headers, load.sent.headers);
        // Once per second and connection, `date` is a literal of about 20 bytes; otherwise it is an
        // index.
        let apart = staged.received.headers.abs_diff(load.received.headers);
        assert!(apart <= 1, "{staged:?} {load:?}");
        assert_eq!(staged.received.bodies, load.received.bodies);
    }
}

#[test]
fn a_server_that_sends_no_marks_leaves_their_stages_out() {
    let other = settings_of("other");
    // The subject's processes must not exit on their own, because the processor time of all of them is
    // measured.
    let deaf = r#"marks=',"marks":true'
(read -r line; printf '%s\n' "${line%%"$marks"*}${line#*"$marks"}"; exec cat) | "$SUBJECT""#;
    let left = run(&plan(vec![("deaf", other)], 1, 1), Some(shell(deaf)));
    let figures = measured(&left.trials[0]);
    assert_eq!(figures.stages[&Stage::Wait].unpack().len(), 50);
    for stage in [Stage::RequestTime, Stage::HandlerTime, Stage::ResponseTime] {
        assert!(!figures.stages.contains_key(&stage), "{stage:?}");
    }
    assert_eq!(figures.bytes.unwrap().received.marks, 0);
}
