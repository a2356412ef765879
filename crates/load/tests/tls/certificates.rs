//! Server and client certificates.

use std::io::Read;

use rpcgauge_load::TlsSettings;
use rpcgauge_trial::Fault;

use super::support::tls::*;
use super::support::*;
use super::{assert_all_fail, echo_over_tls};

#[test]
fn a_refused_certificate_has_its_kind_and_advice() {
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
        let address = serve_tls(signer.server(serving), respond_with(ok));
        let trial = authority.trial(address.clone());
        assert_all_fail(&trial, kind, Fault::Subject, remedy);

        let insecure = TlsSettings {
            insecure: true,
            ..authority.settings()
        };
        assert_answered(&run(&with_tls(trial, insecure), &[b"x"]), 100);
    }
}

#[test]
fn a_server_may_show_the_authority_itself_and_is_still_verified() {
    let own = |serving| Serving {
        is_own_ca: true,
        ..serving
    };
    let (authority, other) = (Authority::new(), Authority::new());
    for only_tls12 in [false, true] {
        let serving = own(Serving {
            only_tls12,
            ..Serving::default()
        });
        let address = echo_over_tls(&authority, &serving);
        assert_answered(&run(&authority.trial(address.clone()), &[b"x"]), 100);
        assert_all_fail(
            &other.trial(address),
            "certificate-invalid",
            Fault::Subject,
            "--cacert",
        );
    }
    let expired = Serving {
        years: (2001, 2002),
        ..Serving::default()
    };
    let elsewhere = Serving {
        names: vec!["example.com"],
        ..Serving::default()
    };
    for (serving, kind, remedy) in [
        (expired, "certificate-expired", "renew it"),
        (elsewhere, "certificate-name", "--server-name"),
    ] {
        let address = serve_tls(authority.server(&own(serving)), respond_with(ok));
        assert_all_fail(&authority.trial(address), kind, Fault::Subject, remedy);
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

/// Performs a handshake that will be rejected, and keeps reading, so that the alert is not lost to a reset.
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
        let text = "the server requires a client certificate";
        assert_all_fail(&missing, "client-certificate", Fault::Instrument, text);
        let unknown = with_tls(trial(address), with(Some(other.identity())));
        let text = "does not accept the client certificate";
        assert_all_fail(&unknown, "client-certificate", Fault::Instrument, text);
    }
}
