//! The `compare` command.

use std::fs;
use std::process::Command;
use std::thread;

use crate::common::{Finished, Place, json, orders, report};

/// Runs `compare` on the order service's `Get` method with the example's samples and more
/// arguments.
fn compare(place: &Place, more: &[&str]) -> Finished {
    compare_method(place, "shop.Orders/Get", &orders("request.json"), more)
}

/// Runs `compare` on a method of the order service with this request.
fn compare_method(place: &Place, method: &str, request: &str, more: &[&str]) -> Finished {
    let schema = ["compare", "--proto", &orders("orders.proto")];
    let call = ["--method", method, "--request", request];
    let answer = ["--response", &orders("response.json")];
    place.run(&[&schema[..], &call, &answer, more].concat())
}

#[test]
fn a_comparison_of_ones_own_method_runs_to_a_report() {
    let place = Place::new();
    let what = ["--only", "rest-json,grpc", "--budget", "10s"];
    let output = ["--out", "run", "--quiet"];
    compare(&place, &[&what[..], &output].concat()).well();
    let findings = report(&place.path().join("run"));
    let names: Vec<&str> = findings["variants"]
        .as_array()
        .expect("variants")
        .iter()
        .filter(|variant| variant["repeats"].is_null())
        .filter_map(|variant| variant["name"].as_str())
        .collect();
    assert_eq!(names, ["rest-json", "grpc"]);
    assert_eq!(findings["progress"]["failed"], 0);
    let decision = &findings["decisions"][0];
    assert_eq!(decision["called"], "shop.Orders/Get");
    let own = &decision["placements"][0];
    let best = own["best"].as_array().expect("metrics");
    let metrics: Vec<&str> = best.iter().filter_map(|b| b["metric"].as_str()).collect();
    assert_eq!(metrics, ["latency-p50", "cpu", "call-bytes"]);
    assert_eq!(best[2]["variant"], "grpc", "fewer bytes than JSON");
    assert_eq!(
        findings["variants"][0]["cells"][0]["figures"]["code"][0],
        "dynamic"
    );
}

#[test]
fn the_plan_of_a_comparison_has_all_variants_and_sizes() {
    let place = Place::new();
    let names = |more: &[&str]| -> Vec<String> {
        let plan = json(&compare(&place, &[&["--plan", "--json"], more].concat()).well());
        let variants = plan["variants"].as_array().expect("variants").clone();
        variants
            .iter()
            .map(|variant| variant["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let all = names(&[]);
    for way in [
        "rest-json",
        "grpc",
        "grpc-gzip",
        "grpc-unix",
        "msgpack",
        "hybrid",
    ] {
        assert!(
            all.iter().any(|name| name == way),
            "{way} is not in {all:?}"
        );
    }
    let sweep = ["--size-sweep", "1,10", "--budget", "3m"];
    let swept = names(&[&sweep[..], &["--only", "rest-json,grpc"]].concat());
    assert!(swept.len() >= 4, "{swept:?}");
    let linked = names(&[
        "--link",
        "loopback,wlan",
        "--only",
        "rest-json,grpc-unix,grpc",
    ]);
    for (way, is_there) in [
        ("loopback-grpc-unix", true),
        ("wlan-grpc", true),
        ("wlan-grpc-unix", false),
    ] {
        assert_eq!(
            linked.iter().any(|name| name == way),
            is_there,
            "{linked:?}"
        );
    }
    assert!(place.names().is_empty(), "a plan leaves nothing behind");
}

#[test]
fn a_request_may_come_through_a_pipe() {
    let place = Place::new();
    let pipe = place.path().join("request");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    let request = fs::read(orders("request.json")).expect("the sample");
    let writer = thread::spawn(move || fs::write(pipe, request));
    compare_method(&place, "shop.Orders/Get", "request", &["--plan"]).well();
    writer.join().expect("a thread").expect("it was read");
}

#[test]
fn an_unknown_method_comes_with_the_nearest_names() {
    let place = Place::new();
    compare_method(&place, "shop.Orders/Gte", &orders("request.json"), &[])
        .refused(&["shop.Orders/Gte", "shop.Orders/Get"]);
    assert!(place.names().is_empty());
}

#[test]
fn a_sample_for_a_call_is_checked_before_anything_runs() {
    let place = Place::new();
    place.file("request.json", r#"{"idd": "1"}"#);
    compare_method(&place, "shop.Orders/Get", "request.json", &[]).refused(&[
        "request.json",
        "$.idd",
        "id",
    ]);
    assert_eq!(place.names(), ["request.json"]);
}

#[test]
fn a_sample_too_deep_for_a_plan_is_refused_before_it_runs() {
    let place = Place::new();
    place.file(
        "deep.proto",
        "syntax = \"proto3\";\nmessage M { repeated M kids = 1; }\nservice S { rpc Get(M) returns (M); }\n",
    );
    let deep = (0..60).fold("{}".to_owned(), |inner, _| {
        format!("{{\"kids\":[{inner}]}}")
    });
    place.file("deep.json", &deep);
    let method = ["--proto", "deep.proto", "--method", "S/Get"];
    let samples = ["--request", "deep.json", "--response", "deep.json"];
    place
        .run(&[&["compare"], &method[..], &samples].concat())
        .refused(&["deep.json", "112 levels"]);
    place
        .run(&[&["size"], &method[..], &["--sample", "deep.json"]].concat())
        .well();
}

#[test]
fn unknown_variants_of_a_comparison_are_refused() {
    let place = Place::new();
    let with = |more: &[&str]| compare(&place, more);
    with(&["--only", "grcp"]).refused(&["--only", "grcp", "grpc"]);
    with(&["--against", "rest"]).refused(&["--against", "rest-json"]);
    with(&["--budget", "1s"]).refused(&["--budget", "at least"]);
    with(&["--budget", "5 parsecs"]).refused(&["--budget", "1m30s"]);
    with(&["--size-sweep", "0"]).refused(&["--size-sweep"]);
    with(&["--link", "wlam"]).refused(&["--link", "wlam", "wlan"]);
    with(&["--link", "wlan,wlan"]).refused(&["--link", "twice"]);
    with(&["--link", "wlan", "--against", "grpc-unix"]).refused(&["--link", "Unix socket"]);
    with(&["--seed", "18446744073709551615"]).refused(&["--seed"]);
    with(&["--stack", "reference", "--stack", "reference"]).refused(&["--stack", "twice"]);
    assert!(place.names().is_empty());
}

#[test]
fn a_printed_comparison_is_a_study_of_the_same_plan() {
    let place = Place::new();
    // The stacks of the last comparison need more than a minute to start and warm up.
    for options in [
        ["--size-sweep", "1,10", "--only", "rest-json,grpc-gzip"],
        ["--link", "loopback,wlan", "--only", "grpc,grpc-unix"],
        ["--link", "lte", "--only", "grpc"],
        [
            "--link",
            "wlan+loss=1%,rate=50Mbit/s+delay=4ms",
            "--only",
            "grpc",
        ],
        ["--stack", "jvm/grpc-java", "--stack", "jvm/armeria-grpc"],
    ] {
        let study = compare(&place, &[&options[..], &["--print-study"]].concat()).well();
        let study_file = place.file("compare-Get.toml", &study);
        let plan = compare(&place, &[&options[..], &["--plan", "--json"]].concat()).well();
        let read = place.run(&["plan", "--json", &study_file.display().to_string()]);
        assert_eq!(json(&read.well()), json(&plan));
    }
    let slow = ["--stack", "jvm/grpc-java", "--stack", "jvm/armeria-grpc"];
    compare(&place, &[&slow[..], &["--budget", "1m"]].concat()).refused(&["--budget", "at least"]);
}

#[test]
fn the_codecs_of_stacks_are_measured_beside_their_calls() {
    let place = Place::new();
    let stacks = ["--stack", "go/grpc-go", "--stack", "python/http"];
    let options = [&stacks[..], &["--client", "node/grpc-js"]].concat();
    let study = compare(&place, &[&options[..], &["--print-study"]].concat()).well();
    let study_file = place.file("compare-Get.toml", &study);
    let planned = json(&compare(&place, &[&options[..], &["--plan", "--json"]].concat()).well());
    let read = place.run(&["plan", "--json", &study_file.display().to_string()]);
    assert_eq!(json(&read.well()), planned);
    let variants = planned["variants"].as_array().expect("variants");
    let codecs = variants
        .iter()
        .filter(|variant| variant["settings"]["codec"].is_string());
    let codecs: Vec<&str> = codecs
        .filter_map(|variant| variant["name"].as_str())
        .collect();
    assert_eq!(
        codecs,
        [
            "go/protobuf-decode-request",
            "go/protobuf-encode-response",
            "node/ts-proto-encode-request",
            "node/ts-proto-decode-response",
            "python/json-decode-request",
            "python/json-encode-response",
            "python/protobuf-decode-request",
            "python/protobuf-encode-response",
        ]
    );
    assert_eq!(planned["codecs"]["go/grpc-go"]["protobuf"], "go/protobuf");
}

#[test]
fn a_client_alone_is_measured_beside_the_engine() {
    let place = Place::new();
    let client = ["--client", "go/connect-go", "--plan", "--json"];
    let plan = json(&compare(&place, &client).well());
    let variants = plan["variants"].as_array().expect("variants");
    let calls = variants.iter().filter(|variant| {
        variant["settings"]["server"].is_string() && variant["repeats"].is_null()
    });
    let names: Vec<&str> = calls
        .filter_map(|variant| variant["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "reference+go/connect-go-grpc-protobuf",
            "reference+go/connect-go-connect-protobuf",
            "reference+go/connect-go-connect-protojson",
            "reference-grpc-protobuf",
            "reference-connect-protobuf",
            "reference-connect-protojson",
        ]
    );
    let client = ["--client", "node/grpc-js", "--plan", "--json"];
    let plan = compare(&place, &client).well();
    assert!(
        plan.contains("\"reference+node/grpc-js\"") && plan.contains("\"reference\""),
        "{plan}"
    );
}

#[test]
fn ways_that_compress_are_left_out_where_rows_are_alike() {
    let place = Place::new();
    let alike = r#"{"id":"o","lines":[{},{}]}"#;
    let alike = place.file("alike.json", alike).display().to_string();
    let orders_proto = orders("orders.proto");
    let request = orders("request.json");
    let with = |only: &str| {
        let schema = ["compare", "--proto", &orders_proto];
        let call = ["--method", "shop.Orders/Get", "--request", &request];
        let sweep = ["--response", &alike, "--size-sweep", "1,10"];
        let plan = ["--only", only, "--budget", "5m", "--plan", "--json"];
        place.run(&[&schema[..], &call, &sweep, &plan].concat())
    };
    let plan = with("grpc,grpc-gzip").well();
    assert!(plan.contains("scale=1-grpc-gzip") && !plan.contains("scale=10-grpc-gzip"));
    assert!(
        plan.contains("compression is left out where N is not 1"),
        "{plan}"
    );
    // As with `run --only`, a name that matches no variant exactly selects all that contain it.
    let plan = with("gzip,hyb").well();
    assert!(plan.contains("scale=10-hybrid"), "{plan}");
    with("grpc-gzip").refused(&["--size-sweep: at 10, the rows in the response"]);
}
