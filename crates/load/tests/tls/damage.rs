//! Handshakes and records that are truncated, late, or damaged.

use std::io::{Read, Write};
use std::time::Duration;

use proptest::prelude::*;
use rpcgauge_trial::{ConnectionUse, Fault, Stop};

use super::support::tls::*;
use super::support::*;
use super::{BOTH_USES, assert_all_fail};

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
fn a_response_without_an_end_of_its_own_needs_a_close_notify() {
    let authority = Authority::new();
    let response = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nuntil the end";
    let address = serve_tls(authority.server(&Serving::default()), |mut tunnel| {
        let _ = read_request(&mut tunnel);
        let _ = tunnel.write_all(response);
        end(tunnel);
    });
    assert_answered(&run(&authority.trial(address), &[b"x"]), 100);

    let address = serve_tls(authority.server(&Serving::default()), |mut tunnel| {
        let _ = read_request(&mut tunnel);
        let _ = tunnel.write_all(response);
    });
    let trial = authority.trial(address);
    let text = "without a TLS close_notify";
    assert_all_fail(&trial, "connection-closed", Fault::Subject, text);
}

#[test]
fn a_close_without_close_notify_after_a_whole_response_harms_none() {
    let authority = Authority::new();
    let address = serve_tls(authority.server(&Serving::default()), |mut tunnel| {
        if let Some((_, body)) = read_request(&mut tunnel) {
            let _ = tunnel.write_all(&ok(&body));
        }
        // Shuts the socket down without a close_notify.
        let _ = tunnel.sock.shutdown(std::net::Shutdown::Both);
    });
    let mut trial = authority.trial(address);
    trial.connection_use = ConnectionUse::PerCall;
    assert_answered(&run(&trial, &[b"x"]), 100);
}

#[test]
fn a_record_that_was_tampered_with_is_no_response() {
    let authority = Authority::new();
    let address = serve_tls(authority.server(&Serving::default()), |mut tunnel| {
        let _ = read_request(&mut tunnel);
        let mut record = vec![23, 3, 3, 0, 40];
        record.resize(45, 0xa5);
        let _ = tunnel.sock.write_all(&record);
        let _ = tunnel.sock.read_to_end(&mut Vec::new());
    });
    let trial = authority.trial(address);
    assert_all_fail(&trial, "protocol", Fault::Subject, "invalid TLS");
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
        let mut trial = authority.trial(serve_faulty(&authority, damage));
        trial.connection_use = BOTH_USES[usize::from(per_call)];
        trial.stop = Stop { calls: Some(8), time_ms: Some(300) };
        trial.deadline = Duration::from_millis(60);
        trial.drain = Duration::from_millis(60);
        trial.patience = Duration::from_millis(150);
        let measurement = run(&trial, &[&[b'y'; 3000]]);
        assert_sums_hold(&measurement);
        prop_assert!(measurement.calls.started <= 8);
    }
}
