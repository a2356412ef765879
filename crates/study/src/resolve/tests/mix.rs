//! A mix of calls to a live service.

use super::*;
use crate::settings::{LiveService, MixCall};

const HTTP: &str = "http://localhost:1/orders";
const GRPC: &str = "grpc://localhost:1";

/// A study of a service with more keys; its first call begins in line 6.
fn study(target: &str, keys: &str, calls: &str) -> String {
    format!("# Is it fast?\n[service]\ntarget = \"{target}\"\n{keys}\n\n{calls}")
}

/// A call of the mix, in two lines.
fn call(name: &str, keys: &str) -> String {
    format!("[[service.calls]]\nname = \"{name}\"\n{keys}\n")
}

fn service(text: &str) -> LiveService {
    let plan = resolve(text).unwrap();
    let stored = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&stored).unwrap(), plan);
    match &plan.variants[0].settings.target {
        Target::Live(live) => live.service.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_call_takes_from_the_service_what_it_does_not_set() {
    let keys = "headers = [\"a: 1\", \"b: 2\"]\nexpect = [\"status = 204\"]";
    let own = "weight = 3\npath = \"/own?q=1\"\nhttp-method = \"PUT\"\nheaders = [\"c: 3\"]\ndata = \"x\"\n\
        expect = [\"body = \\\"x\\\"\"]";
    let text = study(HTTP, keys, &(call("own", own) + &call("same", "")));
    let service = service(&text);
    let shown = |call: &MixCall| {
        let method = call.http_method.clone().unwrap();
        let expect: Vec<String> = call.expect.iter().map(ToString::to_string).collect();
        let (headers, data) = (
            call.header_names.join(" "),
            call.messages.template.is_some(),
        );
        format!(
            "{} × {}: {method} {} with {headers}, body {data}, {expect:?}",
            call.name, call.weight, call.path
        )
    };
    insta::assert_snapshot!(shown(&service.calls[0]), @r#"own × 3: PUT /own?q=1 with c, body true, ["body = \"x\""]"#);
    insta::assert_snapshot!(shown(&service.calls[1]), @r#"same × 1: GET /orders with a b, body false, ["status = 204"]"#);
    assert_eq!(service.url.to_string(), "http://localhost:1/");
    let each = service.each_call();
    let urls = each.iter().map(|one| one.url.to_string());
    let expected = ["http://localhost:1/own?q=1", "http://localhost:1/orders"];
    assert!(urls.eq(expected), "{each:?}");
}

#[test]
fn each_call_over_grpc_has_its_method() {
    let get = "method = \"shop.Orders/Get\"";
    let both = call("get", get) + &call("put", "method = \"shop.Orders.Put\"");
    let paths = |text: &str| -> Vec<String> {
        let calls = service(text).calls.into_iter();
        calls.map(|call| call.path).collect()
    };
    let expected = ["/shop.Orders/Get", "/shop.Orders/Put"];
    assert_eq!(paths(&study(GRPC, "", &both)), expected);
    // The method of the target is that of a call that has none.
    let target = format!("{GRPC}/shop.Orders/Get");
    let put = call("get", "") + &call("put", "method = \"shop.Orders/Put\"");
    assert_eq!(paths(&study(&target, "", &put)), expected);
    assert_eq!(paths(&study(GRPC, get, &put)), expected);
}

#[test]
fn each_call_has_its_own_inputs() {
    let read = call("read", "headers = [\"authorization: $TOKEN\"]");
    let text = study(HTTP, "", &(read + &call("write", "data = \"pin\"")));
    let resolved = resolve_all(&text, 2, &Overrides::default()).unwrap();
    let [read, write] = &resolved.services["base"][..] else {
        panic!("{:?}", resolved.services)
    };
    let field = ("authorization".to_owned(), "secret".to_owned());
    assert_eq!(read.headers, [field]);
    assert_eq!(write.template.as_ref().unwrap().text, "pin");
    let plan = serde_json::to_string(&resolved.plan).unwrap();
    assert!(!plan.contains("secret") && !plan.contains("pin"), "{plan}");
}

#[test]
fn each_call_is_also_a_first_call_within_the_bound_of_requests() {
    let calls = call("a", "") + &call("b", "");
    let bounded = |most: u64| study(HTTP, &format!("max-requests = {most}"), &calls);
    assert_eq!(service(&bounded(10)).max_requests, Some(8));
    insta::assert_snapshot!(refused(&bounded(2)), @r#"my.toml:4:16: "max-requests" 2 is too few for 1 trial of http://localhost:1/ and 2 first calls; allow at least 3"#);
}

#[test]
fn the_example_of_the_guide_is_valid() {
    const GUIDE: &str = include_str!("../../../../../docs/load.md");
    let (_, section) = GUIDE.split_once("\n## A mix of calls\n").unwrap();
    let example = section.split("```").nth(1).unwrap();
    let text = example
        .trim_start_matches("toml\n")
        .replace("$ORDERS_TOKEN", "$TOKEN");
    let weights: Vec<u32> = service(&text)
        .calls
        .iter()
        .map(|call| call.weight)
        .collect();
    assert_eq!(weights, [4, 1]);
}

#[test]
fn what_is_no_mix_is_refused() {
    let one = |target: &str, keys: &str| refused(&study(target, "", &call("a", keys)));
    insta::assert_snapshot!(one(HTTP, "weight = 0"), @"my.toml:8:10: a weight is a whole number from 1 to 1000");
    insta::assert_snapshot!(one(HTTP, "weight = 1001"), @"my.toml:8:10: a weight is a whole number from 1 to 1000");
    insta::assert_snapshot!(one(HTTP, "weight = -1"), @r#"my.toml:8:10: "weight" must be a non-negative whole number, not -1"#);
    insta::assert_snapshot!(one(HTTP, "weight = 0.5"), @r#"my.toml:8:10: "weight" must be a non-negative whole number, not 0.5"#);
    insta::assert_snapshot!(one(HTTP, "path = \"http://other/x\""), @r#"my.toml:8:8: "http://other/x" is not a path: write it like /orders; every call goes to the host of the target"#);
    insta::assert_snapshot!(one(HTTP, "path = \"/a b\""), @r#"my.toml:8:8: "/a b" is not a path: invalid uri character"#);
    insta::assert_snapshot!(one(HTTP, "path = \"\""), @"my.toml:8:8: this is empty");
    insta::assert_snapshot!(one(HTTP, "target = \"http://other/x\""), @r#"my.toml:8:1: [service.calls] has no key "target"; expected one of name, weight, path, method, http-method, headers, data, rows, order, expect"#);
    insta::assert_snapshot!(one(HTTP, "method = \"shop.Orders/Get\""), @r#"my.toml:8:10: the target is called over HTTP, so each call has a "path", not a "method""#);
    insta::assert_snapshot!(one(GRPC, "path = \"/x\""), @r#"my.toml:8:8: the target is called over gRPC, so each call has a "method", not a "path""#);
    insta::assert_snapshot!(one(GRPC, "method = \"shop.Orders/Get\"\nhttp-method = \"GET\""), @"my.toml:9:15: the target is called over gRPC, which sets the HTTP method itself; leave it out");
    insta::assert_snapshot!(one(GRPC, ""), @r#"my.toml:3:10: grpc://localhost:1/ names no method; append one, as in grpc://HOST:PORT/package.Service/Method, or give "method" (--method)"#);
    insta::assert_snapshot!(one(GRPC, "method = \"Get\""), @r#"my.toml:8:10: "Get" is not a gRPC method; write package.Service/Method"#);
    insta::assert_snapshot!(one(HTTP, "order = \"random\""), @r#"my.toml:8:9: "order" applies to "rows", and there are none; write rows = "rows.csv""#);
    insta::assert_snapshot!(one(HTTP, "expect = [\"status = 200\", \"status = 204\"]"), @"my.toml:8:27: only one status can be expected; leave the others out");
    insta::assert_snapshot!(one(HTTP, "weigth = 2"), @r#"my.toml:8:1: [service.calls] has no key "weigth"; did you mean "weight"?"#);
    let calls = |calls: &str| refused(&study(HTTP, "", calls));
    insta::assert_snapshot!(calls("[[service.calls]]\nweight = 1"), @r#"my.toml:6:1: [service.calls] needs the key "name""#);
    insta::assert_snapshot!(calls(&(call("a", "") + &call("a", ""))), @r#"my.toml:10:8: there are two calls "a"; rename one of them"#);
    insta::assert_snapshot!(refused(&study(HTTP, "calls = []", "")), @"my.toml:4:9: this list is empty; write [[service.calls]] with a name");
    let many: String = (0..101).map(|n| call(&format!("c{n}"), "")).collect();
    insta::assert_snapshot!(calls(&many), @"my.toml:6:1: a mix has at most 100 calls, not 101");
}
