//! Successful calls over TLS, and their counts.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use rpcgauge_load::TlsSettings;
use rpcgauge_trial::{ConnectionUse, Schedule, Stage, Timing};
use rustls::{ServerConnection, StreamOwned};

use super::support::tls::*;
use super::support::*;
use super::{BOTH_USES, echo_over_tls};

/// Bytes that TLS 1.3 adds to a record: its header, the content type, and the cipher's tag.
const RECORD_OVERHEAD: u64 = 5 + 1 + 16;

#[test]
fn records_are_counted_as_overhead_and_the_rest_as_without_tls() {
    let authority = Authority::new();
    let mut config = authority.server(&Serving::default());
    // Tickets would arrive with the first response or before it.
    config.send_tls13_tickets = 0;
    let address = serve_tls(config, respond_with(ok));
    let measurement = run(&authority.trial(address), &[b"hello", b"longer text"]);
    assert_answered(&measurement, 100);
    let plain = run(&trial(serve(respond_with(ok))), &[b"hello", b"longer text"]);
    for (tls, plain) in [
        (traffic(&measurement).sent, traffic(&plain).sent),
        (traffic(&measurement).received, traffic(&plain).received),
    ] {
        assert_eq!((tls.headers, tls.bodies), (plain.headers, plain.bodies));
        assert_eq!(tls.overhead, plain.overhead + 100 * RECORD_OVERHEAD);
    }
}

#[test]
fn all_bytes_on_the_sockets_are_counted_handshakes_too() {
    let authority = Authority::new();
    for resumption in [true, false] {
        let wire = Wire::default();
        let seen = wire.clone();
        let address = serve_tls_over(
            authority.server(&Serving::default()),
            move |stream| Counting(stream, seen.clone()),
            respond_with(ok),
        );
        let settings = TlsSettings {
            resumption,
            ..authority.settings()
        };
        let mut trial = with_tls(trial(address), settings);
        trial.connection_use = ConnectionUse::PerCall;
        let measurement = run(&trial, &[b"x", &[b'y'; 50_000]]);
        assert_answered(&measurement, 100);
        assert_eq!(
            measurement.tls_resumed,
            if resumption { 99 } else { 0 },
            "all but the first resume a session"
        );
        while wire.over.load(Ordering::SeqCst) < 100 {
            thread::sleep(Duration::from_millis(1));
        }
        let traffic = &traffic(&measurement);
        assert_eq!(traffic.sent.total(), wire.read.load(Ordering::SeqCst));
        assert_eq!(
            traffic.received.total(),
            wire.written.load(Ordering::SeqCst)
        );
        assert_eq!(traffic.sent.bodies, 50 * 50_001);
    }
}

#[test]
fn large_bodies_go_both_ways_over_either_version_of_tls() {
    let authority = Authority::new();
    for only_tls12 in [false, true] {
        let serving = Serving {
            only_tls12,
            ..Serving::default()
        };
        let mut trial = authority.trial(echo_over_tls(&authority, &serving));
        trial.connections = 3;
        trial.schedule = Schedule::Closed { in_flight: 3 };
        trial.stop.calls = Some(12);
        let body: Vec<u8> = (0..3_000_000u32).map(|i| (i % 251) as u8).collect();
        let measurement = run(&trial, &[&body]);
        assert_answered(&measurement, 12);
        assert_eq!(traffic(&measurement).received.bodies, 12 * 3_000_000);
    }
}

#[test]
fn keys_that_change_between_responses_are_followed() {
    let authority = Authority::new();
    let address = serve_tls(authority.server(&Serving::default()), |mut tunnel| {
        while let Some((_, body)) = read_request(&mut tunnel) {
            tunnel.conn.refresh_traffic_keys().unwrap();
            if tunnel.write_all(&ok(&body)).is_err() {
                return;
            }
        }
    });
    assert_answered(&run(&authority.trial(address), &[b"x"]), 100);
}

#[test]
fn stages_have_the_handshake_in_the_connecting() {
    let authority = Authority::new();
    let mut trial = authority.trial(echo_over_tls(&authority, &Serving::default()));
    trial.timing = Timing::Stages;
    trial.connection_use = ConnectionUse::PerCall;
    let measurement = run(&trial, &[b"x"]);
    assert_answered(&measurement, 100);
    for stage in [Stage::Connect, Stage::Send, Stage::Wait] {
        assert_eq!(measurement.stages[&stage].count(), 100, "{stage:?}");
    }
}

#[test]
fn a_unix_socket_carries_tls_too() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().unwrap();
    let config = Arc::new(authority.server(&Serving::default()));
    let address = serve_unix(folder.path().join("socket"), move |stream| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        respond_with(ok)(StreamOwned::new(session, stream));
    });
    for connection_use in BOTH_USES {
        let mut trial = authority.trial(address.clone());
        trial.connection_use = connection_use;
        assert_answered(&run(&trial, &[b"x"]), 100);
    }
}

#[test]
fn input_that_comes_with_the_end_of_the_handshake_is_read() {
    let authority = Authority::new();
    let mut config = authority.server(&Serving::default());
    // Without tickets, nothing follows that would wake up the client.
    config.send_tls13_tickets = 0;
    config.send_half_rtt_data = true;
    let address = serve_tls(config, |mut tunnel| {
        let _ = tunnel.conn.writer().write_all(&ok(b"early"));
        let _ = tunnel.read_to_end(&mut Vec::new());
    });
    let mut trial = authority.trial(address);
    trial.connection_use = ConnectionUse::PerCall;
    assert_answered(&run(&trial, &[b"x"]), 100);
}
