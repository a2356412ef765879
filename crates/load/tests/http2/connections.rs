//! The number of connections, and of calls on each of them.

use rpcgauge_load::{Bodies, Measurement, Protocol};
use rpcgauge_trial::{Address, ConnectionUse, Schedule, Stage, Timing};

use super::grpc_trial;
use super::server::{echo, serve_http2};
use super::support::frames::{ok_frame, play_frames};
use super::support::*;

#[test]
fn many_calls_share_few_connections() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.connections = 4;
    trial.schedule = Schedule::Closed { in_flight: 100 };
    trial.stop.calls = Some(2000);
    let measurement = run(&trial, &[b"hello", b"world!"]);
    assert_answered(&measurement, 2000);
    assert_eq!(measurement.connections_opened.unwrap(), 0);
    assert_eq!(traffic(&measurement).sent.bodies, 11_000);
}

#[test]
fn a_connection_for_each_call_is_counted_to_its_end() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.connection_use = ConnectionUse::PerCall;
    let cold = run(&trial, &[b"x"]);
    trial.warmup = Some(warmup(50));
    let warm = run(&trial, &[b"x"]);
    assert_eq!((cold.calls.answered, warm.calls.answered), (100, 100));
    assert_eq!(
        traffic(&cold).sent,
        traffic(&warm).sent,
        "the GOAWAY of a call does not count for the next one"
    );
}

#[test]
fn more_connections_than_are_opened_at_once() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.connections = 250;
    trial.schedule = Schedule::Closed { in_flight: 250 };
    trial.stop.calls = Some(1000);
    let measurement = run(&trial, &[b"hello"]);
    assert_answered(&measurement, 1000);
    assert_eq!(measurement.connections_at_start.unwrap(), 250);
    assert_eq!(
        (
            measurement.connections_opened.unwrap(),
            measurement.connects_failed
        ),
        (0, 0)
    );
}

#[test]
fn a_connection_for_every_call() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.connection_use = ConnectionUse::PerCall;
    trial.timing = Timing::Stages;
    trial.stop.calls = Some(30);
    let Measurement {
        figures: measurement,
        marks,
        ..
    } = run_in_full(&trial, Bodies::PerCall(&mut Echo::default())).unwrap();
    assert_answered(&measurement, 30);
    assert_eq!(measurement.connections_opened.unwrap(), 30);
    assert_eq!(measurement.stages[&Stage::Connect].count(), 30);
    assert_eq!(marks.absent, 30);
}

/// Answers all streams of a connection together, once `at_once` requests have arrived.
fn responds_together(at_once: u32) -> Address {
    serve(move |stream| {
        let mut waiting = Vec::new();
        play_frames(stream, move |id| {
            waiting.push(id);
            match waiting.len() as u32 {
                n if n < at_once => Vec::new(),
                _ => waiting.drain(..).flat_map(ok_frame).collect(),
            }
        });
    })
}

#[test]
fn as_many_calls_are_in_flight_as_asked_for() {
    // More than the client's default per connection. A server without a limit accepts them all.
    let mut trial = trial(responds_together(1500));
    trial.endpoint.protocol = Protocol::Http2;
    trial.expect.content_type = None;
    trial.schedule = Schedule::Closed { in_flight: 1500 };
    trial.stop.calls = Some(3000);
    let measurement = run(&trial, &[b"x"]);
    assert_answered(&measurement, 3000);
    assert_eq!(measurement.most_in_flight.unwrap(), 1500);
}

#[test]
fn fewer_calls_in_flight_than_asked_for_are_reported() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.schedule = Schedule::Closed { in_flight: 150 };
    trial.stop.calls = Some(1000);
    let measurement = run(&trial, &[b"x"]);
    assert_answered(&measurement, 1000);
    assert_eq!(
        measurement.most_in_flight.unwrap(),
        100,
        "the server's limit"
    );
}
