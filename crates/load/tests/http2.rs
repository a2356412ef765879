//! Trials against a real HTTP/2 server (hyper), gRPC and plain.

mod support;

use std::convert::Infallible;
use std::io::{Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::HeaderValue;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rpcgauge_load::{
    Address, Arrivals, Bodies, CallStyle, ConnectionUse, Protocol, Schedule, Stage, Stop, Timing,
    Trial, WarmupBounds,
};
use support::frames::{frame, ok_frame, play_frames};
use support::*;

type AnswerBody = http_body_util::combinators::BoxBody<Bytes, Infallible>;

/// Serves HTTP/2 with prior knowledge on a thread of its own.
fn serve_http2<F, A>(answer: F) -> Address
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    A: Future<Output = Response<AnswerBody>> + Send + 'static,
{
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                let answer = answer.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| {
                        let answer = answer(request);
                        async move { Ok::<_, Infallible>(answer.await) }
                    });
                    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .max_concurrent_streams(100)
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
    });
    address
}

/// A gRPC answer of these frames and this status.
fn grpc(data: Bytes, status: &'static str, message: &'static str) -> Response<AnswerBody> {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", status.parse().unwrap());
    trailers.insert("grpc-message", message.parse().unwrap());
    let body = Frames([Frame::data(data), Frame::trailers(trailers)].into_iter()).boxed();
    Response::builder()
        .header("content-type", "application/grpc")
        .body(body)
        .unwrap()
}

/// The frames one after the other, without waiting.
struct Frames(std::array::IntoIter<Frame<Bytes>, 2>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}

/// Answers a gRPC call with its own message.
async fn echo(request: Request<Incoming>) -> Response<AnswerBody> {
    let body = request
        .into_body()
        .collect()
        .await
        .map(|body| body.to_bytes());
    grpc(body.unwrap_or_default(), "0", "")
}

fn grpc_trial(address: Address) -> Trial {
    let mut trial = trial(address);
    trial.target.protocol = Protocol::Http2;
    trial.request.style = CallStyle::Grpc { subtype: None };
    trial.request.path = "/test.Echo/Call".to_owned();
    trial.request.headers.clear();
    trial
}

#[test]
fn grpc_calls_one_after_the_other() {
    let trial = grpc_trial(serve_http2(echo));
    let measurement = run(&trial, &[b"hello"]);
    assert_sums_hold(&measurement);
    assert_eq!(
        measurement.calls.answered, 100,
        "{:?}",
        measurement.error_samples
    );
    assert_eq!(measurement.traffic.sent.body, 500, "the prefix is overhead");
    assert_eq!(measurement.traffic.received.body, 500);
    assert_eq!(measurement.payload.response_carried, 5.0);
}

#[test]
fn many_calls_share_few_connections() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.connections = 4;
    trial.schedule = Schedule::Closed { in_flight: 100 };
    trial.stop.calls = Some(2000);
    let measurement = run(&trial, &[b"hello", b"world!"]);
    assert_sums_hold(&measurement);
    assert_eq!(
        measurement.calls.answered, 2000,
        "{:?}",
        measurement.error_samples
    );
    assert_eq!(measurement.connections_opened, 0);
    assert_eq!(measurement.traffic.sent.body, 11_000);
}

#[test]
fn messages_without_bytes_have_no_body_whenever_the_warm_up_ends() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.schedule = Schedule::Closed { in_flight: 16 };
    trial.warmup = Some(warmup(50));
    let measurement = run(&trial, &[b""]);
    assert_answered(&measurement, 100);
    let (sent, received) = (measurement.traffic.sent, measurement.traffic.received);
    assert_eq!((sent.body, received.body), (0, 0));
    // Two frame headers and a prefix a call; answers have a third one, for the trailers.
    assert_eq!((sent.overhead, received.overhead), (2300, 3200));

    // At a rate the warm-up's calls are not waited for.
    trial.schedule = Schedule::Rate {
        per_second: 20_000.0,
        arrivals: Arrivals::Constant,
    };
    let measurement = run(&trial, &[b""]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.traffic.received.body, 0);
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
        cold.traffic.sent, warm.traffic.sent,
        "no call's good-bye is the next one's"
    );
}

#[test]
fn more_connections_than_are_opened_at_once() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.connections = 250;
    trial.schedule = Schedule::Closed { in_flight: 250 };
    trial.stop.calls = Some(1000);
    let measurement = run(&trial, &[b"hello"]);
    assert_sums_hold(&measurement);
    assert_eq!(
        measurement.calls.answered, 1000,
        "{:?}",
        measurement.error_samples
    );
    assert_eq!(measurement.connections_at_start, 250);
    assert_eq!(
        (measurement.connections_opened, measurement.connects_failed),
        (0, 0)
    );
}

#[test]
fn a_rate_over_one_connection() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.schedule = Schedule::Rate {
        per_second: 2000.0,
        arrivals: Arrivals::Poisson { seed: 1 },
    };
    trial.stop = Stop {
        calls: Some(200),
        time: None,
    };
    let measurement = run(&trial, &[b"hello"]);
    assert_sums_hold(&measurement);
    assert_eq!(
        measurement.calls.answered, 200,
        "{:?}",
        measurement.error_samples
    );
}

#[test]
fn a_connection_for_every_call() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.connection_use = ConnectionUse::PerCall;
    trial.timing = Timing::Stages;
    trial.stop.calls = Some(30);
    let measurement = run_with(&trial, Bodies::PerCall(&mut Echo::default())).unwrap();
    assert_sums_hold(&measurement);
    assert_eq!(
        measurement.calls.answered, 30,
        "{:?}",
        measurement.error_samples
    );
    assert_eq!(measurement.connections_opened, 30);
    assert_eq!(measurement.stages[&Stage::Connect].len(), 30);
    assert_eq!(measurement.marks.absent, 30);
}

#[test]
fn marks_that_are_never_indexed_leave_the_other_headers_as_they_are() {
    const CALLS: u64 = 300;
    let received = |address: Address| {
        let mut trial = grpc_trial(address);
        trial.timing = Timing::Stages;
        trial.stop.calls = Some(CALLS);
        let measurement = run_with(&trial, Bodies::PerCall(&mut Echo::default())).unwrap();
        assert_eq!(measurement.calls.answered, CALLS);
        measurement.traffic.received
    };
    let plain = received(serve_http2(echo));
    let number = Arc::new(AtomicU64::new(100_000));
    let marked = received(serve_http2(move |request| {
        let number = number.fetch_add(1, Ordering::Relaxed);
        async move {
            let mut response = echo(request).await;
            for name in ["rpcgauge-handler-start", "rpcgauge-handler-end"] {
                let mut value = HeaderValue::from(number);
                value.set_sensitive(true);
                response.headers_mut().insert(name, value);
            }
            response
        }
    }));
    assert_eq!(plain.marks, 0);
    assert!(marked.marks > CALLS * 30, "two names each: {marked:?}");
    // `date` is entered anew each second, whatever else there is.
    assert!(
        plain.header.abs_diff(marked.header) < CALLS,
        "{plain:?} {marked:?}"
    );
}

#[test]
fn large_messages_pass_flow_control_both_ways() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.stop.calls = Some(3);
    let message = vec![7; 3 << 20];
    let measurement = run(&trial, &[&message]);
    assert_sums_hold(&measurement);
    assert_eq!(
        measurement.calls.answered, 3,
        "{:?}",
        measurement.error_samples
    );
    assert_eq!(measurement.traffic.received.body, 9 << 20);
}

#[test]
fn a_codec_reads_the_message_without_its_prefix() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.warmup = Some(WarmupBounds {
        max_calls: 10,
        ..warmup(10)
    });
    let mut codec = Echo::default();
    let measurement = run_with(&trial, Bodies::PerCall(&mut codec)).unwrap();
    assert_eq!(
        measurement.calls.answered, 100,
        "{:?}",
        measurement.error_samples
    );
    assert_eq!(
        (codec.verified.as_slice(), codec.decoded.as_slice()),
        (&[0][..], &b"call 109"[..])
    );
}

#[test]
fn a_status_is_counted_by_its_name_with_its_message() {
    let address = serve_http2(|_| async { grpc(Bytes::new(), "14", "try %3Cagain%3E") });
    let measurement = run(&grpc_trial(address), &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(
        failures(&measurement),
        [("grpc-unavailable".to_owned(), 100)]
    );
    assert_eq!(measurement.error_samples[0].text, "try <again>");
}

#[test]
fn an_answer_that_is_no_grpc_is_counted_as_what_it_is() {
    let table = [
        (502, "text/html", "http-502"),
        (200, "text/html", "content-type"),
        (200, "application/grpc", "protocol"),
    ];
    for (status, content_type, kind) in table {
        let address = serve_http2(move |_| async move {
            let body = Full::new(Bytes::from_static(b"<html>")).boxed();
            Response::builder()
                .status(status)
                .header("content-type", content_type)
                .body(body)
                .unwrap()
        });
        let measurement = run(&grpc_trial(address), &[b"x"]);
        assert_sums_hold(&measurement);
        assert_eq!(failures(&measurement), [(kind.to_owned(), 100)]);
    }
}

#[test]
fn a_call_out_of_time_is_cancelled_and_the_connection_goes_on() {
    let address = serve_http2(|request: Request<Incoming>| async {
        let body = request
            .into_body()
            .collect()
            .await
            .map(|body| body.to_bytes());
        let body = body.unwrap_or_default();
        if body.ends_with(b"slow") {
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        grpc(body, "0", "")
    });
    let mut trial = grpc_trial(address);
    trial.deadline = Duration::from_millis(500);
    trial.stop.calls = Some(4);
    let measurement = run(&trial, &[b"fast", b"slow"]);
    assert_sums_hold(&measurement);
    assert_eq!(
        measurement.calls.answered, 2,
        "{:?}",
        measurement.error_samples
    );
    assert_eq!(failures(&measurement), [("deadline".to_owned(), 2)]);
    assert_eq!(
        measurement.connections_opened, 0,
        "RST_STREAM, not a new connection"
    );
}

#[test]
fn a_server_of_the_other_protocol_is_told_apart() {
    let address = serve(|mut stream: std::net::TcpStream| {
        let mut sink = [0; 100];
        let _ = stream.read(&mut sink);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    });
    let mut trial = grpc_trial(address);
    trial.stop.calls = Some(5);
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(failures(&measurement), [("wrong-protocol".to_owned(), 5)]);
    let text = &measurement.error_samples[0].text;
    assert!(text.contains("HTTP/1.x only"), "{text}");
}

#[test]
fn a_server_that_wants_http1_is_told_apart() {
    let settings = frame(4, 0, 0, &[]);
    let wants_http1 = [0, 0, 0, 0, 0, 0, 0, 0xd];
    for answer in [
        frame(3, 0, 1, &wants_http1[4..]),
        frame(7, 0, 0, &wants_http1),
    ] {
        let mut trial = grpc_trial(says(&[settings.clone(), answer]));
        trial.connection_use = ConnectionUse::PerCall;
        trial.stop.calls = Some(2);
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        assert_eq!(failures(&measurement), [("wrong-protocol".to_owned(), 2)]);
        let text = &measurement.error_samples[0].text;
        assert!(text.contains("HTTP_1_1_REQUIRED"), "{text}");
    }
}

/// Sends these frames once something came, and closes.
fn says(frames: &[Vec<u8>]) -> Address {
    let bytes = frames.concat();
    serve(move |mut stream: std::net::TcpStream| {
        let mut sink = [0; 10_000];
        let _ = stream.read(&mut sink);
        let _ = stream.write_all(&bytes);
        // Until the client closes, so that nothing is cut short by a reset.
        while stream.read(&mut sink).is_ok_and(|n| n > 0) {}
    })
}

#[test]
fn what_breaks_a_stream_is_counted_by_its_kind() {
    let settings = frame(4, 0, 0, &[]);
    let table = [
        (frame(3, 0, 1, &[0, 0, 0, 2]), "stream-reset"),
        (frame(3, 0, 1, &[0, 0, 0, 7]), "not-processed"),
        (frame(7, 0, 0, &[0; 8]), "not-processed"),
        (frame(0, 1, 1, b"body without a head"), "protocol"),
        (frame(1, 4, 1, &[0xff; 8]), "protocol"),
    ];
    for (answer, kind) in table {
        let mut trial = grpc_trial(says(&[settings.clone(), answer]));
        // One call a connection: the next would be on a stream that the script does not know.
        trial.connection_use = ConnectionUse::PerCall;
        trial.stop.calls = Some(3);
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        assert_eq!(
            failures(&measurement),
            [(kind.to_owned(), 3)],
            "{:?}",
            measurement.error_samples
        );
    }
}

/// Answers all streams of a connection at once, when so many requests have come.
fn answers_together(at_once: u32) -> Address {
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
    // More than the connection's own default: a server without a limit takes them all.
    let mut trial = trial(answers_together(1500));
    trial.target.protocol = Protocol::Http2;
    trial.expect.content_type = None;
    trial.schedule = Schedule::Closed { in_flight: 1500 };
    trial.stop.calls = Some(3000);
    let measurement = run(&trial, &[b"x"]);
    assert_answered(&measurement, 3000);
    assert_eq!(measurement.most_in_flight, 1500);
}

#[test]
fn fewer_calls_in_flight_than_asked_for_are_told() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.schedule = Schedule::Closed { in_flight: 150 };
    trial.stop.calls = Some(1000);
    let measurement = run(&trial, &[b"x"]);
    assert_answered(&measurement, 1000);
    assert_eq!(measurement.most_in_flight, 100, "the server's limit");
}
