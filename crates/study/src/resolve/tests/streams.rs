//! Calls of subjects that stream.

use insta::assert_snapshot;
use rpcgauge_contract::Stream;
use rpcgauge_trial::{ConnectionUse, StreamForm, Timing};

use super::*;

fn items(settings: &str) -> String {
    format!("# Is it fast?\n[workload]\nname = \"items\"\n[base]\n{settings}")
}

#[test]
fn a_stream_has_as_many_messages_as_the_study_says() {
    let stream = |settings: &str| {
        let plan = resolve(&items(settings)).unwrap();
        call(&plan, "base").stream
    };
    let new = |form, messages, in_turn| Stream::new(form, messages, in_turn).ok();
    let grpc = |rest: &str| stream(&format!("protocol = \"grpc\"\n{rest}"));
    assert_eq!(grpc(""), None);
    assert_eq!(
        grpc("stream = \"server\""),
        new(StreamForm::Server, 100, false)
    );
    assert_eq!(
        grpc("in-turn = true\nmessages = 7\nstream = \"bidirectional\""),
        new(StreamForm::Bidirectional, 7, true)
    );
    assert_eq!(
        stream("protocol = \"rest\"\nstream = \"sse\"\nmessages = 2"),
        new(StreamForm::Sse, 2, false)
    );
}

#[test]
fn a_stream_that_nothing_carries_is_refused() {
    let refused = |settings: &str| refused(&items(settings));
    assert_snapshot!(refused("protocol = \"rest\"\nstream = \"server\""), @r#"my.toml:6:10: variant "base": client and server streams are gRPC; write protocol = "grpc", or protocol = "rest" with stream = "ndjson", "sse" or, for a WebSocket, "bidirectional""#);
    assert_snapshot!(refused("protocol = \"grpc\"\nstream = \"sse\""), @r#"my.toml:6:10: variant "base": streams of text are REST with JSON; write protocol = "rest" and encoding = "json""#);
    assert_snapshot!(refused("protocol = \"rest\"\nencoding = \"msgpack\"\nstream = \"ndjson\""), @r#"my.toml:7:10: variant "base": streams of text are REST with JSON; write protocol = "rest" and encoding = "json""#);
    assert_snapshot!(refused("protocol = \"grpc\"\nmessages = 3"), @r#"my.toml:6:12: variant "base": "messages" is for streams, and the calls are unary; write stream = "server", or leave it out"#);
    assert_snapshot!(refused("protocol = \"grpc\"\nstream = \"server\"\nin-turn = true"), @r#"my.toml:7:11: variant "base": only the messages of a bidirectional stream can be sent in turn"#);
    assert_snapshot!(refused("protocol = \"grpc\"\nstream = \"server\"\ncold-calls = 5"), @r#"my.toml:7:14: variant "base": "cold-calls" times the first unary calls; leave it out for streams"#);
    assert_snapshot!(refused("protocol = \"rest\"\nstream = \"sse\"\ncompression = \"gzip\""), @r#"my.toml:6:10: variant "base": a stream of text is not compressed; leave the compression of responses out"#);
    let by_future =
        "client = \"python/http\"\nprotocol = \"grpc\"\nstream = \"server\"\nstyle = \"future\"";
    assert_snapshot!(refused(by_future), @r#"my.toml:8:9: variant "base": a future has one response, and the stream has many; write another style"#);
}

#[test]
fn a_websocket_is_a_connection_of_its_own() {
    const WEBSOCKET: &str = "protocol = \"rest\"\nstream = \"bidirectional\"\n";
    let plan = resolve(&items(&format!("{WEBSOCKET}in-turn = true"))).unwrap();
    let call = call(&plan, "base");
    assert!(call.wire.is_websocket(call.stream.as_ref()));
    assert_eq!(call.options.connection, ConnectionUse::PerCall);
    let refused = |settings: &str| refused(&items(&format!("{WEBSOCKET}{settings}")));
    assert_snapshot!(refused("connection = \"reuse\""), @r#"my.toml:7:14: variant "base": each WebSocket is a connection of its own; leave "connection" out"#);
    assert_snapshot!(refused("http = \"2\""), @r#"my.toml:6:10: variant "base": a WebSocket needs HTTP/1.1; write http = "1.1""#);
    assert_snapshot!(refused("encoding = \"cbor\""), @r#"my.toml:6:10: variant "base": the messages of a WebSocket are JSON; write encoding = "json""#);
    assert_snapshot!(refused("compression = \"gzip\""), @r#"my.toml:7:15: variant "base": the messages of a WebSocket are not compressed; leave compression out"#);
}

#[test]
fn a_workload_streams_only_as_its_methods_do() {
    assert_snapshot!(one_with("protocol = \"grpc\"\nstream = \"server\""), @r#"my.toml:6:10: variant "base": hello.Hello/SayHello is unary, but the variant needs a server stream; leave "stream" out, or stream "items" or a method of your own"#);
}

#[test]
fn a_metric_that_a_stream_does_not_have_is_refused() {
    let two = |metric: &str| {
        refused(&items(&format!(
            "protocol = \"grpc\"\n[[variants]]\nname = \"up\"\nstream = \"client\"\n[[variants]]\nname = \"call\"\n\
             [[pairs]]\nof = \"up\"\nagainst = \"call\"\nmetric = \"{metric}\""
        )))
    };
    assert_snapshot!(two("message-latency"), @r#"my.toml:12:6: message-latency does not exist for a client stream, which "up" is; use another metric"#);
    assert_snapshot!(two("first-message"), @r#"my.toml:12:6: first-message does not exist for a client stream, which "up" is; use another metric"#);
    assert_snapshot!(two("decode-time"), @r#"my.toml:12:6: decode-time exists only with one unary call in flight, and "up" streams; use another metric"#);
}

#[test]
fn stages_of_a_call_that_is_compared_with_streams_are_refused() {
    let asked = refused(&items(
        "protocol = \"grpc\"\n[[variants]]\nname = \"stream\"\nstream = \"server\"\n[[variants]]\nname = \"call\"\n\
         [[variants]]\nname = \"far\"\n\
         [[pairs]]\nof = \"stream\"\nagainst = \"call\"\n\
         [[pairs]]\nof = \"far\"\nagainst = \"call\"\nmetric = \"decode-time\"",
    ));
    assert_snapshot!(asked, @r#"my.toml:10:8: decode-time does not exist for "call", which is also compared with streams and so timed as they are; compare the two in different studies, or use another metric"#);
}

#[test]
fn calls_that_are_compared_with_streams_are_timed_as_they_are() {
    let plan = resolve(&items(
        "protocol = \"grpc\"\n[[variants]]\nname = \"stream\"\nstream = \"server\"\n[[variants]]\nname = \"call\"\n\
         [[variants]]\nname = \"far\"\nhttp = \"2\"\n[[variants]]\nname = \"apart\"\n[[variants]]\nname = \"other\"\n\
         [[pairs]]\nof = \"stream\"\nagainst = \"call\"\n[[pairs]]\nof = \"far\"\nagainst = \"call\"\n\
         [[pairs]]\nof = \"other\"\nagainst = \"apart\"",
    ))
    .unwrap();
    let timing = |name: &str| call(&plan, name).timing();
    for name in ["stream", "call", "far", "call-again"] {
        assert_eq!(timing(name), Timing::Load, "{name}");
    }
    for name in ["apart", "other"] {
        assert_eq!(timing(name), Timing::Stages, "{name}");
    }
}
