//! Negotiation of the protocol by ALPN.

use rpcgauge_load::{Protocol, TlsSettings};
use rpcgauge_trial::{ConnectionUse, Fault, Schedule};

use super::support::tls::*;
use super::support::*;
use super::{assert_all_fail, echo_over_tls};

#[test]
fn http2_is_agreed_on_and_spoken() {
    let authority = Authority::new();
    let mut trial = authority.trial(serve_http2(authority.server(&Serving::default())));
    trial.endpoint.protocol = Protocol::Http2;
    trial.connections = 2;
    trial.schedule = Schedule::Closed { in_flight: 20 };
    let body = vec![b'x'; 300_000];
    let measurement = run(&trial, &[b"small", &body]);
    assert_answered(&measurement, 100);
    assert_eq!(traffic(&measurement).sent.bodies, 50 * 300_005);
    assert_eq!(traffic(&measurement).received.bodies, 50 * 300_005);
    trial.connection_use = ConnectionUse::PerCall;
    assert_answered(&run(&trial, &[b"small"]), 100);
}

#[test]
fn a_server_without_alpn_gets_http_1_1() {
    let authority = Authority::new();
    let serving = Serving {
        alpn: Vec::new(),
        ..Serving::default()
    };
    let mut trial = authority.trial(echo_over_tls(&authority, &serving));
    assert_answered(&run(&trial, &[b"x"]), 100);
    trial.endpoint.protocol = Protocol::Http2;
    let text = "the server did not negotiate h2 by ALPN";
    assert_all_fail(&trial, "alpn", Fault::Subject, text);
}

#[test]
fn http2_without_alpn_is_spoken_where_that_is_allowed() {
    let authority = Authority::new();
    let serving = |alpn| Serving {
        alpn,
        ..Serving::default()
    };
    let settings = TlsSettings {
        allow_missing_alpn: true,
        ..authority.settings()
    };
    let server = serve_http2(authority.server(&serving(Vec::new())));
    let mut allowed = with_tls(trial(server), settings.clone());
    allowed.endpoint.protocol = Protocol::Http2;
    assert_answered(&run(&allowed, &[b"x"]), 100);
    // Selecting another version also counts as negotiation.
    let server = echo_over_tls(&authority, &serving(vec![b"http/1.1"]));
    let mut refused = with_tls(trial(server), settings);
    refused.endpoint.protocol = Protocol::Http2;
    let text = "the server does not speak HTTP/2 over TLS";
    assert_all_fail(&refused, "alpn", Fault::Subject, text);
}

#[test]
fn a_server_of_the_other_version_only_is_an_error() {
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
        trial.endpoint.protocol = protocol;
        let text = format!("the server does not speak {version} over TLS");
        assert_all_fail(&trial, "alpn", Fault::Subject, &text);
    }
}
