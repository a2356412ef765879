//! Tests what a live service is sent. Tests of the built program cover the sending, and the errors for
//! services other than the intended one.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use rpcgauge_message::data::{Form, Order, RowFormat, Rows};
use rpcgauge_message::{Compression, Schema};
use rpcgauge_study::settings::{
    AtEnd, CallOptions, HttpVersion, LbStrategy, LiveService, LiveWire, Messages, StreamOptions,
};
use rpcgauge_trial::{Address, Schedule};

use super::*;

fn live(target: &str) -> LiveCall {
    let target: rpcgauge_study::url::Url = target.parse().unwrap();
    let is_grpc = target.scheme.is_grpc();
    let service = LiveService {
        url: target,
        start: None,
        tls: None,
        http_method: (!is_grpc).then(|| "POST".to_owned()),
        header_names: Vec::new(),
        expect: Vec::new(),
        messages: Messages::default(),
        max_requests: None,
        stream: StreamOptions::default(),
        at_end: AtEnd::Wait,
        keepalive: None,
        lb_strategy: LbStrategy::PickFirst,
        addresses: Vec::new(),
        per_user: false,
        calls: Vec::new(),
    };
    LiveCall {
        service,
        wire: if is_grpc {
            LiveWire::Grpc
        } else {
            LiveWire::Http(HttpVersion::Http2)
        },
        options: CallOptions {
            deadline_ms: 250,
            ..CallOptions::default()
        },
        threads: 1,
    }
}

/// A stop flag that is never set.
static GO: AtomicBool = AtomicBool::new(false);

const EXTENT: Extent = Extent {
    warmup: Stop {
        calls: Some(2),
        time_ms: Some(1_000),
    },
    measured: Stop {
        calls: Some(5),
        time_ms: None,
    },
    limits: Limits::DEFAULT,
    prepared_bytes: Extent::PREPARED_BYTES,
};

/// Trials that last one second, with no limit on calls.
const A_SECOND: Extent = Extent {
    measured: Stop::after_ms(1_000),
    ..EXTENT
};

fn texts(template: Option<&str>, rows: Option<Rows>) -> Texts {
    let data = Data::new(template, rows, Form::Json, Order::InTurn, 1).unwrap();
    Texts {
        data: Arc::new(data),
        message_type: None,
        fields: Vec::new(),
        source: "data".to_owned(),
    }
}

fn greeting(template: &str) -> Texts {
    let schema = Schema::workloads();
    let name = schema.method_names();
    let hello = name.iter().find(|name| name.contains("Hello")).unwrap();
    Texts {
        message_type: Some(schema.method(hello).unwrap().request),
        fields: Vec::new(),
        ..texts(Some(template), None)
    }
}

fn http() -> LiveCall {
    live("http://localhost/x")
}

fn grpc() -> LiveCall {
    live("grpc://localhost:1/a.B/C")
}

fn make(
    live: &LiveCall,
    texts: Option<&Texts>,
    extent: &Extent,
    stop: &AtomicBool,
) -> Result<bodies::Made, LiveError> {
    let share = Share {
        weight: 1,
        all: 1,
        threads: live.threads,
    };
    bodies::make(&live.options, texts, None, extent, share, stop)
}

fn text(body: &load::Body) -> String {
    String::from_utf8_lossy(&body.bytes).into_owned()
}

/// The bodies built before the first call.
fn ready(made: &bodies::Made) -> Arc<[load::Body]> {
    match &made.bodies {
        LiveBodies::Ready(bodies) => Arc::clone(bodies),
        LiveBodies::Ahead(_) => panic!("they are built ahead of the calls"),
    }
}

fn sent(made: &bodies::Made) -> Vec<String> {
    ready(made).iter().map(text).collect()
}

/// The first bodies of a trial whose bodies are built ahead of the calls.
fn ahead(made: &bodies::Made, count: usize) -> Vec<Result<String, String>> {
    ahead_of(load::Shard::WHOLE, made, count)
}

fn ahead_of(shard: load::Shard, made: &bodies::Made, count: usize) -> Vec<Result<String, String>> {
    match made.bodies.for_trial(shard).unwrap() {
        load::MixBodies::Streamed(bodies) => bodies
            .take(count)
            .map(|body| body.map(|body| text(&body)).map_err(|error| error.0))
            .collect(),
        _ => panic!("they are built before the first call"),
    }
}

#[test]
fn without_texts_there_is_one_empty_body() {
    let made = make(&grpc(), None, &EXTENT, &GO).unwrap();
    assert_eq!(sent(&made), [""]);
}

#[test]
fn rows_are_made_once_each() {
    let rows = Rows::in_memory(b"{\"a\":1}\n\n{\"a\":2}\n", RowFormat::JsonLines).unwrap();
    let made = make(&http(), Some(&texts(None, Some(rows))), &EXTENT, &GO).unwrap();
    assert_eq!(sent(&made), ["{\"a\":1}", "{\"a\":2}"]);
}

#[test]
fn a_text_per_call_is_enough_for_the_warm_up_and_the_trial() {
    let made = make(&http(), Some(&texts(Some("{{n}}"), None)), &EXTENT, &GO).unwrap();
    assert_eq!(sent(&made), ["0", "1", "2", "3", "4", "5", "6"]);
    assert_eq!(made.probe.bytes, b"7", "no call sends the probe's text");
}

#[test]
fn no_text_is_sent_by_two_threads() {
    let live = LiveCall {
        threads: 3,
        ..http()
    };
    let made = make(&live, Some(&texts(Some("{{n}}"), None)), &EXTENT, &GO).unwrap();
    let mut all = Vec::new();
    for shard in load::Shard::all(3) {
        match made.bodies.for_trial(shard).unwrap() {
            load::MixBodies::Prepared(bodies) => {
                // At most one call of the warm-up and two of the measured part.
                assert_eq!(bodies.len(), 3);
                all.extend(bodies.iter().map(text));
            }
            load::MixBodies::Streamed(_) => panic!("they are built before the first call"),
        }
    }
    all.sort();
    assert_eq!(all, ["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
    let made = make(&live, Some(&texts(Some("{{n}}"), None)), &A_SECOND, &GO).unwrap();
    let second = load::Shard::all(3).nth(1).unwrap();
    let texts = ahead_of(second, &made, 3).into_iter().map(Result::unwrap);
    assert!(texts.eq(["1", "4", "7"]));
}

#[test]
fn a_rate_tells_how_many_texts_there_must_be() {
    let mut live = http();
    live.options.schedule = Schedule::Rate {
        per_second: 100.0,
        arrivals: rpcgauge_study::settings::Arrivals::Poisson,
    };
    let made = make(&live, Some(&texts(Some("{{n}}"), None)), &A_SECOND, &GO).unwrap();
    let count = ready(&made).len();
    assert!((150..200).contains(&count), "{count}");
}

#[test]
fn making_many_texts_can_be_ended() {
    let stopped = AtomicBool::new(true);
    let (many, rows) = (Some("{{n}}"), "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
    let of_rows = texts(
        None,
        Some(Rows::in_memory(rows.as_bytes(), RowFormat::JsonLines).unwrap()),
    );
    for (texts, extent) in [(texts(many, None), &EXTENT), (of_rows, &LITTLE)] {
        let ended = make(&http(), Some(&texts), extent, &stopped);
        assert!(matches!(ended.err(), Some(LiveError::Interrupted)));
    }
}

#[test]
fn texts_without_end_are_made_ahead_of_the_calls() {
    let made = make(&http(), Some(&texts(Some("{{n}}"), None)), &A_SECOND, &GO).unwrap();
    assert_eq!(made.probe.bytes, b"0");
    for _trial in 0..2 {
        let first: Vec<_> = ahead(&made, 3).into_iter().map(Result::unwrap).collect();
        assert_eq!(first, ["0", "1", "2"]);
    }
}

/// Enough memory for two of the rows.
const LITTLE: Extent = Extent {
    prepared_bytes: 150,
    ..EXTENT
};

#[test]
fn texts_beyond_memory_are_made_ahead_of_the_calls() {
    let rows = Rows::in_memory(b"{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n", RowFormat::JsonLines).unwrap();
    let of_rows = texts(None, Some(rows));
    let made = make(&http(), Some(&of_rows), &LITTLE, &GO).unwrap();
    let first: Vec<_> = ahead(&made, 4).into_iter().map(Result::unwrap).collect();
    let wanted = ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}", "{\"a\":1}"];
    assert_eq!(first, wanted);
    assert_eq!(made.probe.bytes, wanted[0].as_bytes());
    let many = texts(Some("{{n}}"), None);
    let made = make(&http(), Some(&many), &LITTLE, &GO).unwrap();
    assert_eq!(ahead(&made, 2), [Ok("0".to_owned()), Ok("1".to_owned())]);
    assert_eq!(made.probe.bytes, b"7", "no call sends this text");
}

#[test]
fn a_text_that_cannot_be_sent_is_said_beforehand_or_fails_its_call() {
    let greetings = |count: u64| {
        let mut lines = String::new();
        (0..count).for_each(|_| lines.push_str("{\"name\":\"Ada\"}\n"));
        lines.push_str("{\"name\":1}\n");
        Rows::in_memory(lines.as_bytes(), RowFormat::JsonLines).unwrap()
    };
    let data = Data::new(None, Some(greetings(5)), Form::Json, Order::InTurn, 1).unwrap();
    let in_turn = Texts {
        data: Arc::new(data),
        ..greeting("{}")
    };
    let error = make(&grpc(), Some(&in_turn), &LITTLE, &GO).err().unwrap();
    assert!(error.to_string().contains(", line 6: $.name"), "{error}");
    // Each call draws a random row. Find a seed for which none of the first 1,000 calls draws the bad row.
    let bad_call = |data: &Arc<Data>| {
        let mut writer = data.writer().unwrap();
        (0..).find(|call| {
            writer.text(*call, &mut String::new()).unwrap();
            writer.place() == ", line 3001"
        })
    };
    let (data, bad) = (1..)
        .find_map(|seed| {
            let rows = greetings(3_000);
            let data = Data::new(None, Some(rows), Form::Json, Order::Random, seed).unwrap();
            let data = Arc::new(data);
            let bad = bad_call(&data).filter(|bad| *bad > 1_000)?;
            Some((data, bad))
        })
        .unwrap();
    let drawn = Texts {
        data,
        ..greeting("{}")
    };
    let made = make(&grpc(), Some(&drawn), &LITTLE, &GO).unwrap();
    let refused = ahead(&made, bad as usize + 1).pop().unwrap();
    // The value itself may be a secret, and the texts of failed calls are recorded.
    let text = refused.unwrap_err();
    let without = ", line 3001: $.name: invalid value, expected a string";
    assert!(text.ends_with(without), "{text}");
}

#[test]
fn rows_that_stay_in_their_file_are_read_ahead_of_the_calls() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut lines = "{\"name\":\"Ada\"}\n".repeat(1_200);
    lines.push_str("{\"name\":}\n{\"nam\":\"Bob\"}\n");
    std::fs::write(file.path(), lines).unwrap();
    let rows = Rows::in_file(file.path(), RowFormat::JsonLines).unwrap();
    let of_rows = |rows| Texts {
        data: Arc::new(Data::new(None, Some(rows), Form::Json, Order::InTurn, 1).unwrap()),
        source: "rows.jsonl".to_owned(),
        ..greeting("{}")
    };
    let made = make(&grpc(), Some(&of_rows(rows)), &LITTLE, &GO).unwrap();
    for _ in 0..2 {
        // Every trial begins with the first row, and starts over at the end.
        let read = ahead(&made, 1_203);
        assert_eq!(read[0], Ok("\n\u{3}Ada".to_owned()));
        let wrong = "rows.jsonl: line 1201, column 9: not JSON: expected value";
        assert_eq!(read[1_200], Err(wrong.to_owned()));
        let unknown = read[1_201].as_ref().unwrap_err();
        assert!(
            unknown.starts_with("rows.jsonl, line 1202: $.nam"),
            "{unknown}"
        );
        assert_eq!(read[1_202], read[0]);
    }
    std::fs::write(file.path(), "{\"name\":\"Ada\"}\n{\"name\":}\n").unwrap();
    let rows = Rows::in_file(file.path(), RowFormat::JsonLines).unwrap();
    let beforehand = make(&grpc(), Some(&of_rows(rows)), &LITTLE, &GO);
    let said = beforehand.err().unwrap().to_string();
    assert_eq!(
        said,
        "rows.jsonl: line 2, column 9: not JSON: expected value"
    );
}

#[test]
fn messages_are_encoded_and_what_is_none_is_named_by_its_place() {
    let good = make(&grpc(), Some(&greeting("{\"name\":\"Ada\"}")), &EXTENT, &GO).unwrap();
    assert_eq!(sent(&good), ["\n\u{3}Ada"]);
    let why = |texts: &Texts| {
        let made = make(&grpc(), Some(texts), &EXTENT, &GO);
        made.err().unwrap().to_string()
    };
    insta::assert_snapshot!(why(&greeting("{\"name\":1}")), @"data: $.name: invalid value: integer `1`, expected a string");
    let rows = Rows::in_memory(
        b"{\"name\":\"Ada\"}\n{\"nam\":\"Bob\"}\n",
        RowFormat::JsonLines,
    )
    .unwrap();
    let of_rows = Texts {
        data: Arc::new(Data::new(None, Some(rows), Form::Json, Order::InTurn, 1).unwrap()),
        source: "rows.jsonl".to_owned(),
        ..greeting("{}")
    };
    insta::assert_snapshot!(why(&of_rows), @r#"rows.jsonl, line 2: $.nam: hello.HelloRequest has no field "nam"; did you mean "name"?"#);
}

#[test]
fn compressed_bodies_say_so() {
    let mut live = http();
    live.options.request_compression = Compression::GZIP;
    let made = make(&live, Some(&texts(Some("{\"a\":1}"), None)), &EXTENT, &GO).unwrap();
    let body = &ready(&made)[0];
    assert!(body.compressed && body.plain_len == 7);
    assert_eq!(&body.bytes[..2], [0x1f, 0x8b], "gzip's magic number");
}

fn with(headers: &[(&str, &str)]) -> LiveInputs {
    LiveInputs {
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        texts: Some(texts(Some("{}"), None)),
        ..LiveInputs::default()
    }
}

fn fields(live: &LiveCall, headers: &[(&str, &str)]) -> Vec<String> {
    let request = head::request(live, &with(headers)).unwrap();
    let own = request
        .headers
        .iter()
        .filter(|(name, _)| name != "user-agent");
    own.map(|(name, value)| format!("{name}: {value}"))
        .collect()
}

#[test]
fn a_head_has_what_the_settings_say_and_what_the_user_gives() {
    assert_eq!(
        fields(&grpc(), &[("x-id", "7")]),
        ["grpc-timeout: 250m", "x-id: 7"]
    );
    assert_eq!(fields(&http(), &[]), ["content-type: application/json"]);
    let plain = [("Content-Type", "text/plain")];
    assert_eq!(fields(&http(), &plain), ["Content-Type: text/plain"]);
    let mut compressed = grpc();
    compressed.options.request_compression = Compression::GZIP;
    compressed.options.response_compression = Compression::ZSTD;
    assert_eq!(
        fields(&compressed, &[]),
        [
            "grpc-timeout: 250m",
            "grpc-encoding: gzip",
            "grpc-accept-encoding: zstd"
        ]
    );
}

#[test]
fn a_host_field_is_what_the_server_receives() {
    let request = head::request(&http(), &with(&[("Host", "shop.example")])).unwrap();
    assert_eq!(request.authority, "shop.example");
    assert!(request.headers.iter().all(|(name, _)| name != "Host"));
}

#[test]
fn fields_that_options_set_are_refused() {
    for (live, name) in [
        (http(), "Accept-Encoding"),
        (grpc(), "grpc-timeout"),
        (grpc(), "grpc-encoding"),
        (grpc(), "content-type"),
        (grpc(), "te"),
    ] {
        let error = head::request(&live, &with(&[(name, "secret")]))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(&format!("header '{name}: …': ")),
            "{error}"
        );
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn grpc_web_needs_an_expectation_of_its_status() {
    let web = [("Content-Type", "application/grpc-web+proto")];
    let mut live = http();
    live.service.expect = vec!["status = 200".parse().unwrap()];
    let error = head::request(&live, &with(&web)).unwrap_err().to_string();
    assert!(error.contains("grpc-status:0"), "{error}");
    live.service.expect = vec!["body contains \"grpc-status:0\"".parse().unwrap()];
    assert_eq!(
        fields(&live, &web),
        ["Content-Type: application/grpc-web+proto"]
    );
}

#[test]
fn a_service_with_several_addresses_is_tried() {
    let listeners = ["127.0.0.1:0", "127.0.0.2:0"].map(|at| TcpListener::bind(at).unwrap());
    let mut live = http();
    live.wire = LiveWire::Http(HttpVersion::Http1);
    live.options.connections = 2;
    for listener in listeners {
        live.service.addresses.push(listener.local_addr().unwrap());
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || {
                    while stream.read(&mut [0; 1_024]).is_ok_and(|bytes| bytes > 0) {
                        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
                    }
                });
            }
        });
    }
    let found = Live::find(&live, &[LiveInputs::default()], &EXTENT, &GO).unwrap();
    assert_eq!(found.calls.endpoint.more_addresses.len(), 1);
}

#[test]
fn what_may_be_secret_is_not_shown() {
    let live = Live {
        calls: CallSpec {
            endpoint: load::Endpoint {
                address: Address::Unix("/x.sock".into()),
                protocol: load::Protocol::Http1,
                more_addresses: Vec::new(),
                tls: None,
            },
            streaming: None,
            pair_by: None,
            request: head::request(&http(), &with(&[("authorization", "Bearer secret")])).unwrap(),
            check: None,
            expect: load::Expect::default(),
            options: CallOptions::default(),
            keepalive: None,
        },
        bodies: LiveBodies::Ready(Arc::from([])),
        mix: Vec::new(),
    };
    assert!(!format!("{live:?}").contains("secret"));
}
