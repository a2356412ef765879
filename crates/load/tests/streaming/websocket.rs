//! WebSockets, against the server side of tungstenite.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rpcgauge_load::{CallStyle, Expect, Trial};
use rpcgauge_trial::{ConnectionUse, Pace, Streaming};
use tungstenite::protocol::frame::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{Message, Role, WebSocket};

use super::support::{
    accept_websocket, assert_answered, assert_sums_hold, failures, read_request, run, serve,
    traffic, trial,
};
use super::{ByText, assert_exchanged, bidirectional, calls, messages};

type Socket = WebSocket<TcpStream>;

/// Accepts the opening handshake, and passes the head of the request and the WebSocket on.
fn accepting(
    each: impl Fn(&str, &mut Socket) -> tungstenite::Result<()> + Clone,
) -> impl Fn(TcpStream) + Clone {
    move |mut stream| {
        let Some((head, _)) = read_request(&mut stream) else {
            return;
        };
        if stream.write_all(accept_websocket(&head).as_bytes()).is_ok() {
            let mut socket = WebSocket::from_raw_socket(stream, Role::Server, None);
            // The trial shows whether it ended as it should.
            let _ = each(&head, &mut socket);
        }
    }
}

/// Echoes messages until the client closes.
fn echo(_: &str, socket: &mut Socket) -> tungstenite::Result<()> {
    loop {
        let message = socket.read()?;
        if message.is_text() || message.is_binary() {
            socket.send(message)?;
        }
    }
}

fn close(socket: &mut Socket, code: u16, reason: &'static str) -> tungstenite::Result<()> {
    let code = CloseCode::from(code);
    let reason = reason.into();
    socket.close(Some(CloseFrame { code, reason }))?;
    loop {
        socket.read()?;
    }
}

fn websocket(
    settings: Streaming,
    each: impl Fn(&str, &mut Socket) -> tungstenite::Result<()> + Send + Clone + 'static,
) -> Trial {
    let mut trial = trial(serve(accepting(each)));
    trial.request.style = CallStyle::WebSocket;
    trial.request.path = "/chat".to_owned();
    trial.connection_use = ConnectionUse::PerCall;
    trial.streaming = Some(settings);
    trial.stop = calls(3);
    trial
}

#[test]
fn every_message_is_sent_received_and_timed() {
    for pace in [Pace::Unpaced, Pace::InTurn(0), Pace::Rate(2_000.0)] {
        let settings = Streaming {
            pace,
            ..bidirectional(20)
        };
        let measurement = run(&websocket(settings, echo), &[b"a", b"", b"\xffb"]);
        assert_answered(&measurement, 3);
        assert_exchanged(&measurement, 60, 60);
        let messages = messages(&measurement);
        assert_eq!(messages.latency.as_ref().unwrap().count(), 60, "{pace:?}");
        assert_eq!((messages.paired, messages.unpaired), (3, 0), "{pace:?}");
        assert_eq!(measurement.connections_opened, Some(3), "one for each call");
        assert_eq!(measurement.payload.response, Some(1.0));
    }
}

/// Sends a message of its own before each response, and responds to all but the message "lost".
fn chatty(_: &str, socket: &mut Socket) -> tungstenite::Result<()> {
    loop {
        let message = socket.read()?;
        if message.is_text() {
            socket.send("news".into())?;
            if message != Message::from("lost") {
                socket.send(message)?;
            }
        }
    }
}

#[test]
fn with_keys_a_call_ends_when_each_message_has_its_response_or_its_time_is_over() {
    let paired = |settings| Trial {
        pair_by: Some(Arc::new(ByText)),
        ..websocket(settings, chatty)
    };
    let measurement = run(&paired(bidirectional(2)), &[b"a", b"b"]);
    assert_answered(&measurement, 3);
    let all = messages(&measurement);
    assert_eq!((all.sent, all.unanswered), (6, 0));
    assert_eq!(all.latency.as_ref().unwrap().count(), 6);
    let timed = Streaming {
        time_ms: Some(50),
        ..bidirectional(2)
    };
    let measurement = run(&paired(timed), &[b"a", b"lost"]);
    assert_answered(&measurement, 3);
    let all = messages(&measurement);
    assert_eq!((all.sent, all.unanswered, all.unmatched), (6, 3, 6));
    let shortest = measurement.latency.unpack().counts().min();
    assert!(
        shortest >= 50_000_000,
        "it waits for its time: {shortest} ns"
    );
    let at_a_rate = Streaming {
        messages: None,
        pace: Pace::Rate(500.0),
        ..timed
    };
    let measurement = run(&paired(at_a_rate), &[b"a", b"b"]);
    assert_answered(&measurement, 3);
    let all = messages(&measurement);
    let paired = all.latency.as_ref().unwrap().count();
    assert!(paired > 0 && paired + all.unanswered == all.sent, "{all:?}");
}

#[test]
fn bytes_are_counted_by_their_purpose() {
    let trial = websocket(bidirectional(10), echo);
    let measurement = run(&trial, &[&[b'a'; 200]]);
    assert_answered(&measurement, 3);
    let traffic = traffic(&measurement);
    assert_eq!(
        (traffic.sent.bodies, traffic.received.bodies),
        (6_000, 6_000)
    );
    // Of each message: two bytes, two of the length and, of a client, four of the mask; and the close frame.
    let of = |mask: u64| 3 * (10 * (4 + mask) + 2 + 2 + mask);
    assert_eq!(traffic.sent.overhead, of(4));
    assert_eq!(traffic.received.overhead, of(0));
}

#[test]
fn a_call_ends_when_it_has_received_enough() {
    let settings = Streaming {
        receive: Some(5),
        ..bidirectional(1)
    };
    let trial = websocket(settings, |_, socket| {
        let message = socket.read()?;
        loop {
            socket.send(message.clone())?;
        }
    });
    let measurement = run(&trial, &[b"a"]);
    assert_answered(&measurement, 3);
    assert_exchanged(&measurement, 3, 15);
}

#[test]
fn a_call_whose_time_is_over_waits_for_its_responses() {
    let settings = Streaming {
        messages: None,
        time_ms: Some(20),
        pace: Pace::Rate(1_000.0),
        ..bidirectional(1)
    };
    let measurement = run(&websocket(settings, echo), &[b"a"]);
    assert_answered(&measurement, 3);
    let messages = messages(&measurement);
    assert_eq!(messages.sent, messages.received);
    assert_eq!((messages.paired, messages.ended_early), (3, 0));
}

#[test]
fn messages_in_fragments_and_pings_between_them_are_read() {
    let trial = websocket(bidirectional(2), |_, socket| {
        use tungstenite::protocol::frame::Frame;
        use tungstenite::protocol::frame::coding::{Data, OpCode};
        for _ in 0..2 {
            let fragment = |text: &'static str, opcode, last| {
                Message::Frame(Frame::message(text, OpCode::Data(opcode), last))
            };
            socket.send(fragment("a", Data::Text, false))?;
            socket.send(Message::Ping("ping".into()))?;
            socket.send(fragment("b", Data::Continue, true))?;
            while socket.read()? != Message::Pong("ping".into()) {}
        }
        loop {
            socket.read()?;
        }
    });
    let measurement = run(&trial, &[b"a"]);
    assert_answered(&measurement, 3);
    assert_exchanged(&measurement, 6, 6);
    assert_eq!(measurement.payload.response, Some(2.0));
}

#[test]
fn a_server_that_closes_first_ends_the_call_by_its_code() {
    for (code, failed) in [
        (1000, None),
        (1001, Some("websocket-1001")),
        (4000, Some("websocket-4000")),
    ] {
        let trial = websocket(bidirectional(5), move |_, socket| {
            let message = socket.read()?;
            socket.send(message)?;
            close(socket, code, "enough")
        });
        // In turn, the third message is never sent.
        let trial = in_turn(trial);
        let measurement = run(&trial, &[b"a"]);
        assert_sums_hold(&measurement);
        let counts: Vec<_> = failed
            .map(|kind| (kind.to_owned(), 3))
            .into_iter()
            .collect();
        assert_eq!(failures(&measurement), counts);
        let early = messages(&measurement).ended_early;
        assert_eq!(early, if failed.is_none() { 3 } else { 0 }, "{code}");
        if failed.is_some() {
            let text = &measurement.error_samples[0].text;
            assert_eq!(
                *text,
                format!("the server closed the WebSocket with {code}: enough")
            );
        }
    }
}

/// A server that responds three times and closes with a code, in one write.
fn respond_and_close(code: u16) -> impl Fn(&str, &mut Socket) -> tungstenite::Result<()> + Clone {
    move |_, socket| {
        let message = socket.read()?;
        for _ in 0..3 {
            socket.write(message.clone())?;
        }
        close(socket, code, "enough")
    }
}

#[test]
fn a_code_after_the_last_response_counts_unless_enough_was_received() {
    let three = Streaming {
        receive: Some(3),
        ..bidirectional(1)
    };
    for (settings, code, failed) in [
        (bidirectional(1), 1011, 3),
        (bidirectional(1), 1000, 0),
        (three, 1011, 0),
    ] {
        let measurement = run(&websocket(settings, respond_and_close(code)), &[b"a"]);
        assert_sums_hold(&measurement);
        assert_eq!(
            measurement.calls.failed_total(),
            failed,
            "{settings:?}, {code}"
        );
    }
}

#[test]
fn a_call_with_a_time_receives_until_it_is_over() {
    let settings = Streaming {
        time_ms: Some(50),
        ..bidirectional(1)
    };
    let trial = websocket(settings, |_, socket| {
        let message = socket.read()?;
        for _ in 0..3 {
            socket.send(message.clone())?;
        }
        socket.read().map(drop)
    });
    let measurement = run(&trial, &[b"a"]);
    assert_answered(&measurement, 3);
    assert_exchanged(&measurement, 3, 9);
}

fn in_turn(mut trial: Trial) -> Trial {
    if let Some(streaming) = &mut trial.streaming {
        streaming.pace = Pace::InTurn(0);
    }
    trial
}

#[test]
fn what_is_no_websocket_fails_its_call() {
    let answered = |response: &'static str| {
        let mut trial = websocket(bidirectional(2), echo);
        trial.endpoint.address = serve(move |mut stream| {
            if read_request(&mut stream).is_some() {
                let _ = stream.write_all(response.as_bytes());
            }
        });
        let measurement = run(&trial, &[b"a"]);
        (
            failures(&measurement),
            measurement.error_samples[0].text.clone(),
        )
    };
    for (response, kind, text) in [
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
            "http-200",
            "HTTP status 200 instead of 101: hi",
        ),
        (
            "HTTP/1.1 426 x\r\ncontent-length: 0\r\n\r\n",
            "http-426",
            "HTTP status 426 instead of 101",
        ),
        (
            "HTTP/1.1 101 x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
            "protocol",
            "the server violated the protocol: sec-websocket-accept does not match the key \
             (RFC 6455 §4.1)",
        ),
    ] {
        let expected = (vec![(kind.to_owned(), 3)], text.to_owned());
        assert_eq!(answered(response), expected);
    }
}

#[test]
fn a_connection_without_a_closing_handshake_fails_its_call() {
    let trial = websocket(bidirectional(2), |_, socket| socket.read().map(drop));
    let measurement = run(&trial, &[b"a"]);
    let [(kind, 3)] = &failures(&measurement)[..] else {
        panic!("{:?}", failures(&measurement));
    };
    assert!(
        kind == "connection-closed" || kind == "connection-reset",
        "{kind}"
    );
}

#[test]
fn a_server_that_does_not_answer_a_message_meets_the_deadline() {
    let mut trial = websocket(bidirectional(2), |_, socket| {
        loop {
            socket.read()?;
        }
    });
    trial.deadline = Duration::from_millis(100);
    let measurement = run(&trial, &[b"a"]);
    assert_eq!(failures(&measurement), [("deadline".to_owned(), 3)]);
}

#[test]
fn a_message_that_is_too_large_fails_its_call() {
    let trial = websocket(bidirectional(1), |_, socket| {
        socket.read()?;
        socket.send("a".repeat(1_000).into())?;
        loop {
            socket.read()?;
        }
    });
    let trial = Trial {
        expect: Expect {
            max_response_bytes: 999,
            ..trial.expect.clone()
        },
        ..trial
    };
    let measurement = run(&trial, &[b"a"]);
    assert_eq!(failures(&measurement), [("too-large".to_owned(), 3)]);
}

#[test]
fn what_a_websocket_cannot_be_is_refused() {
    use rpcgauge_load::Protocol;
    use rpcgauge_trial::StreamForm;
    let good = websocket(bidirectional(1), echo);
    let mut reused = good.clone();
    reused.connection_use = ConnectionUse::Reuse;
    let mut over_http2 = good.clone();
    over_http2.endpoint.protocol = Protocol::Http2;
    let mut unary = good.clone();
    unary.streaming = None;
    let mut server = good.clone();
    server.streaming = Some(Streaming::of(StreamForm::Server));
    for trial in [reused, over_http2, unary, server] {
        let refused = super::support::run_with(&trial, super::support::prepared(&[b"a"]));
        assert!(refused.is_err());
    }
}
