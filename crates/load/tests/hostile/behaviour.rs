//! How trials continue and end when servers fail.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rpcgauge_load::{Bodies, Hooks, ProgressHook, Protocol, Settling};
use rpcgauge_trial::{
    Address, ConnectionUse, Ending, ErrorSample, FailureKind, Fault, Schedule, Stop,
};

use super::server::reset_connection;
use crate::support::frames::{goaway, settings};
use crate::support::*;

/// A stack size that the engine's loop fits into, even without optimization.
const SMALL_STACK: usize = 96 << 10;

#[test]
fn a_long_text_of_a_server_is_cut_between_characters_with_an_ellipsis() {
    let address = serve(|mut stream: TcpStream| {
        if read_request(&mut stream).is_some() {
            let body = "x".to_owned() + &"€".repeat(1_000);
            let head = format!(
                "HTTP/1.1 500 Oops\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    let measurement = run(&short(address), &[b"x"]);
    let text = &measurement.error_samples[0].text;
    let start = "HTTP status 500: x";
    let rest = ErrorSample::MAX_CHARS - start.len() - 1;
    assert_eq!(*text, format!("{start}{}…", "€".repeat(rest)));
}

#[test]
fn a_reset_that_a_write_finds_does_not_complete_a_body() {
    let address = serve(|mut stream: TcpStream| {
        // Most of the request stays unread while more is being written, so the close becomes a reset.
        let mut some = [0; 20];
        let _ = stream.read_exact(&mut some);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nhalf a bo");
        // The client has time to read this part of the response before the reset.
        thread::sleep(Duration::from_millis(20));
    });
    let measurement = run(&short(address), &[&vec![b'x'; 20 << 20]]);
    assert_sums_hold(&measurement);
    assert_eq!(
        failures(&measurement),
        [("connection-reset".to_owned(), 10)]
    );
}

/// Each connection turns out to be broken when a call is written to it. By then, the next call is due on the
/// next connection, and the loop must not nest these calls.
#[test]
fn connections_that_break_together_are_counted_one_by_one() {
    const CONNECTIONS: usize = 200;
    let (accepted, first) = mpsc::channel();
    let count = Arc::new(AtomicUsize::new(0));
    let address = serve(move |stream| match count.fetch_add(1, Ordering::SeqCst) {
        n if n < CONNECTIONS => accepted.send(stream).unwrap(),
        _ => respond_with(ok)(stream),
    });
    let mut trial = trial(address);
    trial.connections = CONNECTIONS as u32;
    trial.schedule = constant_rate(1e6);
    trial.stop.calls = Some(2 * CONNECTIONS as u64);
    let small_stack = thread::Builder::new().stack_size(SMALL_STACK);
    let measuring = small_stack.spawn(move || {
        let hooks = Hooks {
            measuring: Box::new(|begins| {
                let resets = if begins { CONNECTIONS } else { 0 };
                first.iter().take(resets).for_each(reset_connection);
            }),
            ..hooks()
        };
        let stop = AtomicBool::new(false);
        measure_with(&trial, prepared(&[b"x"]), hooks, &stop).unwrap()
    });
    let measurement = measuring.unwrap().join().unwrap();
    assert_sums_hold(&measurement);
    let calls = &measurement.calls;
    let reset = calls.failed.get(&FailureKind::ConnectionReset);
    let reset = *reset.expect("calls on broken connections");
    assert_eq!(calls.answered + reset, 2 * CONNECTIONS as u64, "{calls:?}");
}

#[test]
fn patience_ends_a_trial_that_only_fails() {
    let address = serve(only_read);
    let mut trial = short(address);
    trial.deadline = Duration::from_millis(10);
    trial.patience = Duration::from_millis(55);
    trial.stop.calls = Some(1_000_000);
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.ending, Ending::GaveUp);
    assert!(measurement.calls.failed_total() >= 1);
    assert!(
        measurement.calls.started <= 8,
        "{} calls",
        measurement.calls.started
    );
}

#[test]
fn slow_calls_after_a_failure_are_waited_for() {
    let address = serve(|mut stream: TcpStream| {
        for call in 0.. {
            let Some((_, body)) = read_request(&mut stream) else {
                return;
            };
            thread::sleep(Duration::from_millis(100));
            let busy = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
            let response = match call {
                1 => busy.to_vec(),
                _ => ok(&body),
            };
            if stream.write_all(&response).is_err() {
                return;
            }
        }
    });
    let mut trial = short(address);
    trial.patience = Duration::from_millis(50);
    trial.stop.calls = Some(4);
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.ending, Ending::Complete);
    assert_eq!(failures(&measurement), [("http-503".to_owned(), 1)]);
    assert_eq!(measurement.calls.answered, 3);
}

#[test]
fn a_warmup_that_only_fails_still_waits_for_its_calls_in_flight() {
    let connections = Arc::new(AtomicUsize::new(0));
    let in_flight = Arc::new(AtomicUsize::new(0));
    let failed = Arc::new(AtomicUsize::new(0));
    let address = serve({
        let in_flight = Arc::clone(&in_flight);
        move |mut stream: TcpStream| {
            let fails = connections.fetch_add(1, Ordering::SeqCst) == 0;
            while let Some((_, body)) = read_request(&mut stream) {
                in_flight.fetch_add(1, Ordering::SeqCst);
                let response = if fails {
                    thread::sleep(Duration::from_millis(5));
                    failed.fetch_add(1, Ordering::SeqCst);
                    b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n".to_vec()
                } else {
                    // A slow but successful response, which arrives when no call has failed for a while.
                    let mut before = usize::MAX;
                    while before != failed.load(Ordering::SeqCst) {
                        before = failed.load(Ordering::SeqCst);
                        thread::sleep(Duration::from_millis(100));
                    }
                    ok(&body)
                };
                in_flight.fetch_sub(1, Ordering::SeqCst);
                if stream.write_all(&response).is_err() {
                    return;
                }
            }
        }
    });
    let mut trial = short(address);
    trial.connections = 2;
    trial.schedule = Schedule::Closed { in_flight: 2 };
    trial.warmup = Some(warmup(1_000_000));
    trial.patience = Duration::from_millis(600);
    let mut at_start = None;
    let hooks = Hooks {
        settling: Box::new(|_| Settling::GoOn),
        measuring: Box::new(|_| {
            at_start.get_or_insert(in_flight.load(Ordering::SeqCst));
        }),
        ..hooks()
    };
    let stop = AtomicBool::new(false);
    let measurement = measure_with(&trial, prepared(&[b"x"]), hooks, &stop).unwrap();
    assert_sums_hold(&measurement);
    assert_eq!(at_start, Some(0), "calls that the server still works on");
}

#[test]
fn without_a_listener_calls_are_refused_and_the_processor_rests() {
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let mut trial = short(unused_address());
        trial.connection_use = connection_use;
        trial.stop = Stop {
            calls: None,
            time_ms: Some(300),
        };
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        let failed = failures(&measurement);
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert_eq!(failed[0].0, "connect-refused");
        // There are backoffs of 1, 2, 4, 8, ... ms. Without them there would be tens of thousands of
        // attempts.
        assert!((1..40).contains(&failed[0].1), "{failed:?}");
        assert_eq!(
            measurement.calls.failed.keys().next().unwrap().fault(),
            Fault::Subject
        );
    }
}

#[test]
fn connections_that_end_without_a_response_back_off() {
    type End = fn(&mut TcpStream);
    let ends: [(Protocol, End); 5] = [
        (Protocol::Http1, |_| ()),
        (Protocol::Http2, |_| ()),
        (Protocol::Http1, |stream| {
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n");
        }),
        (Protocol::Http2, |stream| {
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n");
        }),
        (Protocol::Http2, |stream| {
            let _ = stream.write_all(&[settings(), goaway(0, 0)].concat());
            let _ = stream.read_to_end(&mut Vec::new());
        }),
    ];
    for (number, (protocol, end)) in ends.into_iter().enumerate() {
        let opened = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&opened);
        let mut trial = trial(serve(move |mut stream: TcpStream| {
            counted.fetch_add(1, Ordering::SeqCst);
            end(&mut stream);
        }));
        trial.endpoint.protocol = protocol;
        // At this rate, there is usually no call in flight that a lost connection could fail.
        trial.schedule = constant_rate(10.0);
        trial.stop = Stop {
            calls: None,
            time_ms: Some(300),
        };
        trial.deadline = Duration::from_millis(300);
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        let opened = opened.load(Ordering::SeqCst);
        // After three immediate attempts come backoffs of 1, 2, 4, 8, ... ms. Without them there would be
        // thousands of connections.
        assert!((1..40).contains(&opened), "server {number}: {opened}");
    }
}

#[test]
fn a_socket_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let trial = short(Address::Unix(folder.path().join("none")));
    let measurement = run(&trial, &[b"x"]);
    assert_eq!(failures(&measurement), [("connect-refused".to_owned(), 10)]);
}

#[test]
fn an_unreadable_response_is_named_by_the_step_that_failed() {
    let address = serve(respond_with(|_| ok(b"no such text")));
    let mut trial = short(address);
    trial.connections = 1;
    let measurement = run_with(&trial, Bodies::PerCall(&mut Echo::default())).unwrap();
    assert_sums_hold(&measurement);
    assert_eq!(failures(&measurement), [("decode".to_owned(), 10)]);
    assert_eq!(
        measurement.error_samples[0].text,
        "\"no such text\" is not a call"
    );
}

#[test]
fn a_server_that_comes_back_is_found() {
    let Address::Tcp(address) = unused_address() else {
        unreachable!("nobody listens on TCP")
    };
    let mut trial = trial(Address::Tcp(address));
    trial.patience = Duration::from_secs(60);
    trial.stop = Stop {
        calls: None,
        time_ms: Some(60_000),
    };
    let stop = AtomicBool::new(false);
    let (failed, comes_back) = mpsc::channel();
    let measurement = thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            comes_back.recv().unwrap();
            let listener = std::net::TcpListener::bind(address).unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            for _ in 0..20 {
                let (_, body) = read_request(&mut stream).unwrap();
                stream.write_all(&ok(&body)).unwrap();
            }
            stop.store(true, Ordering::Relaxed);
            // Keeps the connection open until the trial is over.
            let _ = read_request(&mut stream);
        });
        let hooks = Hooks {
            progress: Some(ProgressHook {
                every: Duration::from_millis(5),
                sample: Box::new(|progress| {
                    if !progress.failed.is_empty() {
                        let _ = failed.send(());
                    }
                    progress.times
                }),
            }),
            ..hooks()
        };
        measure_with(&trial, prepared(&[b"x"]), hooks, stop).unwrap()
    });
    assert_answered(&measurement, 20);
    assert!(
        measurement
            .calls
            .failed
            .contains_key(&FailureKind::ConnectRefused)
    );
    assert_eq!(
        (
            measurement.connections_at_start.unwrap(),
            measurement.connections_opened.unwrap()
        ),
        (0, 1)
    );
    assert!(measurement.connects_failed > 0);
}

#[test]
fn a_full_queue_of_a_unix_socket_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    // SAFETY: the descriptor is open. Listening again only makes its queue as short as possible.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::sleep(Duration::from_millis(2));
            thread::spawn(move || respond_with(ok)(stream));
        }
    });
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let mut trial = trial(Address::Unix(path.clone()));
        trial.schedule = Schedule::Closed { in_flight: 8 };
        trial.connections = 8;
        trial.connection_use = connection_use;
        trial.stop.calls = Some(40);
        let measurement = run(&trial, &[b"x"]);
        assert_answered(&measurement, 40);
    }
}
