//! Trials against real HTTP/1.1 servers that respond correctly.

mod support;

use std::io::Write;

use rpcgauge_load::{Bodies, Measurement, Trial};
use rpcgauge_trial::{Arrivals, ConnectionUse, Ending, FailureKind, Schedule, Stage, Stop, Timing};
use support::*;
#[test]
fn every_call_is_answered_and_every_byte_counted() {
    let address = serve(respond_with(ok));
    let measurement = run(&trial(address), &[b"hello", b"longer text"]);
    assert_sums_hold(&measurement);
    assert_eq!(
        (measurement.calls.started, measurement.calls.answered),
        (100, 100)
    );
    assert_eq!(measurement.ending, Ending::Complete);
    // 50 bodies of 5 bytes and 50 of 11 bytes, both ways.
    assert_eq!(traffic(&measurement).sent.bodies, 800);
    assert_eq!(traffic(&measurement).received.bodies, 800);
    assert_eq!(measurement.payload.request, Some(8.0));
    assert_eq!(measurement.payload.response, Some(8.0));
    let head = b"POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\n\
                 content-length: 5\r\n\r\n";
    assert_eq!(
        traffic(&measurement).sent.headers,
        (100 * head.len() + 50) as u64
    );
    assert_eq!(
        measurement.connections_opened.unwrap(),
        0,
        "opened before the measured part"
    );
    assert!(measurement.cpu.client.unwrap().total_ns > 0);
    assert!(measurement.elapsed_ns >= measurement.latency.unpack().counts().max() / 1001 * 1000);
}

#[test]
fn a_status_that_is_expected_is_good_and_any_other_is_not() {
    let missing = |_: &[u8]| {
        b"HTTP/1.1 404 No\r\ncontent-type: text/plain\r\ncontent-length: 0\r\n\r\n".to_vec()
    };
    let mut trial = trial(serve(respond_with(missing)));
    trial.expect.status = Some(404);
    assert_answered(&run(&trial, &[b"x"]), 100);
    trial.endpoint.address = serve(respond_with(ok));
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.calls.failed[&FailureKind::HttpStatus(200)], 100);
}

#[test]
fn more_calls_than_connections_wait_for_one() {
    let address = serve(respond_with(ok));
    let mut trial = trial(address);
    trial.connections = 3;
    trial.schedule = Schedule::Closed { in_flight: 8 };
    let measurement = run(&trial, &[b"x"]);
    assert_answered(&measurement, 100);
}

#[test]
fn no_call_is_begun_if_the_connection_ends_with_the_response() {
    let address = serve(|mut stream: std::net::TcpStream| {
        if let Some((_, body)) = read_request(&mut stream) {
            // The response and the end of the connection leave in one segment, so that no call can begin
            // between them.
            rustix::net::sockopt::set_tcp_cork(&stream, true).unwrap();
            stream.write_all(&ok(&body)).unwrap();
        }
    });
    let closed = Schedule::Closed { in_flight: 2 };
    let rate = Schedule::Rate {
        per_second: 500.0,
        arrivals: Arrivals::Constant,
    };
    for schedule in [closed, rate] {
        let mut trial = trial(address.clone());
        trial.connections = 2;
        trial.schedule = schedule;
        assert_answered(&run(&trial, &[b"x"]), 100);
    }
}

/// More data arrives on each connection than fits into the inbox.
#[test]
fn large_responses_on_many_connections_all_have_their_turn() {
    let large = ok(&vec![b'x'; 3_000_000]);
    let address = serve(respond_with(move |_| large.clone()));
    let mut trial = trial(address);
    trial.connections = 12;
    trial.schedule = Schedule::Closed { in_flight: 12 };
    trial.stop.calls = Some(48);
    let measurement = run(&trial, &[b"x"]);
    assert_answered(&measurement, 48);
    assert_eq!(traffic(&measurement).received.bodies, 48 * 3_000_000);
}

#[test]
fn a_connection_for_every_call() {
    let folder = tempfile::tempdir().unwrap();
    let unix = serve_unix(folder.path().join("socket"), respond_with(ok));
    for address in [serve(respond_with(ok)), unix] {
        let mut trial = trial(address);
        trial.connection_use = ConnectionUse::PerCall;
        let measurement = run(&trial, &[b"x"]);
        assert_answered(&measurement, 100);
        assert_eq!(measurement.connections_opened.unwrap(), 100);
        assert_eq!(traffic(&measurement).sent.bodies, 100);
    }
}

#[test]
fn a_connection_for_every_call_several_at_once() {
    let address = serve(respond_with(ok));
    let mut trial = trial(address);
    trial.connection_use = ConnectionUse::PerCall;
    trial.schedule = Schedule::Closed { in_flight: 5 };
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(
        (
            measurement.calls.answered,
            measurement.connections_opened.unwrap()
        ),
        (100, 100)
    );
}

#[test]
fn a_connection_that_the_server_closes_is_opened_again() {
    let address = serve(|mut stream| {
        for _ in 0..10 {
            let Some((_, body)) = read_request(&mut stream) else {
                return;
            };
            stream.write_all(&ok(&body)).unwrap();
        }
        // The eleventh response announces that it is the last one.
        if read_request(&mut stream).is_some() {
            let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\nx";
            stream.write_all(head).unwrap();
        }
    });
    let measurement = run(&trial(address), &[b"x"]);
    assert_answered(&measurement, 100);
    assert_eq!(
        measurement.connections_opened.unwrap(),
        9,
        "after every 11th of 100 calls"
    );
}

#[test]
fn large_bodies_go_both_ways_in_many_writes() {
    let address = serve(respond_with(ok));
    let body = vec![b'x'; 5 << 20];
    let mut trial = trial(address);
    trial.stop.calls = Some(4);
    let measurement = run(&trial, &[&body]);
    assert_answered(&measurement, 4);
    assert_eq!(traffic(&measurement).received.bodies, 4 * (5 << 20));
}

/// Answers like `respond_with(ok)`, with the handler's marks from this host's clock.
fn response_with_marks(mut stream: std::net::TcpStream) {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    while let Some((_, body)) = read_request(&mut stream) {
        let start = now();
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: turned\r\n\
             rpcgauge-handler-start: {start}\r\nrpcgauge-handler-end: {}\r\n\
             content-length: {}\r\n\r\n",
            now(),
            body.len()
        );
        stream
            .write_all(&[response.as_bytes(), &body].concat())
            .unwrap();
    }
}

#[test]
fn stages_are_timed_and_lie_inside_the_call() {
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let mut trial = trial(serve(response_with_marks));
        trial.timing = Timing::Stages;
        trial.connection_use = connection_use;
        trial.expect.encoding = Some("turned".to_owned());
        let mut echo = Echo {
            compresses: true,
            ..Echo::default()
        };
        let Measurement {
            figures: measurement,
            marks,
            ..
        } = run_in_full(&trial, Bodies::PerCall(&mut echo)).unwrap();
        assert_answered(&measurement, 100);
        let mut expected = Stage::ALL.to_vec();
        if connection_use == ConnectionUse::Reuse {
            expected.retain(|stage| *stage != Stage::Connect);
        }
        assert_eq!(
            measurement.stages.keys().copied().collect::<Vec<_>>(),
            expected
        );
        assert!(
            measurement
                .stages
                .values()
                .all(|stage| stage.count() == 100)
        );
        assert_eq!(marks.used, 100);
        let own = measurement
            .stages
            .iter()
            .filter(|(stage, _)| **stage <= Stage::Decode);
        let total: f64 = own
            .map(|(_, histogram)| histogram.unpack().mean() * 100.0)
            .sum();
        let latency = measurement.latency.unpack().counts().mean() * 100.0;
        // Histograms are accurate to 0.1%.
        assert!(
            total <= latency * 1.002,
            "stages {total} ns of {latency} ns"
        );
        assert_eq!(measurement.uncompressed_responses, 0);
        // "call 0" to "call 99".
        assert_eq!(measurement.payload.request, Some(6.9));
        assert_eq!(measurement.payload.response, Some(6.9));
    }
}

/// A response with marks from another clock, and the body that is expected for the last of 100 calls.
const STRANGELY_MARKED: &[u8] =
    b"HTTP/1.1 200 OK\r\nrpcgauge-handler-start: 5\r\nrpcgauge-handler-end: 7\r\n\
      content-type: text/plain\r\ncontent-length: 7\r\n\r\ncall 99";

#[test]
fn marks_of_another_clock_are_not_used() {
    let mut trial = trial(serve(respond_with(|_| STRANGELY_MARKED.to_vec())));
    trial.timing = Timing::Stages;
    let measurement = run_in_full(&trial, Bodies::PerCall(&mut Echo::default())).unwrap();
    assert_eq!(measurement.marks.implausible, 100);
    let stages = measurement.figures.stages;
    assert!(!stages.contains_key(&Stage::HandlerTime));
    assert!(stages.contains_key(&Stage::Wait));
}

#[test]
fn the_bytes_of_marks_are_counted_separately_if_stages_are_timed() {
    let mut trial = trial(serve(respond_with(|_| STRANGELY_MARKED.to_vec())));
    let all = 100 * STRANGELY_MARKED.len() as u64;
    let load = traffic(&run(&trial, &[b"call 99"])).received;
    assert_eq!((load.marks, load.headers), (0, all - 700));
    trial.timing = Timing::Stages;
    let staged = run_with(&trial, Bodies::PerCall(&mut Echo::default())).unwrap();
    let staged = traffic(&staged).received;
    let lines = "rpcgauge-handler-start: 5\r\nrpcgauge-handler-end: 7\r\n";
    assert_eq!(staged.marks, 100 * lines.len() as u64);
    assert_eq!(staged.headers, load.headers - staged.marks);
    assert_eq!(staged.total(), all, "nothing is dropped");
}

#[test]
fn without_stamps_the_codec_still_works_inside_the_call() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.expect.encoding = Some("gzip".to_owned());
    let mut echo = Echo::default();
    let measurement = run_with(&trial, Bodies::PerCall(&mut echo)).unwrap();
    assert!(measurement.stages.is_empty());
    assert_eq!(measurement.calls.answered, 100);
    assert_eq!(echo.decoded, b"call 99");
    assert_eq!(
        measurement.uncompressed_responses, 100,
        "gzip was named and not used"
    );
}

type Change<'a> = &'a dyn Fn(&mut Trial);

#[test]
fn what_cannot_be_carried_out_is_refused() {
    let good = trial(unused_address());
    let refused = |change: Change<'_>| {
        let mut trial = good.clone();
        change(&mut trial);
        run_with(&trial, prepared(&[b"x"])).unwrap_err().to_string()
    };
    let table: [(Change<'_>, &str); 8] = [
        (
            &|t| t.connections = 0,
            "the number of connections must be 1 to 65,536",
        ),
        (
            &|t| t.stop = Stop::default(),
            "the end of the trial must be a number of calls, a time, or both",
        ),
        (
            &|t| t.schedule = Schedule::Closed { in_flight: 0 },
            "the number of calls in flight must be 1 to 65,536",
        ),
        (
            &|t| {
                t.schedule = Schedule::Closed {
                    in_flight: u32::MAX,
                };
            },
            "the number of calls in flight must be 1 to 65,536",
        ),
        (
            &|t| t.connections = u32::MAX,
            "the number of connections must be 1 to 65,536",
        ),
        (
            &|t| {
                t.timing = Timing::Stages;
                t.schedule = Schedule::Closed { in_flight: 2 };
            },
            "stage timing must be a closed loop with one call in flight",
        ),
        (
            &|t| {
                t.timing = Timing::Stages;
                t.connections = 2;
            },
            "the number of connections of a stage trial must be 1",
        ),
        (
            &|t| t.request.path = "no slash".to_owned(),
            "the request cannot be sent: path \"no slash\" must start with / and must not contain spaces, \
             # or control characters",
        ),
    ];
    for (change, text) in table {
        assert_eq!(refused(change), text);
    }
    assert!(run_with(&good, prepared(&[])).is_err());
}

#[test]
fn a_large_response_that_ends_with_its_connection_is_read_to_the_end() {
    // Reading takes more than one turn, so the end of the connection is known before everything is read.
    const LENGTH: usize = 24 << 20;
    let address = serve(|mut stream: std::net::TcpStream| {
        if read_request(&mut stream).is_some() {
            let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n";
            let _ = stream.write_all(head);
            let _ = stream.write_all(&vec![b'x'; LENGTH]);
        }
    });
    let mut trial = trial(address);
    trial.stop.calls = Some(20);
    trial.deadline = std::time::Duration::from_secs(5);
    let measurement = run(&trial, &[b"x"]);
    assert_answered(&measurement, 20);
    assert_eq!(traffic(&measurement).received.bodies, 20 * LENGTH as u64);
}
