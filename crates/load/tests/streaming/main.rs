//! Streaming calls against real servers.

#[path = "../support/mod.rs"]
mod support;

mod http;
mod server;
mod websocket;

use std::sync::Arc;
use std::time::Duration;

use rpcgauge_load::{
    Bodies, Body, CallStyle, Checked, CodecError, PairBy, Protocol, ResponseCheck, Trial,
};
use rpcgauge_trial::{
    FailureKind, MessageFigures, Pace, Schedule, Stop, StreamForm, Streaming, TrialFigures,
};
use support::{
    Echo, assert_answered, assert_sums_hold, failures, hooks, measure_with, prepared, run, trial,
};

/// A trial of calls of a method of the test server.
fn streaming(method: &str, streaming: Streaming) -> Trial {
    let mut trial = trial(server::serve());
    trial.endpoint.protocol = Protocol::Http2;
    trial.request.style = CallStyle::Grpc { subtype: None };
    trial.request.path = format!("/test.Stream/{method}");
    trial.request.headers.clear();
    trial.streaming = Some(streaming);
    trial.stop = calls(3);
    trial
}

fn calls(calls: u64) -> Stop {
    Stop {
        calls: Some(calls),
        time_ms: None,
    }
}

fn bidirectional(messages: u64) -> Streaming {
    Streaming {
        messages: Some(messages),
        ..Streaming::of(StreamForm::Bidirectional)
    }
}

fn messages(measurement: &TrialFigures) -> &MessageFigures {
    measurement.messages.as_ref().unwrap()
}

#[track_caller]
fn assert_exchanged(measurement: &TrialFigures, sent: u64, received: u64) {
    let messages = messages(measurement);
    assert_eq!((messages.sent, messages.received), (sent, received));
    assert_eq!(messages.first.count() + messages.gap.count(), received);
}

#[test]
fn every_message_of_a_bidirectional_call_is_sent_received_and_timed() {
    for pace in [Pace::Unpaced, Pace::InTurn(0), Pace::Rate(2_000.0)] {
        let trial = streaming(
            "Echo",
            Streaming {
                pace,
                ..bidirectional(20)
            },
        );
        let measurement = run(&trial, &[b"a", b"b"]);
        assert_answered(&measurement, 3);
        assert_exchanged(&measurement, 60, 60);
        let messages = messages(&measurement);
        assert_eq!(messages.latency.as_ref().unwrap().count(), 60, "{pace:?}");
        assert_eq!((messages.unpaired, messages.ended_early), (0, 0));
        assert_eq!(
            measurement.payload.request,
            Some(1.0),
            "of a message, not of a call"
        );
        assert_eq!(measurement.payload.response, Some(1.0));
    }
}

#[test]
fn messages_at_a_rate_are_due_evenly() {
    let settings = Streaming {
        pace: Pace::Rate(100.0),
        ..bidirectional(6)
    };
    let measurement = run(&streaming("Echo", settings), &[b"a"]);
    assert_answered(&measurement, 3);
    let shortest = measurement.latency.unpack().counts().min();
    assert!(shortest >= 50_000_000, "five gaps of 10 ms: {shortest} ns");
}

#[test]
fn a_call_waits_for_each_response_and_thinks_in_turn() {
    let settings = Streaming {
        pace: Pace::InTurn(10),
        ..bidirectional(4)
    };
    let measurement = run(&streaming("Echo", settings), &[b"a"]);
    assert_answered(&measurement, 3);
    let shortest = measurement.latency.unpack().counts().min();
    assert!(
        shortest >= 30_000_000,
        "three pauses of 10 ms: {shortest} ns"
    );
    let messages = messages(&measurement);
    let longest = messages.gap.unpack().counts().min();
    assert!(
        longest >= 10_000_000,
        "a pause is in each gap: {longest} ns"
    );
}

#[test]
fn a_client_stream_has_one_response() {
    let settings = Streaming {
        messages: Some(10),
        ..Streaming::of(StreamForm::Client)
    };
    let measurement = run(&streaming("Collect", settings), &[b"a", b"b", b"c"]);
    assert_answered(&measurement, 3);
    assert_eq!(messages(&measurement).sent, 30);
    assert_eq!(
        measurement.payload.response,
        Some(10.0),
        "all messages in one"
    );
}

#[test]
fn the_messages_of_calls_follow_each_other_in_the_order_of_the_bodies() {
    let trial = streaming(
        "Collect",
        Streaming {
            messages: Some(2),
            ..Streaming::of(StreamForm::Client)
        },
    );
    let mut seen = Vec::new();
    let check = ResponseCheck {
        of: Checked::All,
        check: Box::new(|response| {
            seen.push(response.carried.to_vec());
            Ok(())
        }),
    };
    let hooks = rpcgauge_load::Hooks {
        checks: vec![Some(check)],
        ..hooks()
    };
    let bodies = prepared(&[b"a", b"b", b"c"]);
    measure_with(&trial, bodies, hooks, &false.into()).unwrap();
    assert_eq!(seen[0], b"ab", "of {seen:?}");
}

#[test]
fn a_codec_encodes_and_decodes_each_message_and_verifies_the_last() {
    let trial = streaming("Echo", bidirectional(5));
    let mut codec = Echo::default();
    let bodies = Bodies::PerCall(&mut codec);
    let measurement = measure_with(&trial, bodies, hooks(), &false.into()).unwrap();
    assert_answered(&measurement, 3);
    assert_exchanged(&measurement, 15, 15);
    assert_eq!(codec.verified, [14], "the last of messages 0 to 14");
    assert_eq!(codec.decoded, b"call 14");
}

#[test]
fn generated_messages_are_taken_one_by_one_until_they_end() {
    let trial = streaming("Echo", bidirectional(4));
    let bodies = (0..10u8).map(|number| {
        Ok::<_, CodecError>(Body {
            bytes: vec![number],
            compressed: false,
            plain_len: 1,
            fields: Vec::new(),
        })
    });
    let bodies = rpcgauge_load::Bodies::Streamed(Box::new(bodies));
    let measurement = support::run_with(&trial, bodies).unwrap();
    assert_exchanged(&measurement, 10, 10);
    assert_answered(&measurement, 3);
}

#[test]
fn a_server_stream_is_timed_message_by_message() {
    let measurement = run(
        &streaming("Produce", Streaming::of(StreamForm::Server)),
        &[b""],
    );
    assert_answered(&measurement, 3);
    assert_exchanged(&measurement, 3, 15);
    let messages = messages(&measurement);
    assert_eq!((messages.first.count(), messages.gap.count()), (3, 12));
    for (what, times) in [("first", &messages.first), ("gap", &messages.gap)] {
        let shortest = times.unpack().counts().value_at_quantile(0.5);
        assert!(shortest >= 15_000_000, "{what} after 20 ms: {shortest} ns");
    }
}

#[test]
fn a_call_ends_when_it_has_received_enough() {
    let mut trial = streaming(
        "Endless",
        Streaming {
            receive: Some(1_000),
            ..Streaming::of(StreamForm::Server)
        },
    );
    let measurement = run(&trial, &[b""]);
    assert_answered(&measurement, 3);
    assert_exchanged(&measurement, 3, 3_000);
    trial.expect.messages = Some(7);
    let measurement = run(&trial, &[b""]);
    assert_eq!(failures(&measurement), [("check".to_owned(), 3)]);
}

#[test]
fn a_call_ends_after_its_time() {
    let timed = |form| Streaming {
        time_ms: Some(50),
        messages: Some(1),
        ..Streaming::of(form)
    };
    for (method, form) in [
        ("Endless", StreamForm::Server),
        ("Mute", StreamForm::Server),
    ] {
        let measurement = run(&streaming(method, timed(form)), &[b""]);
        assert_answered(&measurement, 3);
        assert!(
            measurement.latency.unpack().counts().min() >= 49_000_000,
            "{method}"
        );
    }
    let measurement = run(&streaming("Hung", timed(StreamForm::Server)), &[b""]);
    assert_eq!(failures(&measurement), [("message-timeout".to_owned(), 3)]);
    let endless = Streaming {
        messages: None,
        pace: Pace::Rate(1_000.0),
        ..timed(StreamForm::Bidirectional)
    };
    let measurement = run(&streaming("Echo", endless), &[b"a"]);
    assert_answered(&measurement, 3);
    let messages = messages(&measurement);
    assert!(messages.sent >= 3 * 40, "{} messages", messages.sent);
    assert_eq!(
        messages.sent, messages.received,
        "the server ended each call after its last message"
    );
}

#[test]
fn a_server_that_ends_a_call_early_is_counted() {
    let settings = Streaming {
        pace: Pace::Rate(500.0),
        ..bidirectional(1_000)
    };
    let measurement = run(&streaming("Early", settings), &[b"a"]);
    assert_answered(&measurement, 3);
    let messages = messages(&measurement);
    assert_eq!((messages.ended_early, messages.unpaired), (3, 3));
    let mut strict = streaming("Early", settings);
    strict.expect.all_sent = true;
    let measurement = run(&strict, &[b"a"]);
    assert_eq!(failures(&measurement), [("check".to_owned(), 3)]);
    assert!(messages.sent < 3 * 1_000, "{} messages", messages.sent);
}

#[test]
fn a_server_that_answers_twice_leaves_messages_without_latency() {
    let measurement = run(&streaming("Twice", bidirectional(3)), &[b"a"]);
    assert_answered(&measurement, 3);
    assert_exchanged(&measurement, 9, 18);
    assert_eq!(messages(&measurement).unpaired, 3);
    let each = Streaming {
        pace: Pace::InTurn(0),
        ..bidirectional(4)
    };
    let measurement = run(&streaming("Twice", each), &[b"a"]);
    assert_answered(&measurement, 3);
    assert_exchanged(&measurement, 12, 24);
    // The second response to a message must not make another one due.
    let in_turn = Streaming {
        pace: Pace::InTurn(20),
        time_ms: Some(150),
        messages: None,
        ..bidirectional(1)
    };
    let measurement = run(&streaming("Twice", in_turn), &[b"a"]);
    let messages = messages(&measurement);
    assert!(messages.sent <= 3 * 8, "{} messages", messages.sent);
    assert_eq!((messages.paired, messages.unpaired), (0, 3));
}

/// The key of a message is its text, which must not be empty.
#[derive(Debug)]
struct ByText;

impl PairBy for ByText {
    fn request_key(&self, message: &[u8]) -> Result<String, CodecError> {
        self.response_key(message)
            .ok_or_else(|| CodecError("it is empty".into()))
    }

    fn response_key(&self, message: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(message).unwrap();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

fn paired(method: &str, settings: Streaming) -> Trial {
    Trial {
        pair_by: Some(Arc::new(ByText)),
        ..streaming(method, settings)
    }
}

/// How many messages had a latency, and of how many it was at least 40 ms.
fn latencies(messages: &MessageFigures) -> (u64, u64) {
    let latency = messages.latency.as_ref().unwrap().unpack();
    let late = latency.counts().count_between(40_000_000, u64::MAX);
    (latency.len(), late)
}

#[test]
fn responses_in_another_order_are_paired_by_their_keys() {
    let measurement = run(&paired("Reorder", bidirectional(3)), &[b"a", b"b", b"c"]);
    assert_answered(&measurement, 3);
    assert_exchanged(&measurement, 9, 9);
    let messages = messages(&measurement);
    assert_eq!((messages.paired, messages.unpaired), (3, 0));
    assert_eq!((messages.unmatched, messages.unanswered), (3, 3));
    assert_eq!(
        latencies(messages),
        (6, 3),
        "the first of each call is late"
    );
}

#[test]
fn a_second_response_to_a_message_is_to_none_and_makes_no_other_message_due() {
    for pace in [Pace::Unpaced, Pace::InTurn(0)] {
        let settings = Streaming {
            pace,
            ..bidirectional(4)
        };
        let measurement = run(&paired("Twice", settings), &[b"a", b"b", b"c", b"d"]);
        assert_answered(&measurement, 3);
        assert_exchanged(&measurement, 12, 24);
        let messages = messages(&measurement);
        assert_eq!(
            (messages.unmatched, messages.unanswered),
            (12, 0),
            "{pace:?}"
        );
        assert_eq!(latencies(messages).0, 12);
    }
}

#[test]
fn the_messages_of_failed_calls_have_no_response() {
    let measurement = run(&paired("Fail", bidirectional(3)), &[b"x", b"y", b"z"]);
    assert_eq!(failures(&measurement), [("grpc-internal".to_owned(), 3)]);
    let messages = messages(&measurement);
    assert_eq!((messages.paired, messages.unpaired), (0, 0));
    assert_eq!(messages.unanswered, messages.sent);
    assert_eq!(messages.unmatched, messages.received);
}

#[test]
fn a_message_without_a_key_is_never_sent() {
    let body = |bytes: &[u8]| Body {
        bytes: bytes.to_vec(),
        compressed: false,
        plain_len: bytes.len() as u64,
        fields: Vec::new(),
    };
    let trial = paired("Echo", bidirectional(1));
    let prepared = prepared(&[b"a", b""]);
    let refused = support::run_with(&trial, prepared).unwrap_err();
    assert!(refused.to_string().contains("it is empty"), "{refused}");
    let bodies = [body(b"a"), body(b""), body(b"b")].map(Ok);
    let bodies = Bodies::Streamed(Box::new(bodies.into_iter()));
    let measurement = support::run_with(&trial, bodies).unwrap();
    assert_eq!(failures(&measurement), [("encode".to_owned(), 1)]);
    assert_eq!(measurement.error_samples[0].text, "it is empty");
    assert_exchanged(&measurement, 2, 2);
}

#[test]
fn an_empty_response_of_a_stream_with_keys_is_checked() {
    let check = ResponseCheck {
        of: Checked::All,
        check: Box::new(|response| match response.carried {
            b"" => Err((FailureKind::Check, CodecError("it is empty".into()))),
            _ => Ok(()),
        }),
    };
    let trial = paired("Empty", bidirectional(1));
    let hooks = rpcgauge_load::Hooks {
        checks: vec![Some(check)],
        ..hooks()
    };
    let measurement = measure_with(&trial, prepared(&[b"a"]), hooks, &false.into());
    assert_eq!(failures(&measurement.unwrap()), [("check".to_owned(), 3)]);
}

#[test]
fn calls_that_fail_say_nothing_about_pairs() {
    let measurement = run(&streaming("Fail", bidirectional(3)), &[b"a"]);
    assert_eq!(failures(&measurement), [("grpc-internal".to_owned(), 3)]);
    let messages = messages(&measurement);
    assert_eq!((messages.paired, messages.unpaired), (0, 0));
}

#[test]
fn a_client_that_pauses_does_not_wait_for_messages() {
    let pausing = Streaming {
        pace: Pace::InTurn(100),
        message_timeout_ms: Some(40),
        ..bidirectional(3)
    };
    assert_answered(&run(&streaming("Echo", pausing), &[b"a"]), 3);
    let silent = Streaming {
        pace: Pace::Unpaced,
        ..pausing
    };
    let measurement = run(&streaming("Silent", silent), &[b"a"]);
    assert_eq!(failures(&measurement), [("message-timeout".to_owned(), 3)]);
}

#[test]
fn what_breaks_a_stream_fails_its_call_by_kind() {
    let server = Streaming::of(StreamForm::Server);
    let silent = Streaming {
        message_timeout_ms: Some(50),
        ..server
    };
    let table = [
        ("Broken", server, "protocol"),
        ("Torn", server, "protocol"),
        ("Fail", server, "grpc-internal"),
        ("Silent", silent, "message-timeout"),
        ("Mute", silent, "message-timeout"),
    ];
    for (method, settings, kind) in table {
        let mut trial = streaming(method, settings);
        trial.patience = Duration::from_secs(60);
        let measurement = run(&trial, &[b""]);
        assert_sums_hold(&measurement);
        assert_eq!(failures(&measurement), [(kind.to_owned(), 3)], "{method}");
    }
}

#[test]
fn the_wrong_number_of_messages_fails_a_call() {
    let mut trial = streaming("Produce", Streaming::of(StreamForm::Server));
    trial.expect.messages = Some(4);
    let measurement = run(&trial, &[b""]);
    assert_eq!(failures(&measurement), [("check".to_owned(), 3)]);
    let text = &measurement.error_samples[0].text;
    assert_eq!(text, "the number of messages is 5 instead of 4");
}

#[test]
fn a_wrong_message_in_the_middle_fails_its_call() {
    let trial = streaming("Produce", Streaming::of(StreamForm::Server));
    let check = ResponseCheck {
        of: Checked::All,
        check: Box::new(|response| match response.carried {
            [2] => Err((FailureKind::Check, CodecError("it is 2".to_owned()))),
            _ => Ok(()),
        }),
    };
    let hooks = rpcgauge_load::Hooks {
        checks: vec![Some(check)],
        ..hooks()
    };
    let measurement = measure_with(&trial, prepared(&[b""]), hooks, &false.into()).unwrap();
    assert_eq!(failures(&measurement), [("check".to_owned(), 3)]);
    assert_exchanged(&measurement, 3, 6);
}

#[test]
fn many_streams_share_a_connection() {
    let mut trial = streaming("Echo", bidirectional(50));
    trial.schedule = Schedule::Closed { in_flight: 20 };
    trial.stop = calls(100);
    let measurement = run(&trial, &[&[7; 90]]);
    assert_answered(&measurement, 100);
    assert_exchanged(&measurement, 5_000, 5_000);
    assert_eq!(measurement.connections_at_start.unwrap(), 1);
}

#[test]
fn settings_that_do_not_fit_a_stream_are_refused() {
    let refused = |settings: Streaming| {
        let trial = streaming("Echo", settings);
        let error = support::run_with(&trial, prepared(&[b""])).unwrap_err();
        error.to_string()
    };
    let server = Streaming::of(StreamForm::Server);
    for settings in [
        Streaming {
            messages: Some(2),
            ..server
        },
        Streaming {
            messages: None,
            ..bidirectional(1)
        },
        Streaming {
            messages: Some(0),
            ..bidirectional(1)
        },
        Streaming {
            pace: Pace::InTurn(0),
            ..Streaming::of(StreamForm::Client)
        },
        Streaming {
            pace: Pace::Rate(0.0),
            ..bidirectional(2)
        },
        Streaming {
            receive: Some(1),
            ..Streaming::of(StreamForm::Client)
        },
        Streaming {
            time_ms: Some(0),
            ..server
        },
        Streaming::of(StreamForm::Sse),
    ] {
        let said = refused(settings);
        assert!(said.contains("must be"), "{settings:?}: {said}");
    }
}
