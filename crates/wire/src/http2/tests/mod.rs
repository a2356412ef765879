//! Whole HTTP/2 conversations with a scripted server.

mod exchanges;
mod flow;
mod hostile;
mod limits;
mod properties;
mod script;
mod traffic;

use bytes::Bytes;

use super::ErrorCode;
use crate::{Closing, Event, Head, Limits, StartError};
use script::{Frame, GRPC, Server, grpc_response};

fn head() -> Head {
    crate::grpc::head("/pkg.Service/Method", "localhost", None)
        .build()
        .unwrap()
}

fn body() -> Bytes {
    crate::grpc::frame_message(b"hello", false).unwrap()
}

#[test]
fn preface_settings_and_first_call_leave_together() {
    let mut server = Server::silent(Limits::default());
    server.start(&head(), &body(), 7);
    let frames = server.frames();
    let kinds: Vec<&str> = frames.iter().map(Frame::name).collect();
    assert_eq!(kinds, ["SETTINGS", "WINDOW_UPDATE", "HEADERS", "DATA"]);
    // ENABLE_PUSH = 0, INITIAL_WINDOW_SIZE = 16 MiB, MAX_HEADER_LIST_SIZE = 64 KiB.
    assert_eq!(
        frames[0].payload,
        b"\0\x02\0\0\0\0\0\x04\x01\0\0\0\0\x06\0\x01\0\0"
    );
    assert_eq!(frames[1].payload, ((64u32 << 20) - 65_535).to_be_bytes());
    assert_eq!((frames[2].stream, frames[2].flags), (1, 0x4));
    assert_eq!((frames[3].stream, frames[3].flags), (1, 0x1));
    assert_eq!(frames[3].payload, body());
    assert_eq!(
        server.read_head(&frames[2]),
        [
            ":method=POST",
            ":scheme=http",
            ":authority=localhost",
            ":path=/pkg.Service/Method",
            "content-type=application/grpc",
            "te=trailers",
        ]
    );
}

#[test]
fn one_call_waits_for_the_servers_settings_and_then_many_may_start() {
    let mut server = Server::silent(Limits::default());
    assert_eq!(server.played.client.capacity(), 1);
    server.start(&head(), &body(), 1);
    assert_eq!(server.try_start(&head(), &body(), 2), Err(StartError::Full));
    server.settings(&[(3, 25)]);
    assert_eq!(server.played.client.capacity(), 24);
    server.settings(&[(3, 0)]);
    assert_eq!(server.played.client.capacity(), 0);
    let frames = server.frames();
    assert_eq!(
        frames
            .iter()
            .filter(|f| f.name() == "SETTINGS" && f.flags == 1)
            .count(),
        2
    );
}

#[test]
fn a_grpc_response_comes_as_events_in_order() {
    let mut server = Server::ready();
    server.start(&head(), &body(), 7);
    let response = grpc_response(&mut server, 1, b"\0\0\0\0\x02hi");
    assert_eq!(
        server.input(&response),
        [
            "7 first byte",
            "7 head 200 content-type=application/grpc",
            r"7 body \x00\x00\x00\x00\x02hi",
            "7 trailers grpc-status=0",
            "7 complete",
        ]
    );
    assert_eq!(server.played.client.in_flight(), 0);
}

#[test]
fn a_trailers_only_response_is_a_head_that_ends() {
    let mut server = Server::ready();
    server.start(&head(), &body(), 7);
    let block = server.block(&[(":status", "200"), GRPC, ("grpc-status", "12")]);
    let lines = server.input(&Frame::headers(1, &block).end_stream().bytes());
    let head = "7 head 200 content-type=application/grpc grpc-status=12 end";
    assert_eq!(lines, ["7 first byte", head, "7 complete"]);
}

#[test]
fn interim_responses_empty_data_and_bodies_without_trailers() {
    let mut server = Server::ready();
    server.start(&head(), &body(), 7);
    let interim = server.block(&[(":status", "103"), ("link", "x")]);
    let head = server.block(&[(":status", "204")]);
    let bytes = [
        Frame::headers(1, &interim).bytes(),
        Frame::headers(1, &head).bytes(),
        Frame::data(1, b"").bytes(),
        Frame::data(1, b"").end_stream().bytes(),
    ];
    let lines = server.input(&bytes.concat());
    assert_eq!(
        lines,
        ["7 first byte", "7 interim 103", "7 head 204", "7 complete"]
    );
}

#[test]
fn many_calls_share_one_write_and_the_steady_state_is_indices() {
    let mut server = Server::ready();
    let shared = head();
    for token in 0..6 {
        server.start(&shared, &body(), token);
    }
    let frames = server.frames();
    assert_eq!(frames.len(), 12);
    let heads: Vec<&Frame> = frames.iter().filter(|f| f.name() == "HEADERS").collect();
    for head in &heads {
        assert_eq!(server.read_head(head)[3], ":path=/pkg.Service/Method");
    }
    assert!(
        heads[1..].iter().all(|head| head.payload.len() == 6),
        "six fields, one byte each"
    );
}

#[test]
fn responses_may_come_in_any_order_and_interleaved() {
    let mut server = Server::ready();
    server.start(&head(), &body(), 10);
    server.start(&head(), &body(), 20);
    let (first, second) = (
        grpc_response(&mut server, 3, b"b"),
        grpc_response(&mut server, 1, b"a"),
    );
    let lines = server.input(&[first, second].concat());
    let ends: Vec<&String> = lines.iter().filter(|l| l.ends_with("complete")).collect();
    assert_eq!(ends, ["20 complete", "10 complete"]);
}

#[test]
fn pings_are_answered_and_answers_to_pings_are_not() {
    let mut server = Server::ready();
    server.input(&Frame::new(6, 0, 0, b"12345678").bytes());
    server.input(&Frame::new(6, 1, 0, b"12345678").bytes());
    let frames = server.frames();
    assert_eq!(frames.len(), 1);
    assert_eq!((frames[0].name(), frames[0].flags), ("PING", 1));
    assert_eq!(frames[0].payload, b"12345678");
}

#[test]
fn a_ping_is_written_beside_calls_and_its_acknowledgement_is_reported() {
    let mut server = Server::ready();
    server.start(&head(), &body(), 7);
    server.frames();
    let before = *server.played.client.traffic();
    assert!(server.played.client.ping());
    let frames = server.frames();
    assert_eq!(frames.len(), 1);
    assert_eq!(
        (frames[0].name(), frames[0].flags, frames[0].stream),
        ("PING", 0, 0)
    );
    assert_eq!(frames[0].payload.len(), 8);
    let lines = server.input(&Frame::new(6, 1, 0, &frames[0].payload).bytes());
    assert!(lines.is_empty(), "no event of a call: {lines:?}");
    let bytes = server.played.client.traffic().since(&before);
    assert_eq!((bytes.sent.overhead, bytes.sent.total()), (17, 17));
    assert_eq!((bytes.received.overhead, bytes.received.total()), (17, 17));
    let response = grpc_response(&mut server, 1, b"a");
    let lines = server.input(&response);
    assert_eq!(lines.last().map(String::as_str), Some("7 complete"));
}

#[test]
fn a_connection_that_is_over_takes_no_ping() {
    let mut server = Server::ready();
    server.played.client.shut_down();
    server.frames();
    assert!(!server.played.client.ping());
    assert!(server.frames().is_empty());
}

#[test]
fn a_cancelled_call_is_reset_and_its_late_frames_are_ignored() {
    let mut server = Server::ready();
    server.start(&head(), &body(), 7);
    assert!(!server.played.client.cancel(8));
    assert!(server.played.client.cancel(7));
    let frames = server.frames();
    let last = frames.last().unwrap();
    assert_eq!(
        (last.name(), &last.payload[..]),
        ("RST_STREAM", &8u32.to_be_bytes()[..])
    );
    let late = grpc_response(&mut server, 1, b"late");
    assert_eq!(server.input(&late), Vec::<String>::new());
    // Its fields still update the HPACK table.
    server.start(&head(), &body(), 9);
    let response = grpc_response(&mut server, 3, b"x");
    assert_eq!(server.input(&response).last().unwrap(), "9 complete");
}

#[test]
fn a_reset_by_the_server_says_whether_the_call_was_processed() {
    for (code, not_processed) in [(0x7, true), (0x2, false)] {
        let mut server = Server::ready();
        server.start(&head(), &body(), 7);
        let mut failures = Vec::new();
        let reset = Frame::new(3, 0, 1, &u32::to_be_bytes(code)).bytes();
        server.played.client.input(&reset, &mut |event: Event<'_>| {
            if let Event::Failed { token, failure } = event {
                failures.push((token, failure));
            }
        });
        assert_eq!(
            failures,
            [(
                7,
                crate::Failure::Reset {
                    code: ErrorCode(code)
                }
            )]
        );
        assert_eq!(failures[0].1.not_processed(), not_processed);
        assert_eq!(server.played.client.in_flight(), 0);
        assert!(!server.played.client.is_closed());
    }
}

#[test]
fn goaway_fails_what_was_not_processed_and_lets_the_rest_end() {
    let mut server = Server::ready();
    for token in [10, 20, 30] {
        server.start(&head(), &body(), token);
    }
    let lines = server.input(&Frame::goaway(3, 0).bytes());
    assert_eq!(
        lines,
        [
            "30 failed: the server is going away (NO_ERROR) and did not process the call",
            "closing: the server is going away (NO_ERROR)",
        ]
    );
    assert_eq!(server.played.client.capacity(), 0);
    assert_eq!(
        server.try_start(&head(), &body(), 40),
        Err(StartError::Closing)
    );
    assert!(!server.played.client.is_closed());
    for (stream, token) in [(1, 10), (3, 20)] {
        let response = grpc_response(&mut server, stream, b"x");
        assert_eq!(
            server.input(&response).last().unwrap(),
            &format!("{token} complete")
        );
    }
    assert!(server.played.client.is_closed());
    // A second GOAWAY may lower the number but not raise it.
    assert_eq!(
        server.input(&Frame::goaway(1, 0).bytes()),
        Vec::<String>::new()
    );
    server.input(&Frame::goaway(3, 0).bytes());
    assert_eq!(server.frames().last().unwrap().name(), "GOAWAY");
}

#[test]
fn the_end_of_the_transport_fails_calls_by_stage() {
    let mut server = Server::ready();
    for token in [1, 2, 3] {
        server.start(&head(), &body(), token);
    }
    let block = server.block(&[(":status", "200")]);
    let mut started = Frame::headers(5, &block).bytes();
    started.truncate(9);
    let bytes = [Frame::headers(3, &block).bytes(), started].concat();
    server.input(&bytes);
    assert_eq!(
        server.played.end(true),
        [
            "1 failed: the connection closed before the response",
            "2 failed: the connection closed in the middle of the response body",
            "3 failed: the connection closed in the middle of the response head",
            "closing: the connection ended",
        ]
    );
    assert!(server.played.client.is_closed());
    assert_eq!(server.played.end(true), Vec::<String>::new());
}

#[test]
fn a_response_that_needs_no_more_of_the_request_completes() {
    let mut server = Server::ready();
    server.start(&head(), &Bytes::from(vec![0; 200_000]), 7);
    server.frames();
    assert!(
        !server.played.client.is_all_sent(),
        "the window of 65,535 holds it back"
    );
    let response = grpc_response(&mut server, 1, b"no");
    assert_eq!(server.input(&response).last().unwrap(), "7 complete");
    assert_eq!(server.frames().last().unwrap().name(), "RST_STREAM");
    assert!(server.played.client.is_all_sent());
}

#[test]
fn shutting_down_says_goaway_and_waits_for_the_calls() {
    let mut server = Server::ready();
    server.start(&head(), &body(), 7);
    server.played.client.shut_down();
    assert_eq!(server.frames().last().unwrap().name(), "GOAWAY");
    assert!(!server.played.client.is_closed());
    let response = grpc_response(&mut server, 1, b"x");
    server.input(&response);
    assert!(server.played.client.is_closed());
}

#[test]
fn a_head_larger_than_the_server_accepts_is_not_sent() {
    let mut server = Server::ready();
    server.settings(&[(6, 100)]);
    server.frames();
    let error = server.try_start(&head(), &body(), 1).unwrap_err();
    assert!(
        matches!(error, StartError::HeadTooLarge { accepted: 100, .. }),
        "{error}"
    );
    assert_eq!(server.frames(), []);
    server.settings(&[(6, 1000)]);
    server.start(&head(), &body(), 1);
}

#[test]
fn a_long_head_goes_on_in_continuation_frames() {
    let mut server = Server::ready();
    let long = Head::builder("GET", "/", "a")
        .field("x-long", "~".repeat(40_000))
        .build()
        .unwrap();
    server.start(&long, &Bytes::new(), 1);
    let frames = server.frames();
    let kinds: Vec<_> = frames.iter().map(|f| (f.name(), f.flags)).collect();
    let expected = [("HEADERS", 0x1), ("CONTINUATION", 0), ("CONTINUATION", 0x4)];
    assert_eq!(kinds, expected);
    let whole = Frame::headers(
        1,
        &frames
            .iter()
            .flat_map(|f| f.payload.clone())
            .collect::<Vec<_>>(),
    );
    assert_eq!(server.read_head(&whole)[4].len(), 7 + 40_000);
}

#[test]
fn table_size_changes_in_mid_flight_are_followed() {
    let mut server = Server::ready();
    let shared = head();
    for (call, size) in [
        (0u32, 4096),
        (1, 0),
        (2, 0),
        (3, 4096),
        (4, 4096),
        (5, 60),
        (6, 200),
    ] {
        server.settings(&[(1, size)]);
        server.hpack.set_allowed_size(size);
        server.start(&shared, &body(), u64::from(call));
        let frames = server.frames();
        let headers = frames.iter().find(|f| f.name() == "HEADERS").unwrap();
        assert_eq!(server.read_head(headers).len(), 6);
    }
}

#[test]
fn after_the_last_stream_number_no_call_is_started() {
    const LAST: u32 = (1 << 31) - 1;
    let mut connection = super::Connection::new(Limits::default());
    connection.calls.next_stream = LAST - 2;
    connection.input(&Frame::settings(&[]).bytes(), &mut |_: Event<'_>| ());
    for token in [1, 2] {
        assert_eq!(connection.start(&head(), &body(), token), Ok(()));
    }
    assert_eq!(connection.capacity(), 0);
    assert_eq!(
        connection.start(&head(), &body(), 3),
        Err(StartError::Closing)
    );
    let mut complete = Vec::new();
    for stream in [LAST, LAST - 2] {
        assert!(!connection.is_closed());
        let response = Frame::headers(stream, &[0x88]).end_stream().bytes();
        connection.input(&response, &mut |event: Event<'_>| match event {
            Event::Complete { token } => complete.push(token),
            Event::Failed { failure, .. } => panic!("{failure}"),
            _ => {}
        });
    }
    assert_eq!(complete, [2, 1]);
    assert!(connection.is_closed());
}

#[test]
fn a_goaway_reason_is_kept() {
    let mut server = Server::ready();
    let mut reasons = Vec::new();
    server
        .played
        .client
        .input(&Frame::goaway(0, 0xb).bytes(), &mut |event: Event<'_>| {
            if let Event::Closing { reason } = event {
                reasons.push(reason);
            }
        });
    assert_eq!(
        reasons,
        [Closing::GoAway {
            code: ErrorCode::ENHANCE_YOUR_CALM
        }]
    );
    assert!(server.played.client.is_closed());
}
