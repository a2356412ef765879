//! Below HTTP: connections that are not made, not served, or not trusted.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use rpcgauge_load::{Hooks, Protocol, Settling, Tls, measure_with};
use rpcgauge_trial::{Address, ConnectionUse, Fault};

use super::case::{Case, Outcome, Over, fail};
use crate::support::tls::{Authority, Damage, Faulty, Serving, serve_tls, serve_tls_over};
use crate::support::{
    assert_sums_hold, failures, ok, only_read, prepared, read_request, respond_with, serve, trial,
    unused_address,
};

/// More than the buffers of a connection hold.
const LARGE: usize = 20 << 20;

/// Bytes that a TLS handshake and its configuration may take beside.
const TLS_BYTES: i64 = 4 << 20;

/// Where the child process finds the server.
const SERVER: &str = "RPCGAUGE_TEST_SERVER";

pub(crate) fn cases() -> Vec<Case> {
    let both = [Over::Http1, Over::Grpc].into_iter().flat_map(in_either);
    both.chain(machine()).chain(certificates()).collect()
}

/// What does not depend on the version of HTTP.
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

/// Listens with a queue of this length, for the rest of the process.
fn listens(queue: i32) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    // SAFETY: the descriptor is open; listening again only changes the queue's length.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), queue) }, 0);
    let address = listener.local_addr().expect("its address");
    std::mem::forget(listener);
    Address::Tcp(address)
}

/// Listens, and others wait to be accepted already.
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

fn machine() -> Vec<Case> {
    let case = |name, outcome| Case::new(name, Over::Http1, outcome);
    vec![
        case(
            "out of file descriptors",
            Outcome::Fail(&["out-of-files"], Fault::Machine),
        )
        .instead(|| {
            let Address::Tcp(server) = serve(respond_with(ok)) else {
                unreachable!("it listens on TCP")
            };
            let program = std::env::current_exe().expect("this program");
            let child = Command::new(program)
                .args(["--ignored", "--exact", "transport::out_of_files"])
                .env(SERVER, server.to_string())
                .output()
                .expect("it starts");
            let said = String::from_utf8_lossy(&child.stdout);
            assert!(
                child.status.success() && said.contains("1 passed"),
                "{said}"
            );
        }),
    ]
}

#[test]
#[ignore = "run by a case of the table, in a process that is to run out of file descriptors"]
fn out_of_files() {
    let server = std::env::var(SERVER).expect("the table's case says where the server is");
    let mut trial = trial(Address::Tcp(server.parse().expect("an address")));
    trial.connection_use = ConnectionUse::PerCall;
    trial.stop.calls = Some(4);
    let few = libc::rlimit {
        rlim_cur: 64,
        rlim_max: 64,
    };
    // SAFETY: the limits are read and not kept.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &few) }, 0);
    let mut files = Vec::new();
    let hooks = Hooks {
        settling: Box::new(|_| Settling::Settled),
        measuring: Box::new(|_| {
            while let Ok(file) = std::fs::File::open("/dev/null") {
                files.push(file);
            }
        }),
        check: None,
        progress: None,
    };
    let stop = AtomicBool::new(false);
    let measurement = measure_with(&trial, prepared(&[b"x"]), hooks, &stop);
    drop(files);
    let measurement = measurement.expect("a trial");
    assert_sums_hold(&measurement);
    assert_eq!(failures(&measurement), [("out-of-files".to_owned(), 4)]);
    let kind = measurement.calls.failed.keys().next().expect("a kind");
    assert_eq!(kind.fault(), Fault::Machine);
}

/// A server over TLS, and a client that trusts `authority`.
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
    let (ours, theirs) = (Arc::new(Authority::new()), Arc::new(Authority::new()));
    let serves = |authority: &Arc<Authority>, serving: Serving| {
        let authority = Arc::clone(authority);
        move || serve_tls(authority.server(&serving), respond_with(ok))
    };
    let with_years = |years| Serving {
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
    let damaged = |damage: Damage| {
        let authority = Arc::clone(&ours);
        move || {
            let wrap = move |socket| Faulty {
                socket,
                damage,
                written: 0,
            };
            serve_tls_over(
                authority.server(&Serving::default()),
                wrap,
                respond_with(ok),
            )
        }
    };
    let ours = &ours;
    let case = |name, outcome, server: Box<dyn Fn() -> Address + Send>| {
        over_tls(name, outcome, ours, server)
    };
    let expired = fail(&["certificate-expired"]);
    vec![
        case(
            "certificate that has expired",
            expired,
            Box::new(serves(ours, with_years((2001, 2002)))),
        ),
        case(
            "certificate that is not valid yet",
            expired,
            Box::new(serves(ours, with_years((2119, 2120)))),
        ),
        case(
            "certificate for another name",
            fail(&["certificate-name"]),
            Box::new(serves(ours, elsewhere)),
        ),
        case(
            "certificate of an unknown authority",
            fail(&["certificate-unknown-issuer"]),
            Box::new(serves(&theirs, Serving::default())),
        ),
        case(
            "client certificate that is wanted",
            Outcome::Fail(&["client-certificate"], Fault::Instrument),
            Box::new({
                let authority = Arc::clone(ours);
                move || {
                    serve_tls(authority.server(&wants_identity), |mut tunnel| {
                        let _ = tunnel.read(&mut [0; 100]);
                        let _ = tunnel.sock.shutdown(std::net::Shutdown::Write);
                        let _ = tunnel.sock.read_to_end(&mut Vec::new());
                    })
                }
            }),
        ),
        case(
            "another version of HTTP agreed on",
            fail(&["alpn"]),
            Box::new(serves(ours, only_http1)),
        )
        .with(|trial| trial.endpoint.protocol = Protocol::Http2),
        case(
            "handshake that is cut",
            fail(&["tls-handshake"]),
            Box::new(damaged(Damage::CutAfter(100))),
        ),
        case(
            "handshake that is damaged",
            fail(&["tls-handshake"]),
            Box::new(damaged(Damage::FlipAt(100))),
        ),
        case(
            "no TLS",
            fail(&["tls-handshake"]),
            Box::new(|| {
                serve(|mut stream: TcpStream| {
                    let _ = stream.read(&mut [0; 4096]);
                    let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
                    let _ = stream.read_to_end(&mut Vec::new());
                })
            }),
        ),
        case(
            "handshake that never ends",
            fail(&["deadline"]),
            Box::new(|| serve(only_read)),
        )
        .per_call()
        .until_the_deadline(),
        case(
            "handshake byte by byte",
            Outcome::Answered,
            Box::new(damaged(Damage::Drip)),
        ),
        case(
            "handshake that stops, kept connections",
            fail(&["tls-handshake", "deadline-unsent"]),
            Box::new(damaged(Damage::StallAfter(100))),
        )
        .kept()
        .until_the_deadline(),
        case(
            "handshake that stops, a connection per call",
            fail(&["deadline"]),
            Box::new(damaged(Damage::StallAfter(100))),
        )
        .per_call()
        .until_the_deadline(),
        case(
            "nothing after the handshake",
            fail(&["deadline"]),
            Box::new({
                let authority = Arc::clone(ours);
                move || serve_tls(authority.server(&Serving::default()), only_read)
            }),
        )
        .until_the_deadline(),
        case(
            "record that never ends",
            fail(&["deadline"]),
            Box::new({
                let authority = Arc::clone(ours);
                move || {
                    serve_tls(authority.server(&Serving::default()), |mut tunnel| {
                        if read_request(&mut tunnel).is_some() {
                            // Application data of 2^14 bytes, of which one comes.
                            let _ = tunnel.sock.write_all(&[23, 3, 3, 0x40, 0, 7]);
                            let _ = tunnel.sock.read_to_end(&mut Vec::new());
                        }
                    })
                }
            }),
        )
        .until_the_deadline(),
        case(
            "KeyUpdate flood",
            fail(&["flood"]),
            Box::new({
                let authority = Arc::clone(ours);
                move || {
                    serve_tls(authority.server(&Serving::default()), |mut tunnel| {
                        if read_request(&mut tunnel).is_some() {
                            while tunnel.conn.refresh_traffic_keys().is_ok()
                                && tunnel.flush().is_ok()
                            {}
                        }
                    })
                }
            }),
        ),
        case(
            "good responses",
            Outcome::Answered,
            Box::new(serves(ours, Serving::default())),
        ),
    ]
}
