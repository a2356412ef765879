//! What a live service is sent. That it is sent, and what is said of services that are not what was
//! meant, is tested with the built program.

use rpcgauge_message::data::{Form, Order, Rows};
use rpcgauge_message::{Compression, Schema};
use rpcgauge_study::settings::{
    AtEnd, Callee, ConnectionUse, HttpVersion, LiveService, Messages, Protocol, Schedule, Transport,
};

use super::*;

fn settings(target: &str) -> Settings {
    let target: rpcgauge_study::target::Target = target.parse().unwrap();
    let is_grpc = target.scheme.is_grpc();
    Settings {
        callee: Callee::Live {
            service: Box::new(LiveService {
                target,
                tls: None,
                http_method: (!is_grpc).then(|| "POST".to_owned()),
                header_names: Vec::new(),
                messages: Messages::default(),
                at_end: AtEnd::Wait,
            }),
        },
        protocol: if is_grpc {
            Protocol::Grpc
        } else {
            Protocol::Rest
        },
        http: HttpVersion::Http2,
        encoding: None,
        request_compression: Compression::None,
        response_compression: Compression::None,
        transport: Transport::Tcp,
        connection: ConnectionUse::Reuse,
        connections: 1,
        schedule: Schedule::Closed { in_flight: 1 },
        stop: Stop {
            calls: Some(5),
            time_ms: None,
        },
        deadline_ms: 250,
    }
}

const EXTENT: Extent = Extent {
    warmup: Stop {
        calls: Some(2),
        time_ms: Some(1_000),
    },
    limits: Limits::DEFAULT,
};

fn texts(template: Option<&str>, rows: Option<Rows>) -> Texts {
    let data = Data::new(template, rows, Form::Json, Order::InTurn, 1).unwrap();
    Texts {
        data: Arc::new(data),
        message_type: None,
        source: "--data".to_owned(),
    }
}

fn greeting(template: &str) -> Texts {
    let schema = Schema::workloads();
    let name = schema.method_names();
    let hello = name.iter().find(|name| name.contains("Hello")).unwrap();
    Texts {
        message_type: Some(schema.method(hello).unwrap().request),
        ..texts(Some(template), None)
    }
}

fn http() -> Settings {
    settings("http://localhost/x")
}

fn grpc() -> Settings {
    settings("grpc://localhost:1/a.B/C")
}

fn sent(made: &bodies::Made) -> Vec<String> {
    let text = |body: &load::Body| String::from_utf8_lossy(&body.bytes).into_owned();
    made.all.iter().map(text).collect()
}

#[test]
fn without_texts_there_is_one_empty_body() {
    let made = bodies::make(&grpc(), None, &EXTENT).unwrap();
    assert_eq!(sent(&made), [""]);
}

#[test]
fn rows_are_made_once_each() {
    let rows = Rows::from_json_lines("{\"a\":1}\n\n{\"a\":2}\n").unwrap();
    let made = bodies::make(&http(), Some(&texts(None, Some(rows))), &EXTENT).unwrap();
    assert_eq!(sent(&made), ["{\"a\":1}", "{\"a\":2}"]);
}

#[test]
fn a_text_a_call_is_enough_for_the_warm_up_and_the_trial() {
    let made = bodies::make(&http(), Some(&texts(Some("{{n}}"), None)), &EXTENT).unwrap();
    assert_eq!(sent(&made), ["0", "1", "2", "3", "4", "5", "6"]);
    assert_eq!(
        made.probe.bytes, b"7",
        "what looks at the service is sent by no call"
    );
}

#[test]
fn a_rate_tells_how_many_texts_there_must_be() {
    let settings = Settings {
        schedule: Schedule::Rate {
            per_second: 100.0,
            arrivals: rpcgauge_study::settings::Arrivals::Poisson,
        },
        stop: Stop {
            calls: None,
            time_ms: Some(1_000),
        },
        ..http()
    };
    let made = bodies::make(&settings, Some(&texts(Some("{{n}}"), None)), &EXTENT).unwrap();
    assert!((150..200).contains(&made.all.len()), "{}", made.all.len());
}

#[test]
fn texts_without_end_or_beyond_memory_are_refused() {
    let endless = Settings {
        stop: Stop {
            calls: None,
            time_ms: Some(1_000),
        },
        ..http()
    };
    let why = |settings: &Settings, texts: &Texts| {
        let made = bodies::make(settings, Some(texts), &EXTENT);
        made.err().unwrap().to_string()
    };
    insta::assert_snapshot!(why(&endless, &texts(Some("{{n}}"), None)), @"--data: every call has a text of its own, and all are made before the first is sent; say how many with --calls, or give a --rate");
    let many = Settings {
        stop: Stop {
            calls: Some(1_000),
            time_ms: None,
        },
        ..http()
    };
    let long = format!("{{{{n}}}}{}", "x".repeat(1 << 20));
    insta::assert_snapshot!(why(&many, &texts(Some(&long), None)), @"--data: the messages of 1003 calls take more than 256 MiB, and all are made before the first is sent; make fewer calls, or have fewer differ");
}

#[test]
fn messages_are_encoded_and_what_is_none_is_named_by_its_place() {
    let good = bodies::make(&grpc(), Some(&greeting("{\"name\":\"Ada\"}")), &EXTENT).unwrap();
    assert_eq!(sent(&good), ["\n\u{3}Ada"]);
    let why = |texts: &Texts| {
        let made = bodies::make(&grpc(), Some(texts), &EXTENT);
        made.err().unwrap().to_string()
    };
    insta::assert_snapshot!(why(&greeting("{\"name\":1}")), @"--data: $.name: invalid value: integer `1`, expected a string");
    let rows = Rows::from_json_lines("{\"name\":\"Ada\"}\n{\"nam\":\"Bob\"}\n").unwrap();
    let of_rows = Texts {
        data: Arc::new(Data::new(None, Some(rows), Form::Json, Order::InTurn, 1).unwrap()),
        source: "rows.jsonl".to_owned(),
        ..greeting("{}")
    };
    insta::assert_snapshot!(why(&of_rows), @r#"rows.jsonl, line 2: $.nam: hello.HelloRequest has no field "nam"; did you mean "name"?"#);
}

#[test]
fn compressed_bodies_say_so() {
    let settings = Settings {
        request_compression: Compression::GZIP,
        ..http()
    };
    let made = bodies::make(&settings, Some(&texts(Some("{\"a\":1}"), None)), &EXTENT).unwrap();
    let body = &made.all[0];
    assert!(body.compressed && body.plain_len == 7);
    assert_eq!(&body.bytes[..2], [0x1f, 0x8b], "gzip's magic number");
}

fn head(settings: &Settings, inputs: &LiveInputs) -> Result<load::Request, LiveError> {
    head::request(settings, settings.callee.live().unwrap(), inputs)
}

fn with(headers: &[(&str, &str)]) -> LiveInputs {
    LiveInputs {
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        texts: Some(texts(Some("{}"), None)),
    }
}

fn fields(settings: &Settings, headers: &[(&str, &str)]) -> Vec<String> {
    let request = head(settings, &with(headers)).unwrap();
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
    let compressed = Settings {
        request_compression: Compression::GZIP,
        response_compression: Compression::ZSTD,
        ..grpc()
    };
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
fn a_host_field_is_what_the_server_is_told() {
    let request = head(&http(), &with(&[("Host", "shop.example")])).unwrap();
    assert_eq!(request.authority, "shop.example");
    assert!(request.headers.iter().all(|(name, _)| name != "Host"));
}

#[test]
fn fields_that_options_set_are_refused() {
    for (settings, name) in [
        (http(), "Accept-Encoding"),
        (grpc(), "grpc-timeout"),
        (grpc(), "grpc-encoding"),
        (grpc(), "content-type"),
        (grpc(), "te"),
    ] {
        let error = head(&settings, &with(&[(name, "secret")]))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(&format!("-H '{name}: …': ")), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn what_may_be_secret_is_not_shown() {
    let live = Live {
        calls: Calls {
            target: load::Target {
                address: load::Address::Unix("/x.sock".into()),
                protocol: load::Protocol::Http1,
                tls: None,
            },
            request: head(&http(), &with(&[("authorization", "Bearer secret")])).unwrap(),
            expect: load::Expect::default(),
        },
        bodies: Arc::from([]),
    };
    assert!(!format!("{live:?}").contains("secret"));
}
