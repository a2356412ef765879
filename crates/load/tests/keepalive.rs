//! Connections that become silent.

mod support;

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rpcgauge_load::{LoadError, Protocol, Trial};
use rpcgauge_trial::{Address, Keepalive, Schedule};
use support::frames::*;
use support::*;

/// How a server behaves on a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Answers calls after it has acknowledged this many PINGs.
    RespondsAfterPings(u64),
    /// Reads, and sends only its SETTINGS.
    FallsSilent,
}

/// A scripted server, and the number of PINGs that it has read.
fn server(does: Does) -> (Address, Arc<AtomicU64>) {
    let pings = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&pings);
    let address = serve(move |stream| play(stream, does, &seen));
    (address, pings)
}

fn play(mut stream: TcpStream, does: Does, pings: &AtomicU64) {
    let _ = stream.write_all(&settings());
    if !read_preface(&mut stream) {
        return;
    }
    let (mut waiting, mut acknowledged) = (Vec::new(), 0);
    while let Some(sent) = next(&mut stream) {
        if sent.kind == PING {
            pings.fetch_add(1, Ordering::SeqCst);
        }
        let Does::RespondsAfterPings(wanted) = does else {
            continue;
        };
        match sent.kind {
            HEADERS => waiting.push(sent.stream),
            PING => {
                acknowledged += 1;
                let _ = stream.write_all(&frame(PING, ACK, 0, &sent.payload));
            }
            _ => {}
        }
        if acknowledged >= wanted {
            let responses: Vec<u8> = waiting.drain(..).flat_map(ok_frame).collect();
            let _ = stream.write_all(&responses);
        }
    }
}

/// A trial over HTTP/2 whose deadline is never reached in a test.
fn kept(address: Address) -> Trial {
    let mut trial = trial(address);
    trial.endpoint.protocol = Protocol::Http2;
    trial.expect.content_type = None;
    trial.schedule = Schedule::Closed { in_flight: 2 };
    trial.stop.calls = Some(2);
    trial.deadline = Duration::from_secs(600);
    trial.drain = trial.deadline;
    trial.patience = trial.deadline;
    trial.keepalive = Some(Keepalive {
        time_ms: 100,
        timeout_ms: 100,
    });
    trial
}

#[test]
fn calls_of_a_connection_that_fell_silent_fail_long_before_their_deadline() {
    for method in ["POST", "GET"] {
        let (address, pings) = server(Does::FallsSilent);
        let mut trial = kept(address);
        trial.request.style = rpcgauge_load::CallStyle::Http {
            method: method.to_owned(),
        };
        let measurement = run(&trial, &[b""]);
        assert_sums_hold(&measurement);
        // Without keep-alive, they would fail as `deadline` after ten minutes.
        let lost = [("connection-lost".to_owned(), 2)];
        assert_eq!(failures(&measurement), lost, "{method}");
        assert_eq!(
            measurement.calls.retried, 0,
            "{method}: it may have been processed"
        );
        assert!(pings.load(Ordering::SeqCst) <= 1, "{method}: asked once");
        let text = &measurement.error_samples[0].text;
        assert!(text.contains("after a PING (keep-alive)"), "{text}");
    }
}

#[test]
fn a_slow_server_that_acknowledges_pings_keeps_its_calls() {
    let (address, pings) = server(Does::RespondsAfterPings(3));
    let mut trial = kept(address);
    // Even on a busy machine, an acknowledgement never takes as long as the timeout.
    trial.keepalive = Some(Keepalive {
        time_ms: 50,
        timeout_ms: 300_000,
    });
    let measurement = run(&trial, &[b""]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.calls.answered, 2);
    assert!(pings.load(Ordering::SeqCst) >= 3);
    // The server's SETTINGS may be included, so this is a minimum.
    let overhead = traffic(&measurement).received.overhead;
    assert!(overhead >= 3 * 17, "{overhead} bytes of overhead received");
    assert_eq!(traffic(&measurement).received.bodies, 0);
}

#[test]
fn over_http1_keepalive_is_left_to_the_system() {
    let mut trial = trial(serve(respond_with(|_| ok(b"x"))));
    trial.keepalive = Some(Keepalive {
        time_ms: 1,
        timeout_ms: 1,
    });
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.calls.answered, 100);
}

#[test]
fn times_of_zero_are_refused() {
    let mut trial = kept(unused_address());
    trial.keepalive = Some(Keepalive {
        time_ms: 0,
        timeout_ms: 20_000,
    });
    let refused = run_with(&trial, prepared(&[b""]));
    assert!(matches!(refused, Err(LoadError::Setting { .. })));
}
