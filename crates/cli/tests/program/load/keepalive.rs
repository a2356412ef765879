//! Connections on which the server stays silent.

use std::io::{Read as _, Write as _};

use super::{figures, serving};
use crate::common::{Place, report};

#[test]
fn calls_on_a_connection_that_fell_silent_fail_before_their_deadline() {
    const EMPTY_SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let place = Place::new();
    // The server reads, but sends nothing except its SETTINGS.
    let server = serving(|mut stream| {
        let _ = stream.write_all(&EMPTY_SETTINGS);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let finished = place.line(&format!(
        "load http://{server}/ --http 2 --warmup 0s --deadline 1h --keepalive 1s --keepalive-timeout 1s \
         --calls 2 --in-flight 2 --out run"
    ));
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
fn a_keep_alive_that_cannot_be_had_is_refused() {
    let place = Place::new();
    let load = |words: &[&str]| place.run(&[&["load", "http://localhost:1/"], words].concat());
    load(&["--keepalive", "10ms"]).refused(&["--keepalive", "at least 1s"]);
    load(&["--keepalive", "soon"]).refused(&["--keepalive", "soon"]);
    load(&["--keepalive-timeout", "5s"]).refused(&["--keepalive"]);
}
