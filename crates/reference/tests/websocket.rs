//! WebSockets at the REST path of a bidirectional method, with the client side of tungstenite.

mod common;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use common::{PATIENCE, Running, read_to_close};
use rpcgauge_message::{Limits, WorkloadSpec};
use rpcgauge_reference::{ServerOptions, Timeouts};
use serde_json::{Value, json};
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{Data, OpCode};
use tungstenite::protocol::{Message, Role, WebSocket};

type Socket = WebSocket<TcpStream>;

/// The key and its answer from RFC 6455 §1.3.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

fn items() -> ServerOptions {
    ServerOptions::new(WorkloadSpec::Items {})
}

/// A request for a WebSocket; `fields` are those of the handshake.
fn request(path: &str, fields: &[&str]) -> String {
    let fields = fields.join("\r\n");
    format!("GET {path} HTTP/1.1\r\nhost: a\r\n{fields}\r\n\r\n")
}

const FIELDS: [&str; 4] = [
    "Connection: keep-alive, Upgrade",
    "Upgrade: WebSocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

fn open(server: &Running) -> Socket {
    let mut stream = server.raw();
    let asked = request("/items", &FIELDS);
    assert!(asked.contains(KEY));
    stream.write_all(asked.as_bytes()).expect("sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("a text");
    assert!(
        head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"),
        "{head}"
    );
    let has = |field: &str| head.lines().any(|line| line.eq_ignore_ascii_case(field));
    assert!(
        has("upgrade: websocket") && has("connection: upgrade"),
        "{head}"
    );
    assert!(
        head.contains(&format!("sec-websocket-accept: {ACCEPT}\r\n")),
        "{head}"
    );
    WebSocket::from_raw_socket(stream, Role::Client, None)
}

/// The id of the item that follows.
fn next_id(socket: &mut Socket) -> u64 {
    let message = socket.read().expect("a message");
    let item: Value = serde_json::from_str(message.to_text().expect("a text")).expect("JSON");
    item["id"].as_u64().expect("an id")
}

fn ask(id: u64) -> Message {
    Message::text(json!({"id": id}).to_string())
}

/// The code and the reason with which the server closes, and what it then sends.
fn closed(socket: &mut Socket) -> (u16, String) {
    loop {
        match socket.read().expect("a close frame") {
            Message::Close(Some(frame)) => {
                let ended = socket.flush();
                assert!(ended.is_ok(), "{ended:?}");
                return (frame.code.into(), frame.reason.to_string());
            }
            Message::Close(None) => panic!("no code"),
            _ => {}
        }
    }
}

#[test]
fn each_message_has_its_response() {
    let server = Running::start(&items());
    let mut socket = open(&server);
    for id in [7, 9, 8] {
        socket.send(ask(id)).expect("sent");
    }
    assert_eq!([(); 3].map(|()| next_id(&mut socket)), [7, 9, 8]);
    for id in 1..4 {
        socket.send(ask(id)).expect("sent");
        assert_eq!(next_id(&mut socket), id, "in turn");
    }
    socket.send(Message::binary(r#"{"id":5}"#)).expect("sent");
    assert_eq!(next_id(&mut socket), 5);
    let fragment = |text: &'static str, opcode, last| {
        Message::Frame(Frame::message(text, OpCode::Data(opcode), last))
    };
    socket
        .send(fragment("{\"id\"", Data::Text, false))
        .expect("sent");
    socket.send(Message::Ping("ping".into())).expect("sent");
    assert_eq!(socket.read().expect("a pong"), Message::Pong("ping".into()));
    socket
        .send(fragment(":6}", Data::Continue, true))
        .expect("sent");
    assert_eq!(next_id(&mut socket), 6);
    socket.close(None).expect("sent");
    assert_eq!(socket.read().expect("an answer"), Message::Close(None));
    assert!(socket.read().is_err(), "the server closes the connection");
}

#[test]
fn what_cannot_be_answered_closes_the_websocket() {
    let limits = Limits {
        max_message_bytes: 200,
        ..Limits::DEFAULT
    };
    let server = Running::start(&ServerOptions { limits, ..items() });
    for (message, code, reason) in [
        (Message::text("{\"id\":"), 1007, ""),
        (ask(0), 1007, "id is 0"),
        (Message::text("a".repeat(201)), 1009, "201"),
        (
            Message::Frame(Frame::message("", OpCode::Data(Data::Continue), true)),
            1002,
            "",
        ),
        (
            Message::Frame(Frame::message(vec![0xff], OpCode::Data(Data::Text), true)),
            1007,
            "",
        ),
    ] {
        let mut socket = open(&server);
        socket.send(ask(3)).expect("sent");
        assert_eq!(next_id(&mut socket), 3);
        socket.send(message).expect("sent");
        let (closed, why) = closed(&mut socket);
        assert_eq!(closed, code, "{why}");
        assert!(why.contains(reason) && !why.is_empty(), "{why}");
    }
    server.assert_alive();
}

#[test]
fn a_client_that_is_silent_is_closed() {
    let server = Running::start(&ServerOptions {
        timeouts: Timeouts {
            request_body: Duration::from_millis(50),
            ..Timeouts::DEFAULT
        },
        ..items()
    });
    let mut socket = open(&server);
    let (code, why) = closed(&mut socket);
    assert_eq!((code, &*why), (1008, "no message arrived within 50ms"));
}

#[test]
fn a_server_that_stops_closes_its_websockets() {
    let mut server = Running::start(&items());
    let mut socket = open(&server);
    socket.send(ask(3)).expect("sent");
    assert_eq!(next_id(&mut socket), 3);
    server.end();
    assert_eq!(closed(&mut socket).0, 1001);
}

#[test]
fn a_message_that_does_not_fit_into_the_budget_closes_its_websocket() {
    let server = Running::start(&ServerOptions {
        memory: 128 << 10,
        ..items()
    });
    let mut socket = open(&server);
    let long = format!("{{\"id\":3,\"x\":\"{}\"}}", "a".repeat(200 << 10));
    // The server may close before it has read everything.
    let _ = socket.send(Message::text(long));
    assert_eq!(closed(&mut socket).0, 1013);
    server.assert_alive();
}

#[test]
fn a_handshake_that_is_wrong_is_refused() {
    let status = |server: &Running, request: &str| {
        let mut stream = server.raw();
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        let request = request.replace("host: a", "host: a\r\nconnection: close");
        stream.write_all(request.as_bytes()).expect("sent");
        let response = String::from_utf8(read_to_close(stream)).expect("a text");
        let status = response.split(' ').nth(1).map(str::to_owned);
        (status.unwrap_or_default(), response)
    };
    let server = Running::start(&items());
    let without = |dropped: usize, more: &'static str| {
        let mut fields = FIELDS.to_vec();
        fields[dropped] = more;
        request("/items", &fields)
    };
    for (request, code, detail) in [
        (without(0, "x: y"), "400", "connection: upgrade"),
        (without(1, "upgrade: h2c"), "405", "use POST"),
        (without(2, "sec-websocket-version: 8"), "426", "must be 13"),
        (without(3, "x: y"), "400", "16 bytes in base64"),
        (
            without(3, "sec-websocket-key: YQ=="),
            "400",
            "16 bytes in base64",
        ),
        (request("/other", &FIELDS), "404", "unknown path"),
    ] {
        let (got, response) = status(&server, &request);
        assert_eq!(got, code, "{response}");
        assert!(response.contains(detail), "{response}");
    }
    let unary = Running::hello();
    assert_eq!(status(&unary, &request("/hello", &FIELDS)).0, "405");
}
