//! Loads over TLS.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{OK, answer_each, figures, serving, short};
use crate::common::{Place, report, wait_until};

/// A server that answers over TLS. Its certificate for `localhost` is written to `ca.pem`.
pub(super) fn answering_over_tls(place: &Place, answer: &'static str, alpn: &[&[u8]]) -> String {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let made = made.expect("a certificate");
    place.file("ca.pem", &made.cert.pem());
    let key = PrivateKeyDer::try_from(made.key_pair.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key);
    let mut config = config.expect("it fits its key");
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let config = Arc::new(config);
    let address = serving(move |stream| {
        let session = ServerConnection::new(Arc::clone(&config)).expect("a session");
        answer_each(StreamOwned::new(session, stream), |_| answer);
    });
    let port = address.port();
    format!("https://localhost:{port}/")
}

#[test]
fn tls_is_verified_unless_told_otherwise() {
    let place = Place::new();
    let target = answering_over_tls(&place, OK, &[b"http/1.1"]);
    place
        .run(&short(&target, &[]))
        .refused(&["is not trusted", "--cacert"]);
    let by_address = target.replace("localhost", "127.0.0.1");
    place
        .run(&short(&by_address, &["--cacert", "ca.pem"]))
        .refused(&["another name", "--server-name"]);
    let named = ["--cacert", "ca.pem", "--server-name", "localhost"];
    let shown = place.run(&short(&by_address, &named)).well();
    let words: Vec<&str> = shown.split_whitespace().collect();
    assert!(words.join(" ").contains(", TLS calls "), "{shown}");
    let blind = format!("load {target} --insecure --calls 20 --out blind --quiet");
    let shown = place.line(&blind).well();
    assert!(shown.contains("was not verified (--insecure)"), "{shown}");
    let page = fs::read_to_string(place.path().join("blind/report.html")).expect("a page");
    assert!(page.contains("was not verified"), "the page says it too");
    let refused = place.run(&["load", &target, "--insecure", "--http", "2"]);
    refused.refused(&["HTTP/2", "call it with that version"]);
}

#[test]
fn http2_without_alpn_needs_an_option() {
    let place = Place::new();
    let target = answering_over_tls(&place, OK, &[]);
    let http2 = ["--cacert", "ca.pem", "--http", "2"];
    place
        .run(&short(&target, &http2))
        .refused(&["did not negotiate h2 by ALPN", "--allow-missing-alpn"]);
    let all_the_same = [&http2[..], &["--allow-missing-alpn"]].concat();
    let refused = place.run(&short(&target, &all_the_same));
    refused.refused(&["does not respond in HTTP/2"]);
    let study = [&all_the_same[..], &["--print-study"]].concat();
    let study = place.run(&short(&target, &study)).well();
    assert!(study.contains("allow-missing-alpn = true"), "{study}");
}

#[test]
fn resumed_sessions_are_told() {
    let place = Place::new();
    let target = answering_over_tls(&place, OK, &[b"http/1.1"]);
    let each = ["--cacert", "ca.pem", "--connect-per-call"];
    let shown = place.run(&short(&target, &each)).well();
    // The terminal output is wrapped.
    let words: Vec<&str> = shown.split_whitespace().collect();
    let shown = words.join(" ");
    assert!(shown.contains("50 opened later"), "{shown}");
    let connections = report(&place.path().join("run"));
    let connections = &figures(&connections)["connections"];
    let resumed = connections["tls_resumed"].as_u64().expect("a count");
    let told = format!("({resumed} of them with a resumed TLS session)");
    assert!(shown.contains(&told), "{shown}");
}

#[test]
fn a_signal_ends_the_wait_for_a_certificate_from_a_pipe() {
    let place = Place::new();
    let pipe = place.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo starts").success());
    let words = ["load", "https://127.0.0.1:9/", "--cacert", "pipe"];
    let mut child = place.start(&words);
    // Opening the pipe for writing without blocking only succeeds once there is a reader.
    let mut writer = None;
    wait_until("a reader", || {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK;
        writer = rustix::fs::open(&pipe, flags, Mode::empty()).ok();
        writer.is_some()
    });
    // SIGTERM, because a background program may have been started with SIGINT ignored.
    kill_process(Pid::from_child(&child), Signal::TERM).expect("a signal is sent");
    wait_until("its end", || {
        child.try_wait().expect("it is ours").is_some()
    });
}
