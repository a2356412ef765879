//! Mistakes that show only in the whole study or on the machine, with their error lines.

use insta::assert_snapshot;

use super::*;

#[test]
fn contradictory_settings() {
    assert_snapshot!(one_with("protocol = \"grpc\"\nhttp = \"1.1\""), @r#"my.toml:6:8: variant "base": gRPC needs HTTP/2; write http = "2", or exclude it by [[exclude]] with protocol = "grpc" and http = "1.1""#);
    assert_snapshot!(one_with("transport = \"tcp\""), @r#"my.toml:1:1: variant "base": it has no protocol; write protocol = "grpc", "rest" or "connect""#);
    assert_snapshot!(one_with("protocol = \"rest\"\nin-flight = 4\nconnections = 2"), @r#"my.toml:7:15: variant "base": HTTP/1.1 carries one call at a time on a connection, so in-flight = 4 needs connections = 4, not 2; leave "connections" out"#);
    assert_snapshot!(one_with("protocol = \"grpc\"\nconnections = 2"), @r#"my.toml:6:15: variant "base": in-flight = 1 cannot use 2 connections; write fewer, or a larger in-flight"#);
    assert_snapshot!(one_with("protocol = \"grpc\"\nconnection = \"per-call\"\nin-flight = 4\nconnections = 2"), @r#"my.toml:8:15: variant "base": a connection opened for one call carries only that call, so in-flight = 4 needs connections = 4, not 2; leave "connections" out"#);
    assert_snapshot!(one_with("protocol = \"grpc\"\narrivals = \"poisson\""), @r#"my.toml:6:12: variant "base": "arrivals" spaces calls at a "rate", and there is none; write rate = 1000"#);
}

#[test]
fn workloads_that_do_not_fit() {
    assert_snapshot!(refused("# ?!\n[base]\nprotocol = \"grpc\""), @r#"my.toml:1:1: variant "base": it calls nothing; write [workload] with name = "echo" and n = 10, or [service] with a target"#);
    assert_snapshot!(one_with("protocol = \"grpc\"\nn = 3"), @r#"my.toml:6:5: the workload "hello" has one size; leave "n" out"#);
    assert_snapshot!(two_and("[factors]\nn = [10, 4294967295]"), @r#"my.toml:13:10: the workload "echo" can have at most 100000 items, not 4294967295"#);
    assert_snapshot!(one_with("protocol = \"grpc\"\nscale = 3"), @r#"my.toml:6:9: "scale" is for your own method; built-in workloads have "n""#);
    assert_snapshot!(refused("# Is it?\n[workload]\nname = \"list\"\n[base]\nprotocol = \"grpc\""), @r#"my.toml:3:8: the workload "list" needs its size; write n = 10"#);
}

#[test]
fn stage_times_of_many_calls_in_flight() {
    let busy = TWO.replace(
        "protocol = \"rest\"",
        "protocol = \"rest\"\nin-flight = 4\nconnections = 4",
    );
    let pair = "[[pairs]]\nof = \"grpc\"\nagainst = \"rest-json\"\nmetric = \"decode-time\"";
    assert_snapshot!(refused(&format!("question = \"Is it?\"\n{busy}\n{pair}")), @r#"my.toml:17:6: decode-time exists only with one unary call in flight, and "rest-json" has more or a rate; use another metric, or in-flight = 1"#);
}

#[test]
fn names_that_are_not_there() {
    assert_snapshot!(two_and("[[pairs]]\nof = \"grcp\"\nagainst = \"rest-json\""), @r#"my.toml:13:6: there is no variant "grcp"; did you mean "grpc"?"#);
    assert_snapshot!(two_and("[[claims]]\nof = \"grpc\"\nagainst = \"soap\"\nmetric = \"goodput\"\nsource = \"s\"\nsays = \"t\"\npublished = { of = 1, against = 2, unit = \"ms\" }"), @r#"my.toml:14:11: there is no variant "soap"; expected one of grpc, rest-json"#);
    assert_snapshot!(refused(&format!("question = \"Is it?\"\na-a = \"rest\"\n{TWO}")), @r#"my.toml:2:7: there is no variant "rest"; did you mean "rest-json"?"#);
    assert_snapshot!(one_with("protocol = \"grpc\"\nserver = \"refrence\""), @r#"my.toml:6:10: variant "base": there is no server "refrence"; did you mean "reference"? (--subjects DIR adds your own)"#);
}

#[test]
fn names_that_are_there_twice() {
    assert_snapshot!(two_and("[[variants]]\nname = \"grpc\"\nprotocol = \"grpc\""), @r#"my.toml:13:8: duplicate variant "grpc"; rename one of them"#);
    let claim = "[[claims]]\nof = \"grpc\"\nagainst = \"rest-json\"\nmetric = \"goodput\"\nsource = \"s\"\nsays = \"t\"\npublished = { of = 1, against = 2, unit = \"ms\" }\n";
    assert_snapshot!(two_and(&format!("{claim}{claim}")), @r#"my.toml:20:6: duplicate claim "grpc-vs-rest-json-goodput"; rename one of them"#);
    assert_snapshot!(two_and("[[variants]]\nname = \"grpc-again\"\nprotocol = \"rest\""), @r#"my.toml:13:8: the name "grpc-again" is taken by the A/A pair; rename this variant"#);
}

#[test]
fn exclusions_that_do_wrong() {
    assert_snapshot!(two_and("[[exclude]]\ntransport = \"tcp\""), @"my.toml:12:1: nothing is left: the exclusions up to this one exclude every variant");
    assert_snapshot!(two_and("[[exclude]]\ntransport = \"unix\""), @"my.toml:12:1: this exclusion matches no variant; remove it, or correct its values");
}

#[test]
fn a_claim_is_about_one_variant() {
    assert_snapshot!(two_and("[factors]\nn = [10, 20]\n[[claims]]\nof = \"grpc\"\nagainst = \"rest-json\"\nmetric = \"goodput\"\nsource = \"s\"\nsays = \"t\"\npublished = { of = 1, against = 2, unit = \"ms\" }"), @r#"my.toml:15:6: "grpc" stands for 2 variants here; name one of them, such as "grpc-n=10""#);
}

#[test]
fn what_a_stack_lacks() {
    assert_snapshot!(one_with("server = \"go/grpc\"\nprotocol = \"rest\""), @r#"my.toml:6:12: variant "base": the server "go/grpc" has no protocol "rest" (it has: grpc)"#);
    assert_snapshot!(one_with("server = \"go/grpc\"\nprotocol = \"grpc\"\nresponse-compression = \"zstd\""), @r#"my.toml:7:24: variant "base": the server "go/grpc" has no compression "zstd" (it has: none)"#);
    assert_snapshot!(one_with("server = \"python/json\"\nprotocol = \"rest\""), @r#"my.toml:5:10: variant "base": the server "python/json" has no role "server" (it has: codec)"#);
    assert_snapshot!(one_with("client = \"python\"\nprotocol = \"rest\""), @r#"my.toml:5:10: variant "base": there is no client "python"; did you mean "python/http"? (--subjects DIR adds your own)"#);
    assert_snapshot!(one_with("client = \"reference\"\nprotocol = \"rest\""), @r#"my.toml:5:10: variant "base": the client "reference" has no role "client" (it has: server, codec)"#);
    assert_snapshot!(one_with("client = \"python/http\"\nprotocol = \"rest\"\nencoding = \"cbor\""), @r#"my.toml:7:12: variant "base": the client "python/http" has no encoding "cbor" (it has: json)"#);
    assert_snapshot!(one_with("client = \"python/http\"\nprotocol = \"rest\"\nstyle = \"coroutine\""), @r#"my.toml:7:9: variant "base": the client "python/http" has no style "coroutine" (it has: blocking, future)"#);
    assert_snapshot!(one_with("client = \"python/http\"\nprotocol = \"rest\"\nconnection = \"per-call\""), @r#"my.toml:7:14: variant "base": the client "python/http" has no connection use "per-call" (it has: reuse)"#);
    assert_snapshot!(one_with("client = \"python/http\"\nprotocol = \"rest\"\nin-flight = 9"), @r#"my.toml:7:13: variant "base": the client "python/http" has at most 8 calls in flight"#);
    assert_snapshot!(one_with("client = \"python/http\"\nprotocol = \"rest\"\nrate = 9"), @r#"my.toml:7:8: variant "base": the client "python/http" sends the next call only when one ends, and does not support a rate"#);
    let by_channels =
        "client = \"go/channels\"\nprotocol = \"grpc\"\nencoding = \"json\"\nin-flight = 8\n";
    assert_snapshot!(one_with(&format!("{by_channels}connections = 5")), @r#"my.toml:9:15: variant "base": the client "go/channels" has at most 4 channels, with a connection each"#);
    assert_snapshot!(one_with("codec = \"python/json\"\noperation = \"decode\"\nencoding = \"cbor\""), @r#"my.toml:7:12: variant "base": the codec "python/json" has no encoding "cbor" (it has: json)"#);
    assert_snapshot!(one_with("codec = \"python/http\"\noperation = \"decode\""), @r#"my.toml:5:9: variant "base": the codec "python/http" has no role "codec" (it has: server, client)"#);
}

#[test]
fn what_a_role_has_no_use_for() {
    assert_snapshot!(one_with("client = \"python/http\"\nprotocol = \"rest\"\nconnections = 2"), @r#"my.toml:7:15: variant "base": HTTP/1.1 carries one call at a time on a connection, so in-flight = 1 needs connections = 1, not 2; leave "connections" out"#);
    assert_snapshot!(one_with("style = \"future\"\nprotocol = \"rest\""), @r#"my.toml:5:9: variant "base": "style" applies to client subjects, but rpcgauge's engine makes the calls here; write client = "…""#);
    assert_snapshot!(one_with("sample = \"request\"\nprotocol = \"rest\""), @r#"my.toml:5:10: variant "base": "sample" applies to a codec, and there is none; write codec = "…""#);
    assert_snapshot!(one_with("codec = \"python/json\"\noperation = \"decode\"\nprotocol = \"rest\""), @r#"my.toml:7:12: variant "base": "protocol" applies to calls, and a codec makes none; leave it out"#);
    assert_snapshot!(one_with("codec = \"python/json\""), @r#"my.toml:5:9: variant "base": it has no operation; write operation = "encode" or "decode""#);
    assert_snapshot!(one_with("codec = \"reference\"\noperation = \"encode\""), @r#"my.toml:5:9: variant "base": it has no encoding, and the codec has several; write encoding = "json""#);
    assert_snapshot!(one_with("codec = \"reference\"\noperation = \"juggle\""), @r#"my.toml:6:13: unknown operation "juggle"; expected one of encode, decode"#);
}

#[test]
fn what_a_codec_or_client_has_no_figure_of() {
    let codec = "[[variants]]\nname = \"json\"\ncodec = \"python/json\"\noperation = \"encode\"\n\
        [[variants]]\nname = \"cbor\"\ncodec = \"reference\"\nencoding = \"cbor\"\noperation = \"encode\"\n";
    let pair = |of: &str, against: &str, metric: &str| {
        two_and(&format!(
            "{codec}[[pairs]]\nof = \"{of}\"\nagainst = \"{against}\"\nmetric = \"{metric}\""
        ))
    };
    assert_snapshot!(pair("json", "grpc", "latency-p50"), @r#"my.toml:22:6: one of "json" and "grpc" is a codec, which makes no calls; compare codecs with codecs"#);
    assert_snapshot!(pair("json", "cbor", "server-cpu"), @r#"my.toml:22:6: server-cpu applies to calls, and "json" is a codec; use one of latency-p50, latency-mean, latency-p99, goodput, client-cpu"#);
    let client = "[[variants]]\nname = \"python\"\nclient = \"python/http\"\nprotocol = \"rest\"\n\
        [[pairs]]\nof = \"python\"\nagainst = \"rest-json\"\nmetric = \"call-bytes\"";
    assert_snapshot!(two_and(client), @r#"my.toml:17:6: call-bytes is counted only by rpcgauge's engine, and in "python" a subject makes the calls; use another metric, such as response-bytes"#);
}

#[test]
fn more_than_a_machine_or_a_plan_holds() {
    let text = format!("question = \"Is it?\"\nplacement = \"two-cores\"\n{TWO}");
    assert_snapshot!(resolve_with(&text, 1, &Overrides::default()).unwrap_err(), @r#"my.toml:2:13: two-cores needs 2 cores, and this program may use 1; write "one-core" or "free""#);
    let many: Vec<String> = (1..=600).map(|n| n.to_string()).collect();
    assert_snapshot!(two_and(&format!("[factors]\nn = [{}]", many.join(", "))), @"my.toml:13:6: the factors make more than 1000 variants; use fewer values");
    assert_snapshot!(refused(&format!("question = \"Is it?\"\ninvocations = 1000000\n{TWO}")), @"my.toml: the plan has 12000000 trials, more than 200000: use fewer values of the factors, invocations or blocks");
}

#[test]
fn a_plan_without_trials() {
    let without = |invocations, blocks| {
        let overrides = Overrides {
            invocations,
            blocks,
            ..Overrides::default()
        };
        resolve_with(TWO, 2, &overrides).unwrap_err().to_string()
    };
    assert_snapshot!(without(Some(0), None), @"my.toml: there is nothing to measure; a plan needs a variant, an invocation and a block");
    assert_eq!(without(None, Some(0)), without(Some(0), None));
}

#[test]
fn more_trials_than_can_be_counted() {
    let most = u32::MAX;
    let text = format!("question = \"Is it?\"\ninvocations = {most}\nblocks = {most}\n{TWO}");
    assert!(refused(&text).contains("more than 200000"));
}

#[test]
fn the_command_line_names_no_variant() {
    let overrides = Overrides {
        only: vec!["grcp".to_owned()],
        ..Overrides::default()
    };
    assert_snapshot!(resolve_with(TWO, 2, &overrides).unwrap_err(), @r#"my.toml: --only: no variant's name is or contains "grcp"; did you mean "grpc"?"#);
}

#[test]
fn an_own_method_that_is_not_there_is_told_at_its_line() {
    const ORDERS: &str = "../../examples/orders";
    let own = |method: &str| {
        format!(
            "# Is it fast?\n[workload]\nproto = \"{ORDERS}/orders.proto\"\nmethod = \"{method}\"\nrequest = \"{ORDERS}/request.json\"\nresponse = \"{ORDERS}/response.json\"\n[base]\nprotocol = \"grpc\"\n[factors]\ntransport = [\"tcp\", \"unix\"]\n"
        )
    };
    assert_snapshot!(refused(&own("shop.Orders/Gte")), @r#"my.toml:4:10: no method "shop.Orders/Gte"; did you mean "shop.Orders/Get"?"#);
    let plan = resolve(&own("shop.Orders/Get")).unwrap();
    assert_eq!(names(&plan), ["tcp", "unix", "tcp-again"]);
}
