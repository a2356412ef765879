//! Connections on which nothing comes.

use std::io::{Read as _, Result, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::{Service, figures};
use crate::common::{Place, report};

/// A load by HTTP/2 whose calls no deadline ends while a test runs.
fn kept<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["load", target, "--http", "2", "--warmup", "0s"];
    let ends = ["--deadline", "1h", "--keepalive", "1s", "--out", "run"];
    [&words[..], &ends, more].concat()
}

/// What a server does with a call.
#[derive(Clone, Copy)]
enum Does {
    /// Answers it once it was asked for a sign of life.
    AnswersAfterPing,
    /// Reads it, and says nothing.
    FallsSilent,
}

/// A server of HTTP/2 by hand.
fn server(does: Does) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // The client ends the connection when it likes.
            std::thread::spawn(move || play(stream, does));
        }
    });
    address
}

fn play(mut stream: TcpStream, does: Does) -> Result<()> {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const EMPTY_SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const HEADERS: u8 = 1;
    const PING: u8 = 6;
    stream.write_all(&EMPTY_SETTINGS)?;
    stream.read_exact(&mut vec![0; PREFACE.len()])?;
    let mut waiting = Vec::new();
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header)?;
        let [high, middle, low, kind, _, id @ ..] = header;
        let length = u32::from_be_bytes([0, high, middle, low]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload)?;
        match (does, kind) {
            (Does::AnswersAfterPing, HEADERS) => waiting.push(id),
            (Does::AnswersAfterPing, PING) => {
                // Its acknowledgement.
                stream.write_all(&[0, 0, 8, PING, 1, 0, 0, 0, 0])?;
                stream.write_all(&payload)?;
                for id in waiting.drain(..) {
                    // Status 200, the end of the headers and of the stream.
                    stream.write_all(&[0, 0, 1, HEADERS, 5])?;
                    stream.write_all(&id)?;
                    stream.write_all(&[0x88])?;
                }
            }
            (Does::AnswersAfterPing | Does::FallsSilent, _) => {}
        }
    }
}

#[test]
fn calls_on_a_connection_that_fell_silent_fail_before_their_deadline() {
    let place = Place::new();
    let target = format!("http://{}/", server(Does::FallsSilent));
    let more = ["--keepalive-timeout", "1s", "--calls", "2"];
    let finished = place.run(&kept(&target, &[&more[..], &["--in-flight", "2"]].concat()));
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(
        finished.stdout.contains("2 × connection-lost"),
        "{}",
        finished.stdout
    );
    let report = report(&place.path().join("run"));
    let calls = &figures(&report)["calls"];
    assert_eq!(calls["failed"]["connection-lost"], 2, "{calls}");
}

#[test]
fn a_slow_server_that_answers_pings_keeps_its_connection_and_its_calls() {
    let place = Place::new();
    let target = format!("http://{}/", server(Does::AnswersAfterPing));
    let more = ["--keepalive-timeout", "1h", "--calls", "1"];
    place.run(&kept(&target, &more)).well();
    let report = report(&place.path().join("run"));
    assert_eq!(figures(&report)["calls"]["answered"], 1);
}

#[test]
fn the_embedded_server_is_asked_between_calls_and_answers() {
    let place = Place::new();
    let service = Service::start(&place, "127.0.0.1:0");
    let target = service.http();
    let post = ["-X", "POST", "--data", r#"{"name":"Ada"}"#];
    // The second call is due 3 s after the first: a PING falls between them.
    let paced = [
        "--keepalive-timeout",
        "1h",
        "--calls",
        "2",
        "--rate",
        "0.333",
    ];
    place
        .run(&kept(&target, &[&post[..], &paced].concat()))
        .well();
    let report = report(&place.path().join("run"));
    let figures = figures(&report);
    assert_eq!(figures["calls"]["answered"], 2);
    assert_eq!(figures["connections"]["opened"], 0, "{figures}");
}

#[test]
fn a_keep_alive_that_cannot_be_had_is_refused() {
    let place = Place::new();
    let load = |words: &[&str]| place.run(&[&["load", "http://localhost:1/"], words].concat());
    load(&["--keepalive", "10ms"]).refused(&["--keepalive", "at least 1s"]);
    load(&["--keepalive", "soon"]).refused(&["--keepalive", "soon"]);
    load(&["--keepalive-timeout", "5s"]).refused(&["--keepalive"]);
}
