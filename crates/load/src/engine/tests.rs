//! Helpers that the modules' tests share, and tests of the loop.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_trial::{Address, Stop};
use rpcgauge_wire::Protocol;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::Hooks;
use super::event_loop::EventLoop;
use crate::bodies::{Bodies, Body};
use crate::tls::{Roots, Tls, TlsSettings};
use crate::trial::{CallStyle, Endpoint, Request, Trial};
use crate::warmup::Settling;

/// A closed loop of one GET at a time that ends after 20 ms. Its deadline, drain and patience are one second
/// each.
pub(crate) fn trial(address: Address) -> Trial {
    let second = Duration::from_secs(1);
    let endpoint = Endpoint {
        address,
        protocol: Protocol::Http1,
        more_addresses: Vec::new(),
        tls: None,
    };
    let request = Request {
        style: CallStyle::Http {
            method: "GET".to_owned(),
        },
        path: "/".to_owned(),
        authority: "localhost".to_owned(),
        headers: Vec::new(),
    };
    Trial {
        stop: Stop::after_ms(20),
        deadline: second,
        drain: second,
        patience: second,
        ..Trial::new(endpoint, request)
    }
}

/// An address that is never called.
pub(crate) fn unused() -> Address {
    Address::Unix("/nothing/there".into())
}

/// A server that answers every read. `wrap` builds the stream of a connection.
fn responding<S: Read + Write>(wrap: impl Fn(TcpStream) -> S + Send + 'static) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Without this, a response would wait for the client to acknowledge the TLS tickets sent before
            // it.
            stream.set_nodelay(true).unwrap();
            let mut stream = wrap(stream);
            let response = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
            while stream.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {
                stream.write_all(response).unwrap();
            }
        }
    });
    Address::Tcp(address)
}

/// A server like [`responding`] but over TLS, and TLS settings that trust it.
fn responding_by_tls() -> (Address, Tls) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.key_pair.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let address = responding(move |stream| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        StreamOwned::new(session, stream)
    });
    let tls = Tls::new(TlsSettings {
        roots: Roots::Certificate(made.cert.pem()),
        identity: None,
        server_name: "localhost".to_owned(),
        insecure: false,
        allow_missing_alpn: false,
        resumption: false,
    });
    (address, tls.unwrap())
}

/// The trial ends by time, before a read times out.
#[test]
fn all_calls_of_a_loop_over_one_connection_are_awaited_in_its_reads() {
    waits_in_its_reads(&trial(responding(|stream| stream)));
    let (address, tls) = responding_by_tls();
    let mut by_tls = trial(address);
    by_tls.endpoint.tls = Some(tls);
    waits_in_its_reads(&by_tls);
}

fn waits_in_its_reads(trial: &Trial) {
    let mut event_loop = event_loop(trial);
    event_loop.run(&AtomicBool::new(false)).unwrap();
    assert!(answered(&event_loop) > 10);
    assert_eq!(event_loop.polled, 0, "all waits were in the read");
}

/// This can happen on a busy machine. The call that became due during the stall is not begun, so none is in
/// flight when the loop runs again.
#[test]
fn all_calls_of_a_loop_that_was_stalled_are_awaited_in_its_reads() {
    let mut trial = trial(responding(|stream| stream));
    trial.stop.time_ms = Some(300);
    let mut event_loop = event_loop(&trial);
    while answered(&event_loop) == 0 {
        assert!(!event_loop.turn().unwrap());
    }
    std::thread::sleep(Duration::from_millis(400));
    while !event_loop.turn().unwrap() {}
    let calls = &event_loop.engine.ledger.recorder.account.calls;
    assert_eq!((calls.started, calls.answered), (2, 1));
    assert_eq!(event_loop.polled, 0, "all waits were in the read");
}

fn answered(event_loop: &EventLoop<'_, '_, '_>) -> u64 {
    event_loop.engine.ledger.recorder.account.calls.answered
}

fn event_loop(trial: &Trial) -> EventLoop<'_, 'static, 'static> {
    let body = Body {
        bytes: Vec::new(),
        compressed: false,
        plain_len: 0,
        fields: Vec::new(),
    };
    let bodies = Bodies::Prepared {
        bodies: vec![body],
        verifier: None,
    };
    let hooks = Hooks {
        settling: Box::new(|_| Settling::Settled),
        measuring: Box::new(|_| ()),
        checks: Vec::new(),
        progress: None,
    };
    EventLoop::new(trial, None, bodies, hooks).unwrap()
}
