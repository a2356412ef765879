//! `load` for a time, with calls whose number nobody knows.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::common::{Place, report};
use crate::served::{HELLO, Served};

fn calls(place: &Place) -> Value {
    let report = report(&place.path().join("run"));
    report["variants"][0]["cells"][0]["figures"]["calls"].clone()
}

/// Keeps the bodies of all requests, and answers them or not.
fn listening(answers: bool) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&bodies);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || keep_bodies(stream, &kept, answers));
        }
    });
    (format!("http://{address}/"), bodies)
}

/// A short request comes in one piece, and the next one after its response.
fn keep_bodies(mut stream: TcpStream, kept: &Mutex<Vec<String>>, answers: bool) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        let request = String::from_utf8_lossy(&buffer[..read]).into_owned();
        let body = request.split("\r\n\r\n").nth(1).unwrap_or_default();
        kept.lock().expect("unbroken").push(body.to_owned());
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        if answers && stream.write_all(answer).is_err() {
            return;
        }
    }
}

/// The command line of a load that ends by time.
fn timed<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["load", target, "--duration", "200ms", "--warmup", "0s"];
    [&words[..], &["--out", "run", "--quiet"], more].concat()
}

#[test]
fn messages_without_end_are_made_while_calls_are_made() {
    let place = Place::new();
    let (target, bodies) = listening(true);
    place.run(&timed(&target, &["--data", "{{n}}"])).well();
    let bodies = bodies.lock().expect("unbroken");
    // The look at the service has the first one too.
    let (look, sent) = bodies.split_first().expect("a call");
    assert_eq!(look, "0");
    let wanted: Vec<String> = (0..sent.len()).map(|n| n.to_string()).collect();
    assert_eq!(sent, wanted);
    let calls = calls(&place);
    assert_eq!(calls["started"], sent.len());
    assert_eq!(calls["answered"], calls["started"]);
}

#[test]
fn typed_messages_without_end_are_encoded_while_calls_are_made() {
    let place = Place::new();
    let served = Served::start(&place, &[]);
    let target = format!("grpc://{}/{HELLO}", served.address);
    let more = [
        "--data",
        r#"{"name": "{{uuid}}"}"#,
        "--request-compression",
        "gzip",
        "--in-flight",
        "4",
    ];
    place.run(&timed(&target, &more)).well();
    let calls = calls(&place);
    assert_eq!(calls["answered"], calls["started"]);
}

#[test]
fn calls_in_flight_at_the_end_are_cancelled_where_that_is_asked_for() {
    let place = Place::new();
    let (target, _) = listening(false);
    let more = ["--at-end", "cancel", "--deadline", "1s"];
    let ended = place.run(&timed(&target, &more));
    assert_eq!(ended.code, Some(1), "no call succeeded: {ended:?}");
    let calls = calls(&place);
    assert_eq!(
        (&calls["started"], &calls["abandoned"]),
        (&1.into(), &1.into())
    );
}
