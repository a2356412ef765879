//! Only calls that the server did not process are sent again.

mod support;

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rpcgauge_load::{Bodies, CallStyle, Measurement, Protocol, Trial};
use rpcgauge_trial::{Address, ConnectionUse, Ending, Schedule, Stage, Stop, Timing, TrialFigures};
use support::frames::{Came, goaway, ok_frame, play_frames, reset, serve_frames};
use support::*;

const NO_ERROR: u32 = 0;
const REFUSED_STREAM: u32 = 7;
const CANCEL: u32 = 8;

/// Maximum number of sends of a call.
const MAX_SENDS: u64 = 4;

/// A trial of `calls` calls over HTTP/2.
fn http2(address: Address, calls: u64) -> Trial {
    let mut trial = trial(address);
    trial.endpoint.protocol = Protocol::Http2;
    trial.expect.content_type = None;
    trial.stop.calls = Some(calls);
    trial
}

fn with_method(mut trial: Trial, method: &str) -> Trial {
    trial.request.style = CallStyle::Http {
        method: method.to_owned(),
    };
    trial
}

/// The numbers of answered calls and retries, and the failures.
fn seen(measurement: &TrialFigures) -> (u64, u64, Vec<(String, u64)>) {
    assert_sums_hold(measurement);
    let calls = &measurement.calls;
    (calls.answered, calls.retried, failures(measurement))
}

#[test]
fn a_call_that_goaway_leaves_out_is_sent_on_a_new_connection() {
    // Each connection processes five calls and sends GOAWAY at the sixth.
    let five = |came: Came| match came.stream {
        11 => goaway(9, NO_ERROR),
        stream => ok_frame(stream),
    };
    let measurement = run(&http2(serve_frames(five), 20), &[b"x"]);
    assert_eq!(seen(&measurement), (20, 3, vec![]));
    assert_eq!(measurement.calls.answered_after_retry, 3);
    assert_eq!(measurement.connections_opened.unwrap(), 3);
    assert_eq!(measurement.payload.request, Some(1.0));
    assert_eq!(
        traffic(&measurement).sent.bodies,
        23,
        "every send is counted in bytes"
    );
    // The last call of a trial is also retried, although no more calls are begun.
    let measurement = run(&http2(serve_frames(five), 6), &[b"x"]);
    assert_eq!(seen(&measurement), (6, 1, vec![]));
    // The same at a rate.
    let mut trial = http2(serve_frames(five), 20);
    trial.schedule = constant_rate(500.0);
    let (answered, retried, failed) = seen(&run(&trial, &[b"x"]));
    assert_eq!((answered, failed), (20, vec![]));
    assert!(retried >= 3, "{retried}");
}

#[test]
fn goaway_decides_which_calls_in_flight_are_sent_again() {
    // Eight calls arrive together. The first four are answered after the GOAWAY.
    let address = serve_frames(|came: Came| match (came.connection, came.stream) {
        (0, 1..15) => vec![],
        (0, _) => {
            let responses = (0..4).flat_map(|call| ok_frame(2 * call + 1));
            goaway(7, NO_ERROR).into_iter().chain(responses).collect()
        }
        (_, stream) => ok_frame(stream),
    });
    let mut trial = http2(address, 8);
    trial.schedule = Schedule::Closed { in_flight: 8 };
    let measurement = run(&trial, &[b"x"]);
    assert_eq!(seen(&measurement), (8, 4, vec![]));
    assert_eq!(measurement.calls.answered_after_retry, 4);
}

#[test]
fn calls_do_not_wait_for_a_connection_that_is_going_away() {
    // The first connection sends GOAWAY at its third call. It answers the first two calls only once another
    // connection has received five.
    let (connections, elsewhere) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let address = serve(move |stream: TcpStream| {
        let first = connections.fetch_add(1, Ordering::Relaxed) == 0;
        let mut out = stream.try_clone().unwrap();
        play_frames(stream, |id| {
            if !first {
                elsewhere.fetch_add(1, Ordering::Relaxed);
                return ok_frame(id);
            }
            if id < 5 {
                return vec![];
            }
            out.write_all(&goaway(3, NO_ERROR)).unwrap();
            while elsewhere.load(Ordering::Relaxed) < 5 {
                thread::sleep(Duration::from_millis(1));
            }
            [ok_frame(1), ok_frame(3)].concat()
        });
    });
    let mut trial = http2(address, 20);
    trial.schedule = Schedule::Closed { in_flight: 3 };
    let measurement = run(&trial, &[b"x"]);
    assert_eq!(seen(&measurement), (20, 1, vec![]));
    assert_eq!(measurement.connections_opened.unwrap(), 1);
}

#[test]
fn connections_that_are_going_away_stay_bounded() {
    // Every connection sends GOAWAY at its first call, and never answers that call.
    let mut trial = http2(serve_frames(|_| goaway(1, NO_ERROR)), 1);
    trial.connections = 3;
    trial.schedule = constant_rate(500.0);
    trial.stop = Stop {
        calls: None,
        time_ms: Some(500),
    };
    trial.drain = Duration::from_millis(1);
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.calls.answered, 0);
    assert_eq!(
        (
            measurement.connections_at_start.unwrap(),
            measurement.connections_opened.unwrap()
        ),
        (3, 3),
        "one more for each"
    );
}

/// Returns how many connections are opened to a server that, at the first call of each, sends GOAWAY, then
/// `response`, and closes.
fn opened_by_going_away(response: fn(u32) -> Vec<u8>, stop: Stop) -> usize {
    let opened = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&opened);
    let address = serve(move |stream: TcpStream| {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut out = stream.try_clone().unwrap();
        play_frames(stream, |id| {
            let _ = out.write_all(&goaway(id, NO_ERROR));
            // Sent separately, so that it is not read together with the GOAWAY.
            thread::sleep(Duration::from_millis(1));
            let _ = out.write_all(&response(id));
            let _ = out.shutdown(Shutdown::Both);
            vec![]
        });
    });
    let mut trial = http2(address, 1);
    trial.stop = stop;
    assert_sums_hold(&run(&trial, &[b"x"]));
    opened.load(Ordering::Relaxed)
}

#[test]
fn connections_that_drain_without_a_response_back_off() {
    let stop = |calls, time_ms| Stop {
        calls,
        time_ms: Some(time_ms),
    };
    // After a few immediate attempts come backoffs of 1, 2, 4, 8, ... ms. Without them there would be
    // hundreds of connections.
    let opened = opened_by_going_away(|_| vec![], stop(None, 300));
    assert!(opened < 40, "{opened}");
    // Each connection has a response. With backoffs of up to 100 ms, there would be fewer connections in this
    // time.
    let opened = opened_by_going_away(ok_frame, stop(Some(60), 3_000));
    assert!(opened >= 60, "{opened}");
}

#[test]
fn a_server_that_takes_no_call_is_not_called_for_ever() {
    let refuses = |came: Came| reset(came.stream, REFUSED_STREAM);
    let goes = |_| goaway(0, NO_ERROR);
    let cases = [
        (serve_frames(refuses), ConnectionUse::Reuse),
        (serve_frames(refuses), ConnectionUse::PerCall),
        (serve_frames(goes), ConnectionUse::Reuse),
        (serve_frames(goes), ConnectionUse::PerCall),
    ];
    for (address, connection_use) in cases {
        let mut trial = http2(address, 5);
        trial.connection_use = connection_use;
        let measurement = run(&trial, &[b"x"]);
        let failed = vec![("not-processed".to_owned(), 5)];
        assert_eq!(seen(&measurement), (0, 5 * (MAX_SENDS - 1), failed));
        assert_eq!(measurement.calls.answered_after_retry, 0);
    }
}

#[test]
fn retries_are_among_the_requests_that_may_be_sent() {
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let address = serve_frames(|came| reset(came.stream, REFUSED_STREAM));
        let mut trial = http2(address, 100);
        trial.connection_use = connection_use;
        trial.max_requests = Some(10);
        let measurement = run(&trial, &[b"x"]);
        assert_eq!(measurement.requests_sent.unwrap(), 10);
        assert_eq!(measurement.ending, Ending::MaxRequests);
        // Two calls with all of their retries, and one call with a single retry.
        let failed = vec![("not-processed".to_owned(), 3)];
        assert_eq!(seen(&measurement), (0, 7, failed));
    }
}

#[test]
fn a_refused_call_finds_another_connection() {
    // The first connection refuses all calls, but only once the other one accepts calls.
    let address = serve_frames(|came: Came| match came.connection {
        0 => {
            thread::sleep(Duration::from_millis(20));
            reset(came.stream, REFUSED_STREAM)
        }
        _ => ok_frame(came.stream),
    });
    let mut trial = http2(address, 30);
    trial.connections = 2;
    trial.schedule = Schedule::Closed { in_flight: 2 };
    let (answered, retried, failed) = seen(&run(&trial, &[b"x"]));
    assert_eq!((answered, failed), (30, vec![]));
    assert!((1..=30).contains(&retried), "{retried}");
}

#[test]
fn what_a_server_may_have_processed_is_not_sent_again() {
    for method in ["POST", "PUT"] {
        let address = serve_frames(|came: Came| reset(came.stream, CANCEL));
        let measurement = run(&with_method(http2(address, 3), method), &[b"x"]);
        let failed = vec![("stream-reset".to_owned(), 3)];
        assert_eq!(seen(&measurement), (0, 0, failed));
    }
    // A call whose response has begun was processed, regardless of the reset.
    let address = serve_frames(|came: Came| {
        let head = frames::frame(1, 4, came.stream, &[0x88]);
        [head, reset(came.stream, REFUSED_STREAM)].concat()
    });
    let measurement = run(&http2(address, 3), &[b"x"]);
    let failed = vec![("not-processed".to_owned(), 3)];
    assert_eq!(seen(&measurement), (0, 0, failed));
}

#[test]
fn a_call_that_is_sent_again_keeps_its_deadline() {
    let address = serve_frames(|came: Came| match came.before {
        0 => {
            thread::sleep(Duration::from_millis(60));
            reset(came.stream, REFUSED_STREAM)
        }
        _ => vec![],
    });
    let mut trial = http2(address, 1);
    trial.deadline = Duration::from_millis(100);
    let measurement = run(&trial, &[b"x"]);
    let failed = vec![("deadline".to_owned(), 1)];
    assert_eq!(seen(&measurement), (0, 1, failed));
    let latency = measurement
        .failed_latency
        .as_ref()
        .unwrap()
        .unpack()
        .counts()
        .max();
    assert!(latency >= 99_900_000, "from the due time: {latency} ns");
}

#[test]
fn a_call_that_waits_to_be_sent_again_has_its_deadline_too() {
    // The only connection that the server accepts is going away, and its other call never ends.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        drop(listener);
        play_frames(stream, |stream| match stream {
            1 => vec![],
            _ => goaway(1, NO_ERROR),
        });
    });
    let mut trial = http2(address, 2);
    trial.schedule = Schedule::Closed { in_flight: 2 };
    trial.deadline = Duration::from_millis(50);
    let measurement = run(&trial, &[b"x"]);
    let failed = vec![("deadline".to_owned(), 2)];
    assert_eq!(seen(&measurement), (0, 0, failed));
}

#[test]
fn a_server_that_is_gone_fails_what_it_did_not_process() {
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            drop(listener);
            play_frames(stream, |_| goaway(0, NO_ERROR));
        });
        let mut trial = http2(address, 1);
        trial.connection_use = connection_use;
        let measurement = run(&trial, &[b"x"]);
        let failed = vec![("connect-refused".to_owned(), 1)];
        // There is no server for a retry.
        assert_eq!(seen(&measurement), (0, 0, failed), "{connection_use:?}");
    }
}

#[test]
fn stages_of_a_call_that_was_sent_again_are_left_out() {
    let address = serve_frames(|came: Came| match came.before % 5 {
        2 => reset(came.stream, REFUSED_STREAM),
        _ => {
            let head = frames::frame(1, 4, came.stream, &[0x88]);
            [head, frames::frame(0, 1, came.stream, b"call")].concat()
        }
    });
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let mut trial = http2(address.clone(), 20);
        trial.timing = Timing::Stages;
        trial.connection_use = connection_use;
        let mut codec =
            Lenient(|call, out: &mut Vec<u8>| out.extend(format!("call {call}").bytes()));
        let Measurement {
            figures: measurement,
            marks,
            ..
        } = run_in_full(&trial, Bodies::PerCall(&mut codec)).unwrap();
        let (answered, retried, failed) = seen(&measurement);
        assert_eq!((answered, failed), (20, vec![]));
        assert_eq!(retried, measurement.calls.answered_after_retry);
        assert!(retried >= 4, "{retried}");
        assert_eq!(measurement.stages[&Stage::Encode].count(), 20 - retried);
        assert_eq!(measurement.stages[&Stage::Wait].count(), 20 - retried);
        assert_eq!(marks.absent, 20 - retried);
    }
}

/// Answers three requests, then closes at the fourth.
fn three_a_connection(mut stream: TcpStream) {
    for _ in 0..3 {
        let Some((_, body)) = read_request(&mut stream) else {
            return;
        };
        if stream.write_all(&ok(&body)).is_err() {
            return;
        }
    }
    let _ = read_request(&mut stream);
}

#[test]
fn http1_sends_again_what_may_be_done_twice_on_a_kept_connection() {
    for (method, lost) in [("PUT", false), ("POST", true), ("PATCH", true)] {
        let mut trial = with_method(trial(serve(three_a_connection)), method);
        trial.stop.calls = Some(12);
        let measurement = run(&trial, &[b"x"]);
        let expected = if lost {
            (9, 0, vec![("connection-closed".to_owned(), 3)])
        } else {
            (12, 3, vec![])
        };
        assert_eq!(seen(&measurement), expected, "{method}");
    }
}

#[test]
fn http2_sends_nothing_again_that_the_server_did_not_decline() {
    // Of five calls in flight, the first is answered. At the sixth call, the connection ends.
    let address = serve(|stream: TcpStream| {
        let ending = stream.try_clone().unwrap();
        let mut calls = 0;
        play_frames(stream, |id| {
            calls += 1;
            if calls == 1 {
                return ok_frame(id);
            }
            if calls == 6 {
                let _ = ending.shutdown(Shutdown::Both);
            }
            Vec::new()
        });
    });
    let mut trial = with_method(http2(address, 6), "PUT");
    trial.schedule = Schedule::Closed { in_flight: 5 };
    let measurement = run(&trial, &[b"x"]);
    let failed = vec![("connection-closed".to_owned(), 5)];
    assert_eq!(seen(&measurement), (1, 0, failed));
}

#[test]
fn a_new_connection_that_http1_loses_is_the_servers_fault() {
    let address = serve(|mut stream: TcpStream| {
        let _ = read_request(&mut stream);
    });
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let mut trial = with_method(trial(address.clone()), "PUT");
        trial.connection_use = connection_use;
        trial.stop.calls = Some(4);
        let measurement = run(&trial, &[b"x"]);
        let failed = vec![("connection-closed".to_owned(), 4)];
        assert_eq!(seen(&measurement), (0, 0, failed));
    }
}
