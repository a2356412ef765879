use std::fs;

use rcgen::{CertifiedKey, generate_simple_self_signed};

use super::*;

fn settings(server_name: &str) -> TlsSettings {
    TlsSettings {
        roots: Roots::System,
        identity: None,
        server_name: server_name.to_owned(),
        insecure: true,
        allow_missing_alpn: false,
        resumption: true,
    }
}

#[test]
fn a_server_name_is_a_name_or_an_address() {
    for good in ["localhost", "api.example.com", "127.0.0.1", "::1"] {
        assert!(Tls::new(settings(good)).is_ok(), "{good}");
    }
    for bad in [
        "",
        "localhost:443",
        "https://localhost",
        "two words",
        "[::1]",
    ] {
        let error = Tls::new(settings(bad)).unwrap_err();
        assert!(matches!(error, TlsError::ServerName(_)), "{bad}: {error}");
    }
}

#[test]
fn a_file_that_cannot_be_used_is_named_with_its_fault() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let one = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = |made: &CertifiedKey| (made.cert.pem(), made.key_pair.serialize_pem());
    let certificate = file("certificate", &pem(&one).0);
    let key = file("key", &pem(&one).1);
    let other_key = file("other key", &pem(&other).1);
    let empty = file("empty", "");
    let broken = file(
        "broken",
        "-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----\n",
    );
    let no_certificate = file(
        "no certificate",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    );

    let with_roots = |path: &Path| TlsSettings {
        roots: Roots::File(path.to_owned()),
        insecure: false,
        ..settings("localhost")
    };
    let with_identity = |certificate: &Path, key: &Path| TlsSettings {
        identity: Some(Identity {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
        }),
        ..settings("localhost")
    };
    assert!(Tls::new(with_roots(&certificate)).is_ok());
    assert!(Tls::new(with_identity(&certificate, &key)).is_ok());

    let absent = folder.path().join("absent");
    let table = [
        (with_roots(&absent), "absent: No such file or directory"),
        (
            with_roots(Path::new("/dev/zero")),
            "/dev/zero: it is larger than 32 MiB",
        ),
        (
            with_identity(&certificate, Path::new("/dev/zero")),
            "/dev/zero: it is larger than 32 MiB",
        ),
        (with_roots(&empty), "empty: it contains none in PEM format"),
        (with_roots(&broken), "broken: it is not valid PEM"),
        (
            with_roots(&no_certificate),
            "no certificate contains a certificate",
        ),
        (
            with_identity(&key, &key),
            "key: it contains none in PEM format",
        ),
        (
            with_identity(&certificate, &certificate),
            "certificate: it contains none in PEM format",
        ),
        (with_identity(&certificate, &other_key), "KeyMismatch"),
    ];
    for (settings, part) in table {
        let error = Tls::new(settings).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_file_of_system_certificates_is_read_within_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let made = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let path = folder.path().join("roots");
    let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    fs::write(&path, damaged.to_owned() + &made.cert.pem()).unwrap();
    let mut store = RootCertStore::empty();
    assert!(add_system_roots(&mut store, [Some(path.into()), None]).is_ok());
    assert_eq!(store.len(), 1, "and not the damaged one");
    let endless = add_system_roots(&mut store, [Some("/dev/zero".into()), None]);
    let text = endless.unwrap_err().to_string();
    assert!(
        text.contains("/dev/zero: it is larger than 32 MiB"),
        "{text}"
    );
}
