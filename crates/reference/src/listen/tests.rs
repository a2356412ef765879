//! Tests of address parsing, and of sockets that cannot be bound.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn refused(on: &ListenOn) -> ListenError {
    Listener::bind(on).expect_err("must be refused")
}

#[test]
fn addresses_are_parsed() {
    let tcp = |host: &str, port| ListenOn::Tcp {
        host: host.into(),
        port,
    };
    for (text, want) in [
        ("127.0.0.1:0", tcp("127.0.0.1", 0)),
        ("localhost:6565", tcp("localhost", 6565)),
        ("[::1]:80", tcp("::1", 80)),
        ("unix:/tmp/a b.sock", ListenOn::Unix("/tmp/a b.sock".into())),
        ("unix:relative", ListenOn::Unix("relative".into())),
    ] {
        let got: ListenOn = text.parse().expect(text);
        assert_eq!(got, want);
        assert_eq!(got.to_string(), text);
    }
    for text in [
        "",
        "6565",
        "host",
        "host:",
        "host:99999",
        ":80",
        "::1:80",
        "[::1:80",
        "unix:",
    ] {
        let error = text.parse::<ListenOn>().expect_err(text).to_string();
        assert!(error.contains("HOST:PORT"), "{error}");
    }
}

#[test]
fn a_free_port_is_reported() {
    let listener = Listener::bind(&ListenOn::loopback()).expect("loopback");
    let Address::Tcp(address) = listener.address() else {
        panic!("TCP")
    };
    assert!(address.ip().is_loopback() && address.port() != 0);
}

#[test]
fn a_port_in_use_is_named() {
    let first = Listener::bind(&ListenOn::loopback()).expect("loopback");
    let Address::Tcp(address) = first.address() else {
        panic!("TCP")
    };
    let error = refused(&ListenOn::Tcp {
        host: "127.0.0.1".into(),
        port: address.port(),
    });
    assert!(matches!(error, ListenError::PortInUse { .. }), "{error:?}");
    assert!(
        error
            .to_string()
            .starts_with(&format!("port {} on", address.port())),
        "{error}"
    );
    assert_eq!(error.fault(), Fault::Machine);
}

#[test]
fn another_machines_address_is_refused() {
    // TEST-NET-1 (RFC 5737) belongs to no machine.
    let error = refused(&ListenOn::Tcp {
        host: "192.0.2.1".into(),
        port: 0,
    });
    assert!(
        matches!(error, ListenError::AddressNotAvailable(_)),
        "{error:?}"
    );
}

#[test]
fn a_host_without_an_address_is_refused() {
    let error = refused(&ListenOn::Tcp {
        host: "no host".into(),
        port: 0,
    });
    assert!(
        matches!(error, ListenError::UnknownHost { .. }),
        "{error:?}"
    );
    assert!(!error.to_string().contains('\n'));
}

#[test]
fn a_socket_file_goes_away_with_its_listener() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s");
    let listener = Listener::bind(&ListenOn::Unix(path.clone())).expect("free");
    assert!(path.exists());
    drop(listener);
    assert!(!path.exists());
}

#[test]
fn another_servers_new_socket_file_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s");
    let first = Listener::bind(&ListenOn::Unix(path.clone())).expect("free");
    fs::remove_file(&path).expect("ours");
    let second = UnixListener::bind(&path).expect("free again");
    drop(first);
    assert!(path.exists());
    drop(second);
}

#[test]
fn a_socket_path_is_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().as_os_str().len() + 1;
    let fits = folder.path().join("s".repeat(MAX_SOCKET_PATH_BYTES - base));
    Listener::bind(&ListenOn::Unix(fits)).expect("exactly fits");
    let long = folder
        .path()
        .join("s".repeat(MAX_SOCKET_PATH_BYTES - base + 1));
    let error = refused(&ListenOn::Unix(long));
    assert!(
        error
            .to_string()
            .contains("is 108 bytes long, but the system allows 107"),
        "{error}"
    );
    assert_eq!(error.fault(), Fault::User);
}

#[test]
fn a_file_that_is_no_socket_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.txt");
    fs::write(&path, "keep").expect("written");
    let error = refused(&ListenOn::Unix(path.clone()));
    assert!(matches!(error, ListenError::NotASocket(_)), "{error:?}");
    assert_eq!(fs::read_to_string(&path).expect("still there"), "keep");
    assert!(matches!(
        refused(&ListenOn::Unix(folder.path().into())),
        ListenError::NotASocket(_)
    ));
}

#[test]
fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s");
    drop(UnixListener::bind(&path).expect("free"));
    assert!(path.exists(), "the standard library leaves the file");
    let live = Listener::bind(&ListenOn::Unix(path.clone())).expect("stale");
    let error = refused(&ListenOn::Unix(path.clone()));
    assert!(matches!(error, ListenError::SocketInUse(_)), "{error:?}");
    drop(live);
}

#[test]
fn a_missing_folder_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = refused(&ListenOn::Unix(folder.path().join("gone/s")));
    assert!(matches!(error, ListenError::NoFolder(_)), "{error:?}");
}

#[test]
fn a_folder_that_may_not_be_written_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).expect("made");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).expect("closed");
    match Listener::bind(&ListenOn::Unix(closed.join("s"))) {
        Err(error) => assert!(matches!(error, ListenError::NotPermitted(_)), "{error:?}"),
        // Root bypasses file permissions.
        Ok(_) => assert!(runs_as_root(), "only root may write to a closed folder"),
    }
}

fn runs_as_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
