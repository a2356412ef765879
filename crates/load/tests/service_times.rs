//! Service time and time to first byte of a live service's calls.

mod support;

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use rpcgauge_load::{Histogram, Protocol, Trial};
use rpcgauge_trial::{Address, ConnectionUse, FailureKind, TrialFigures};
use support::frames::{Came, goaway, ok_frame, serve_frames};
use support::*;

const PAUSE: Duration = Duration::from_millis(50);

fn detailed(address: Address) -> Trial {
    Trial {
        keeps_detail: true,
        ..trial(address)
    }
}

fn latency(measurement: &TrialFigures) -> Histogram {
    measurement.latency.unpack().counts().clone()
}

/// The times until the last and until the first byte.
fn service_times(measurement: &TrialFigures) -> [Histogram; 2] {
    let times = [&measurement.service_time, &measurement.first_byte];
    times.map(|times| times.as_ref().unwrap().unpack().counts().clone())
}

fn ms(pause: Duration) -> u64 {
    pause.as_nanos() as u64
}

/// Asserts that each quantile of `less` is at least `by` ns below that of `more`, as it is if each call's time is.
#[track_caller]
fn assert_below(less: &Histogram, more: &Histogram, by: u64) {
    assert_eq!(less.len(), more.len());
    for quantile in (0..=100).map(|percent| f64::from(percent) / 100.0) {
        let [less, more] = [less, more].map(|times| times.value_at_quantile(quantile));
        assert!(less + by <= more, "{quantile}: {less} ns and {more} ns");
    }
}

/// Sends the head of each response, and its body later.
fn head_first(mut stream: TcpStream) {
    while read_request(&mut stream).is_some() {
        let response = ok(b"later");
        let (head, body) = response.split_at(response.len() - 5);
        let sent = stream.write_all(head).and_then(|()| {
            thread::sleep(PAUSE);
            stream.write_all(body)
        });
        if sent.is_err() {
            return;
        }
    }
}

#[test]
fn the_first_byte_of_a_response_comes_before_its_last() {
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let mut trial = detailed(serve(head_first));
        trial.connection_use = connection_use;
        trial.stop.calls = Some(5);
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        let [whole, first_byte] = service_times(&measurement);
        assert_eq!(whole.len(), 5, "{connection_use:?}");
        // Histograms have three digits.
        assert_below(&first_byte, &whole, ms(PAUSE) * 9 / 10);
        assert_below(&whole, &latency(&measurement), 0);
    }
}

#[test]
fn waiting_for_a_connection_is_no_service_time() {
    // One connection answers 20 calls per second, and 200 are due.
    let mut trial = detailed(serve(respond_with(ok_after(PAUSE))));
    trial.schedule = constant_rate(200.0);
    trial.stop.calls = Some(20);
    let measurement = run(&trial, &[b"x"]);
    assert_answered(&measurement, 20);
    let [whole, _] = service_times(&measurement);
    assert!(whole.min() >= ms(PAUSE) * 9 / 10, "{} ns", whole.min());
    let median = |times: &Histogram| times.value_at_quantile(0.5);
    let (latency, service) = (median(&latency(&measurement)), median(&whole));
    assert!(latency > 3 * service, "{latency} ns and {service} ns");
}

#[test]
fn a_retried_call_counts_from_its_last_send() {
    // The first connection takes its time to refuse the third call.
    let third = |came: Came| match came.stream {
        5 => {
            thread::sleep(PAUSE);
            goaway(3, 0)
        }
        stream => ok_frame(stream),
    };
    let mut trial = detailed(serve_frames(third));
    trial.endpoint.protocol = Protocol::Http2;
    trial.expect.content_type = None;
    trial.stop.calls = Some(3);
    let measurement = run(&trial, &[b"x"]);
    assert_eq!(measurement.calls.answered_after_retry, 1);
    let [whole, _] = service_times(&measurement);
    assert_eq!(whole.len(), 3);
    let latency = latency(&measurement).max();
    assert!(
        whole.max() + ms(PAUSE) * 9 / 10 <= latency,
        "{} ns of {latency} ns",
        whole.max()
    );
}

#[test]
fn failed_calls_have_no_service_time_and_other_trials_record_none() {
    let busy = |_: &[u8]| b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n".to_vec();
    let address = serve(respond_with(busy));
    let measurement = run(&detailed(address.clone()), &[b"x"]);
    let failed = &measurement.calls.failed;
    assert_eq!(failed.get(&FailureKind::HttpStatus(503)), Some(&100));
    let service = service_times(&measurement);
    assert!(service.iter().all(Histogram::is_empty));
    assert!(run(&trial(address), &[b"x"]).service_time.is_none());
}
