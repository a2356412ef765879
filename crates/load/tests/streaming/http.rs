//! Streams of text over HTTP/1.1.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use rpcgauge_load::{Expect, Trial};
use rpcgauge_trial::{StreamForm, Streaming};

use super::support::{assert_answered, failures, read_request, run, serve, trial};
use super::{calls, messages};

/// Answers each request with chunks, 10 ms apart.
fn chunked(chunks: &'static [&'static str]) -> impl Fn(TcpStream) + Clone {
    move |mut stream| {
        while read_request(&mut stream).is_some() {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";
            let mut written = stream.write_all(head.as_bytes());
            for chunk in chunks {
                thread::sleep(Duration::from_millis(10));
                let chunk = format!("{:x}\r\n{chunk}\r\n", chunk.len());
                written = written.and_then(|()| stream.write_all(chunk.as_bytes()));
            }
            if written
                .and_then(|()| stream.write_all(b"0\r\n\r\n"))
                .is_err()
            {
                return;
            }
        }
    }
}

fn streaming(form: StreamForm, chunks: &'static [&'static str]) -> Trial {
    Trial {
        streaming: Some(Streaming::of(form)),
        stop: calls(3),
        ..trial(serve(chunked(chunks)))
    }
}

#[test]
fn lines_of_json_are_messages_even_without_a_line_feed_at_the_end() {
    let trial = streaming(
        StreamForm::Ndjson,
        &["{\"n\":1}\n{\"n\"", ":2}\n", "{\"n\":3}"],
    );
    let measurement = run(&trial, &[b""]);
    assert_answered(&measurement, 3);
    let messages = messages(&measurement);
    assert_eq!((messages.sent, messages.received), (3, 9));
    assert_eq!(measurement.payload.response, Some(7.0));
}

#[test]
fn events_are_messages() {
    let trial = streaming(
        StreamForm::Sse,
        &["data: a\n\n: pause\n\n", "event: x\ndata: b\n\ndata: lost"],
    );
    let measurement = run(&trial, &[b""]);
    assert_answered(&measurement, 3);
    assert_eq!(
        messages(&measurement).received,
        6,
        "an event ends with an empty line"
    );
}

#[test]
fn a_call_that_received_enough_closes_its_connection() {
    let mut trial = streaming(StreamForm::Ndjson, &["1\n", "2\n", "3\n", "4\n"]);
    if let Some(streaming) = &mut trial.streaming {
        streaming.receive = Some(2);
    }
    let measurement = run(&trial, &[b""]);
    assert_answered(&measurement, 3);
    assert_eq!(messages(&measurement).received, 6);
    assert_eq!(
        measurement.connections_opened.unwrap(),
        2,
        "HTTP/1.1 cannot cancel a call"
    );
}

#[test]
fn a_line_that_is_too_long_fails_its_call() {
    let trial = streaming(StreamForm::Ndjson, &["1\n", "22222222\n"]);
    let trial = Trial {
        expect: Expect {
            max_response_bytes: 4,
            ..trial.expect.clone()
        },
        ..trial
    };
    let measurement = run(&trial, &[b""]);
    assert_eq!(failures(&measurement), [("too-large".to_owned(), 3)]);
    assert_eq!(messages(&measurement).received, 3);
}
