//! Servers that send arbitrary bytes. Every call must be counted, and the trial must end.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use proptest::prelude::*;
use rpcgauge_load::{CallStyle, Protocol, Trial, WarmupBounds};
use rpcgauge_trial::{ConnectionUse, Ending, Stop};
use support::frames::frame;
use support::*;

/// A server's step on a connection. After its last step, the server closes the connection.
#[derive(Debug, Clone)]
enum Step {
    /// Reads once.
    Read,
    /// Sends these bytes.
    Say(Vec<u8>),
}

fn play(mut stream: TcpStream, script: &[Step]) {
    let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
    let mut sink = [0; 4096];
    for step in script {
        let gone = match step {
            Step::Read => matches!(stream.read(&mut sink), Ok(0)),
            Step::Say(bytes) => stream.write_all(bytes).is_err(),
        };
        if gone {
            return;
        }
    }
}

/// Pieces that are mostly valid on their own, so that errors come from their order.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let http1 = prop::sample::select(vec![
        &b"HTTP/1.1 200 OK\r\n"[..],
        b"content-type: text/plain\r\n",
        b"content-length: 3\r\n",
        b"transfer-encoding: chunked\r\n",
        b"connection: close\r\n",
        b"\r\n",
        b"abc",
        b"3\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\r\nabc",
    ])
    .prop_map(<[u8]>::to_vec);
    let http2 = (
        0u8..10,
        any::<u8>(),
        0u32..6,
        prop::collection::vec(any::<u8>(), 0..20),
    )
        .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload));
    let sound = prop::sample::select(vec![
        frame(4, 0, 0, &[]),
        // `:status 200` from the static table, without and with END_STREAM.
        frame(1, 4, 1, &[0x88]),
        frame(1, 5, 1, &[0x88]),
        frame(0, 1, 1, b"\0\0\0\0\x01x"),
        frame(3, 0, 1, &[0, 0, 0, 7]),
        frame(7, 0, 0, &[0; 8]),
    ]);
    let noise = prop::collection::vec(any::<u8>(), 1..40);
    prop_oneof![3 => http1, 2 => http2, 3 => sound, 1 => noise]
}

fn script() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![1 => Just(Step::Read), 3 => piece().prop_map(Step::Say)];
    prop::collection::vec(step, 0..8)
}

fn chaotic(http2: bool, per_call: bool, rate: bool, script: Vec<Step>) -> Trial {
    let mut trial = trial(serve(move |stream| play(stream, &script)));
    if http2 {
        trial.endpoint.protocol = Protocol::Http2;
        trial.request.style = CallStyle::Grpc { subtype: None };
    }
    if per_call {
        trial.connection_use = ConnectionUse::PerCall;
    }
    if rate {
        trial.schedule = constant_rate(2000.0);
    }
    trial.connections = 2;
    trial.stop = Stop {
        calls: Some(8),
        time_ms: Some(200),
    };
    trial.deadline = Duration::from_millis(30);
    trial.drain = Duration::from_millis(50);
    trial.patience = Duration::from_millis(100);
    trial
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 20, ..ProptestConfig::default() })]

    #[test]
    fn every_call_is_counted_whatever_the_server_says(
        http2 in any::<bool>(),
        per_call in any::<bool>(),
        rate in any::<bool>(),
        warmup_calls in 0u64..4,
        script in script(),
    ) {
        let mut trial = chaotic(http2, per_call, rate, script);
        trial.warmup = (warmup_calls > 0).then_some(WarmupBounds {
            max_calls: warmup_calls,
            max_time: Duration::from_millis(60),
            ..warmup(1_000)
        });
        let measurement = run(&trial, &[b"x", &[b'y'; 10_000]]);
        assert_sums_hold(&measurement);
        prop_assert!(measurement.calls.started <= 8);
        prop_assert!(measurement.warmup.calls <= warmup_calls);
        prop_assert_ne!(measurement.ending, Ending::Interrupted);
        let sampled: u64 = measurement.error_samples.iter().map(|sample| sample.count).sum();
        let counted = sampled + measurement.errors_without_sample;
        prop_assert!(counted >= measurement.calls.failed_total());
    }
}
