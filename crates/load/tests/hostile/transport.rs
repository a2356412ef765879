//! Below HTTP: connections that fail to open, are not served, or are not trusted.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rpcgauge_load::{Protocol, Tls};
use rpcgauge_trial::{Address, Fault};

use super::case::{Case, Outcome, Over, fail};
use crate::support::tls::{Authority, Damage, Serving, Tunnel, serve_faulty, serve_tls};
use crate::support::{ok, only_read, read_request, respond_with, serve, unused_address};

/// More than the buffers of a connection can store.
const LARGE: usize = 20 << 20;

/// Additional bytes that a TLS handshake and its configuration may use.
const TLS_BYTES: i64 = 4 << 20;

pub(crate) fn cases() -> Vec<Case> {
    let both = [Over::Http1, Over::Grpc].into_iter().flat_map(in_either);
    both.chain(certificates()).collect()
}

/// Cases that do not depend on the HTTP version.
fn in_either(over: Over) -> Vec<Case> {
    let case = |name, outcome| Case::new(name, over, outcome);
    vec![
        case("connection refused", fail(&["connect-refused"])).server(unused_address),
        case(
            "accepts and closes at once",
            fail(&["connection-closed", "connection-reset"]),
        )
        .server(|| serve(drop)),
        case("reads and never answers", fail(&["deadline"]))
            .server(|| serve(only_read))
            .until_the_deadline(),
        case("accepts and never reads", fail(&["deadline"]))
            .server(|| {
                serve(|stream| {
                    thread::sleep(Duration::from_secs(60));
                    drop(stream);
                })
            })
            .request(LARGE)
            .until_the_deadline(),
        case("listens and never accepts", fail(&["deadline"]))
            .server(|| listens(128))
            .until_the_deadline(),
        case(
            "listens with a full queue, kept connections",
            fail(&["connect-failed", "deadline-unsent"]),
        )
        .server(full_queue)
        .kept()
        .until_the_deadline(),
        case(
            "listens with a full queue, a connection per call",
            fail(&["deadline"]),
        )
        .server(full_queue)
        .per_call()
        .until_the_deadline(),
    ]
}

/// Listens with a queue of this length, for the lifetime of the process.
fn listens(queue: i32) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    // SAFETY: the descriptor is open. Listening again only changes the queue's length.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), queue) }, 0);
    let address = listener.local_addr().expect("its address");
    std::mem::forget(listener);
    Address::Tcp(address)
}

/// Listens with a queue that is already full.
fn full_queue() -> Address {
    let Address::Tcp(address) = listens(0) else {
        unreachable!("it listens on TCP")
    };
    let wait = Duration::from_millis(100);
    let waiting = || TcpStream::connect_timeout(&address, wait);
    while let Ok(stream) = waiting() {
        std::mem::forget(stream);
    }
    Address::Tcp(address)
}

/// A server that uses TLS, and a client that trusts `authority`.
fn over_tls(
    name: &'static str,
    outcome: Outcome,
    authority: &Arc<Authority>,
    server: impl Fn() -> Address + Send + 'static,
) -> Case {
    let authority = Arc::clone(authority);
    Case::new(name, Over::Tls, outcome)
        .server(server)
        .holding(TLS_BYTES)
        .with(move |trial| {
            trial.endpoint.tls = Some(Tls::new(authority.settings()).expect("settings that fit"));
        })
}

fn certificates() -> Vec<Case> {
    type Server = Box<dyn Fn() -> Address + Send>;
    let (ours, theirs) = (Arc::new(Authority::new()), Arc::new(Authority::new()));
    let tunnels = |authority: &Arc<Authority>, serving: Serving, each: fn(Tunnel)| -> Server {
        let authority = Arc::clone(authority);
        Box::new(move || serve_tls(authority.server(&serving), each))
    };
    let answer: fn(Tunnel) = |tunnel| respond_with(ok)(tunnel);
    let serves = |serving| tunnels(&ours, serving, answer);
    let plays = |each| tunnels(&ours, Serving::default(), each);
    let years = |years| Serving {
        years,
        ..Serving::default()
    };
    let elsewhere = Serving {
        names: vec!["example.com"],
        ..Serving::default()
    };
    let wants_identity = Serving {
        wants_identity: true,
        ..Serving::default()
    };
    let only_http1 = Serving {
        alpn: vec![b"http/1.1"],
        ..Serving::default()
    };
    let damaged = |damage: Damage| -> Server {
        let authority = Arc::clone(&ours);
        Box::new(move || serve_faulty(&authority, damage))
    };
    let case = |name, outcome, server: Server| over_tls(name, outcome, &ours, server);
    let expired = fail(&["certificate-expired"]);
    let handshake = fail(&["tls-handshake"]);
    let deadline = fail(&["deadline"]);
    vec![
        case(
            "certificate that has expired",
            expired,
            serves(years((2001, 2002))),
        ),
        case(
            "certificate that is not valid yet",
            expired,
            serves(years((2119, 2120))),
        ),
        case(
            "certificate for another name",
            fail(&["certificate-name"]),
            serves(elsewhere),
        ),
        case(
            "certificate of an unknown authority",
            fail(&["certificate-unknown-issuer"]),
            tunnels(&theirs, Serving::default(), answer),
        ),
        case(
            "client certificate that is required",
            Outcome::Fail(&["client-certificate"], Fault::Instrument),
            tunnels(&ours, wants_identity, |mut tunnel| {
                let _ = tunnel.read(&mut [0; 100]);
                let _ = tunnel.sock.shutdown(std::net::Shutdown::Write);
                let _ = tunnel.sock.read_to_end(&mut Vec::new());
            }),
        ),
        case(
            "another version of HTTP negotiated",
            fail(&["alpn"]),
            serves(only_http1),
        )
        .with(|trial| trial.endpoint.protocol = Protocol::Http2),
        case(
            "handshake that is cut",
            handshake,
            damaged(Damage::CutAfter(100)),
        )
        .saying("the TLS handshake failed"),
        case(
            "handshake that is damaged",
            handshake,
            damaged(Damage::FlipAt(100)),
        ),
        case(
            "not TLS",
            handshake,
            Box::new(|| {
                serve(|mut stream: TcpStream| {
                    let _ = stream.read(&mut [0; 4096]);
                    let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
                    let _ = stream.read_to_end(&mut Vec::new());
                })
            }),
        )
        .saying("the server does not speak TLS"),
        case(
            "handshake that never ends",
            deadline,
            Box::new(|| serve(only_read)),
        )
        .per_call()
        .until_the_deadline(),
        case(
            "handshake byte by byte",
            Outcome::Answered,
            damaged(Damage::Drip),
        ),
        case(
            "handshake that stops, kept connections",
            fail(&["tls-handshake", "deadline-unsent"]),
            damaged(Damage::StallAfter(100)),
        )
        .kept()
        .until_the_deadline(),
        case(
            "handshake that stops, a connection per call",
            deadline,
            damaged(Damage::StallAfter(100)),
        )
        .per_call()
        .until_the_deadline(),
        case("nothing after the handshake", deadline, plays(only_read)).until_the_deadline(),
        case(
            "record that never ends",
            deadline,
            plays(|mut tunnel| {
                if read_request(&mut tunnel).is_some() {
                    // The header of a record of 2^14 bytes, and one byte of its content.
                    let _ = tunnel.sock.write_all(&[23, 3, 3, 0x40, 0, 7]);
                    let _ = tunnel.sock.read_to_end(&mut Vec::new());
                }
            }),
        )
        .until_the_deadline(),
        case(
            "KeyUpdate flood",
            fail(&["flood"]),
            plays(|mut tunnel| {
                if read_request(&mut tunnel).is_some() {
                    while tunnel.conn.refresh_traffic_keys().is_ok() && tunnel.flush().is_ok() {}
                }
            }),
        ),
        case(
            "good responses",
            Outcome::Answered,
            serves(Serving::default()),
        ),
    ]
}
