//! Trials over TLS against real servers (rustls), good ones and bad ones.

mod support;

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use rpcgauge_load::{
    Address, ConnectionUse, Fault, Measurement, Protocol, Schedule, Stage, Stop, Timing,
    TlsSettings, Trial,
};
use rustls::{ServerConnection, StreamOwned};
use support::tls::*;
use support::*;

/// Bytes that TLS 1.3 adds to a record: its header, the content's type, and the cipher's tag.
const RECORD_OVERHEAD: u64 = 5 + 1 + 16;

const BOTH_USES: [ConnectionUse; 2] = [ConnectionUse::Reuse, ConnectionUse::PerCall];

fn echo_over_tls(authority: &Authority, serving: &Serving) -> Address {
    serve_tls(authority.server(serving), answer_with(ok))
}

fn assert_answered(measurement: &Measurement, calls: u64) {
    assert_sums_hold(measurement);
    assert_eq!(
        measurement.calls.answered, calls,
        "{:?}",
        measurement.error_samples
    );
}

/// Checks that ten calls fail as they should, whatever the connections' use.
fn assert_all_fail(trial: &Trial, kind: &str, fault: Fault, text: &str) {
    for connection_use in BOTH_USES {
        let mut trial = trial.clone();
        trial.stop.calls = Some(10);
        trial.connection_use = connection_use;
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        assert_eq!(
            failures(&measurement),
            [(kind.to_owned(), 10)],
            "{connection_use:?}: {:?}",
            measurement.error_samples
        );
        let sample = &measurement.error_samples[0];
        assert!(sample.text.contains(text), "{}", sample.text);
        assert_eq!(sample.kind.fault(), fault);
    }
}

#[test]
fn records_are_counted_as_overhead_and_the_rest_as_without_tls() {
    let authority = Authority::new();
    let mut config = authority.server(&Serving::default());
    // Tickets come with the first answer, or before it.
    config.send_tls13_tickets = 0;
    let address = serve_tls(config, answer_with(ok));
    let measurement = run(&authority.trial(address), &[b"hello", b"longer text"]);
    assert_answered(&measurement, 100);
    let plain = run(&trial(serve(answer_with(ok))), &[b"hello", b"longer text"]);
    for (tls, plain) in [
        (measurement.traffic.sent, plain.traffic.sent),
        (measurement.traffic.received, plain.traffic.received),
    ] {
        assert_eq!((tls.header, tls.body), (plain.header, plain.body));
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
            answer_with(ok),
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
            "all but the first go on with a session"
        );
        while wire.over.load(Ordering::SeqCst) < 100 {
            thread::sleep(Duration::from_millis(1));
        }
        let traffic = &measurement.traffic;
        assert_eq!(traffic.sent.total(), wire.read.load(Ordering::SeqCst));
        assert_eq!(
            traffic.received.total(),
            wire.written.load(Ordering::SeqCst)
        );
        assert_eq!(traffic.sent.body, 50 * 50_001);
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
        assert_eq!(measurement.traffic.received.body, 12 * 3_000_000);
    }
}

#[test]
fn keys_that_change_between_answers_are_followed() {
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
        assert_eq!(measurement.stages[&stage].len(), 100, "{stage:?}");
    }
}

#[test]
fn a_unix_socket_carries_tls_too() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().unwrap();
    let config = Arc::new(authority.server(&Serving::default()));
    let address = serve_unix(folder.path().join("socket"), move |stream| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        answer_with(ok)(StreamOwned::new(session, stream));
    });
    for connection_use in BOTH_USES {
        let mut trial = authority.trial(address.clone());
        trial.connection_use = connection_use;
        assert_answered(&run(&trial, &[b"x"]), 100);
    }
}

#[test]
fn http2_is_agreed_on_and_spoken() {
    let authority = Authority::new();
    let mut trial = authority.trial(serve_http2(authority.server(&Serving::default())));
    trial.target.protocol = Protocol::Http2;
    trial.connections = 2;
    trial.schedule = Schedule::Closed { in_flight: 20 };
    let body = vec![b'x'; 300_000];
    let measurement = run(&trial, &[b"small", &body]);
    assert_answered(&measurement, 100);
    assert_eq!(measurement.traffic.sent.body, 50 * 300_005);
    assert_eq!(measurement.traffic.received.body, 50 * 300_005);
    trial.connection_use = ConnectionUse::PerCall;
    assert_answered(&run(&trial, &[b"small"]), 100);
}

#[test]
fn a_server_without_alpn_speaks_http_1_1() {
    let authority = Authority::new();
    let serving = Serving {
        alpn: Vec::new(),
        ..Serving::default()
    };
    let mut trial = authority.trial(echo_over_tls(&authority, &serving));
    assert_answered(&run(&trial, &[b"x"]), 100);
    trial.target.protocol = Protocol::Http2;
    let text = "the server does not speak HTTP/2 over TLS";
    assert_all_fail(&trial, "alpn", Fault::Server, text);
}

#[test]
fn a_server_of_the_other_version_only_is_told_so() {
    let authority = Authority::new();
    for (offered, protocol, version) in [
        (&b"http/1.1"[..], Protocol::Http2, "HTTP/2"),
        (b"h2", Protocol::Http1, "HTTP/1.1"),
    ] {
        let serving = Serving {
            alpn: vec![offered],
            ..Serving::default()
        };
        let mut trial = authority.trial(echo_over_tls(&authority, &serving));
        trial.target.protocol = protocol;
        let text = format!("the server does not speak {version} over TLS");
        assert_all_fail(&trial, "alpn", Fault::Server, &text);
    }
}

#[test]
fn a_certificate_that_is_not_good_enough_has_its_kind_and_its_remedy() {
    let (authority, other) = (Authority::named("ours"), Authority::named("theirs"));
    let made_anew = Authority::named("ours");
    let expired = Serving {
        years: (2001, 2002),
        ..Serving::default()
    };
    let not_yet = Serving {
        years: (2119, 2120),
        ..Serving::default()
    };
    let elsewhere = Serving {
        names: vec!["example.com"],
        ..Serving::default()
    };
    let sound = Serving::default();
    let table = [
        (&authority, &expired, "certificate-expired", "renew it"),
        (&authority, &not_yet, "certificate-expired", "renew it"),
        (&authority, &elsewhere, "certificate-name", "--server-name"),
        (&other, &sound, "certificate-unknown-issuer", "--cacert"),
        (
            &made_anew,
            &sound,
            "certificate-invalid",
            "check it and its CA",
        ),
    ];
    for (signer, serving, kind, remedy) in table {
        let address = serve_tls(signer.server(serving), answer_with(ok));
        let trial = authority.trial(address.clone());
        assert_all_fail(&trial, kind, Fault::Server, remedy);

        let insecure = TlsSettings {
            insecure: true,
            ..authority.settings()
        };
        assert_answered(&run(&with_tls(trial, insecure), &[b"x"]), 100);
    }
}

#[test]
fn the_name_to_verify_may_be_another_than_the_one_called() {
    let authority = Authority::new();
    let serving = Serving {
        names: vec!["example.com", "127.0.0.1"],
        ..Serving::default()
    };
    let address = echo_over_tls(&authority, &serving);
    for name in ["example.com", "127.0.0.1"] {
        let settings = TlsSettings {
            server_name: name.to_owned(),
            ..authority.settings()
        };
        let trial = with_tls(trial(address.clone()), settings);
        assert_answered(&run(&trial, &[b"x"]), 100);
    }
}

/// Serves what it must of a handshake that it will refuse, and reads on, so that its alert is not
/// lost to a reset.
fn refuse(mut tunnel: Tunnel) {
    let _ = tunnel.read(&mut [0; 100]);
    let _ = tunnel.sock.shutdown(std::net::Shutdown::Write);
    let _ = tunnel.sock.read_to_end(&mut Vec::new());
}

#[test]
fn a_client_certificate_is_shown_where_it_is_wanted() {
    let (authority, other) = (Authority::new(), Authority::new());
    for only_tls12 in [false, true] {
        let serving = Serving {
            wants_identity: true,
            only_tls12,
            ..Serving::default()
        };
        let with = |identity| TlsSettings {
            identity,
            ..authority.settings()
        };
        let address = echo_over_tls(&authority, &serving);
        let known = with_tls(trial(address), with(Some(authority.identity())));
        assert_answered(&run(&known, &[b"x"]), 100);

        let address = serve_tls(authority.server(&serving), refuse);
        let missing = with_tls(trial(address.clone()), with(None));
        let text = "the server wants a client certificate";
        assert_all_fail(&missing, "client-certificate", Fault::Client, text);
        let unknown = with_tls(trial(address), with(Some(other.identity())));
        let text = "does not take the client certificate";
        assert_all_fail(&unknown, "client-certificate", Fault::Client, text);
    }
}

#[test]
fn a_server_without_tls_is_told_so() {
    let authority = Authority::new();
    for bytes in [
        &b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"[..],
        b"\0\0\0\x04\0\0\0\0\0",
    ] {
        let address = serve(move |mut stream| {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(bytes);
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let trial = authority.trial(address);
        let text = "the server does not speak TLS here";
        assert_all_fail(&trial, "tls-handshake", Fault::Server, text);
    }
}

/// Wraps what `damage` does around a server's sockets.
fn faulty(authority: &Authority, damage: Damage) -> Address {
    let wrap = move |socket| Faulty {
        socket,
        damage,
        written: 0,
    };
    let config = authority.server(&Serving::default());
    serve_tls_over(config, wrap, answer_with(ok))
}

#[test]
fn a_cut_in_the_handshake_is_a_failed_handshake() {
    let authority = Authority::new();
    for end in [0, 1, 3, 5, 50, 200, 500] {
        let trial = authority.trial(faulty(&authority, Damage::CutAfter(end)));
        let text = "the TLS handshake failed";
        assert_all_fail(&trial, "tls-handshake", Fault::Server, text);
    }
}

#[test]
fn an_answer_that_comes_byte_by_byte_is_put_together() {
    let authority = Authority::new();
    for connection_use in BOTH_USES {
        let mut trial = authority.trial(faulty(&authority, Damage::Drip));
        trial.connection_use = connection_use;
        trial.stop.calls = Some(5);
        assert_answered(&run(&trial, &[&[b'x'; 2000]]), 5);
    }
}

#[test]
fn a_handshake_that_never_ends_is_given_up_at_the_deadline() {
    let authority = Authority::new();
    let address = serve(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let mut trial = authority.trial(address);
    trial.deadline = Duration::from_millis(30);
    trial.stop.calls = Some(5);
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.calls.failed_total(), 5);
    assert!(measurement.connects_failed > 0);
    let text = "the TLS handshake failed: it was not complete by the deadline";
    let samples = &measurement.error_samples;
    assert!(
        samples.iter().any(|sample| sample.text.contains(text)),
        "{samples:?}"
    );

    trial.connection_use = ConnectionUse::PerCall;
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(failures(&measurement), [("deadline".to_owned(), 5)]);
    assert_eq!(measurement.connects_failed, 5);
    let text = &measurement.error_samples[0].text;
    assert!(text.contains("before the call's connection"), "{text}");
}

#[test]
fn what_comes_with_the_end_of_the_handshake_is_not_left_lying() {
    let authority = Authority::new();
    let mut config = authority.server(&Serving::default());
    // Nothing follows by which the client would be woken.
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

#[test]
fn an_answer_without_an_end_of_its_own_needs_a_close_notify() {
    let authority = Authority::new();
    let answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nuntil the end";
    let address = serve_tls(authority.server(&Serving::default()), |mut tunnel| {
        let _ = read_request(&mut tunnel);
        let _ = tunnel.write_all(answer);
        end(tunnel);
    });
    assert_answered(&run(&authority.trial(address), &[b"x"]), 100);

    let address = serve_tls(authority.server(&Serving::default()), |mut tunnel| {
        let _ = read_request(&mut tunnel);
        let _ = tunnel.write_all(answer);
    });
    let trial = authority.trial(address);
    let text = "without TLS's close_notify";
    assert_all_fail(&trial, "connection-closed", Fault::Server, text);
}

#[test]
fn a_close_without_close_notify_after_a_whole_answer_harms_none() {
    let authority = Authority::new();
    let address = serve_tls(authority.server(&Serving::default()), |mut tunnel| {
        if let Some((_, body)) = read_request(&mut tunnel) {
            let _ = tunnel.write_all(&ok(&body));
        }
        // Until the client's next request would get lost.
        let _ = tunnel.sock.shutdown(std::net::Shutdown::Both);
    });
    let mut trial = authority.trial(address);
    trial.connection_use = ConnectionUse::PerCall;
    assert_answered(&run(&trial, &[b"x"]), 100);
}

#[test]
fn a_record_that_was_tampered_with_is_no_answer() {
    let authority = Authority::new();
    let address = serve_tls(authority.server(&Serving::default()), |mut tunnel| {
        let _ = read_request(&mut tunnel);
        let mut record = vec![23, 3, 3, 0, 40];
        record.resize(45, 0xa5);
        let _ = tunnel.sock.write_all(&record);
        let _ = tunnel.sock.read_to_end(&mut Vec::new());
    });
    let trial = authority.trial(address);
    assert_all_fail(&trial, "protocol", Fault::Server, "no sound TLS");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn every_call_is_counted_wherever_the_bytes_are_damaged(
        at in 0usize..6000,
        cut in any::<bool>(),
        per_call in any::<bool>(),
    ) {
        let authority = Authority::new();
        let damage = if cut { Damage::CutAfter(at) } else { Damage::FlipAt(at) };
        let mut trial = authority.trial(faulty(&authority, damage));
        trial.connection_use = BOTH_USES[usize::from(per_call)];
        trial.stop = Stop { calls: Some(8), time: Some(Duration::from_millis(300)) };
        trial.deadline = Duration::from_millis(60);
        trial.drain = Duration::from_millis(60);
        trial.patience = Duration::from_millis(150);
        let measurement = run(&trial, &[&[b'y'; 3000]]);
        assert_sums_hold(&measurement);
        prop_assert!(measurement.calls.started <= 8);
    }
}
