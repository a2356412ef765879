//! A study that mixes calls to a running service.

use std::fs;

use super::{HELLO, Service, figures, keeping};
use crate::common::{Place, report};

/// Three reads for each write, from the first measured call on.
fn study(target: &str, base: &str) -> String {
    format!(
        r#"
question = "What do 40 calls take?"
warm-up = {{ time = "0s" }}

[service]
target = "{target}"
headers = ["x-of: all"]

[[service.calls]]
name = "read"
weight = 30
path = "/read?q=1"

[[service.calls]]
name = "write"
weight = 10
path = "/write"
headers = ["x-of: writes"]
data = '{{"n": {{{{n}}}}}}'
expect = ["status = 201"]

[base]
{base}
"#
    )
}

/// The calls of the mix in `report.json`, each with its name, weight, calls and failures.
fn counts(report: &serde_json::Value) -> Vec<(String, u64, u64, u64)> {
    let mix = figures(report)["mix"].as_array().expect("a mix");
    let count = |call: &serde_json::Value, key: &str| call[key].as_u64().expect("a count");
    let counts = mix.iter().map(|call| {
        let failed = call["failed"].as_object().expect("failures").values();
        (
            call["name"].as_str().expect("a name").to_owned(),
            count(call, "weight"),
            count(call, "started"),
            failed.map(|count| count.as_u64().expect("a count")).sum(),
        )
    });
    counts.collect()
}

#[test]
fn each_call_of_a_mix_reaches_its_path_as_often_as_its_weight_says() {
    for base in [
        "calls = 40",
        "calls = 40\nin-flight = 4",
        "time = \"400ms\"\nrate = 100\narrivals = \"constant\"",
    ] {
        let place = Place::new();
        let (target, requests) = keeping(true);
        place.file("mix.toml", &study(&target, base));
        // The server answers 200 to a write, which is not as expected.
        let shown = place
            .run(&["run", "mix.toml", "--out", "run", "--quiet"])
            .stdout;
        let report = report(&place.path().join("run"));
        let expected = [
            ("read".to_owned(), 30, 30, 0),
            ("write".to_owned(), 10, 10, 10),
        ];
        assert_eq!(counts(&report), expected, "{base}: {shown}");
        assert_eq!(figures(&report)["calls"]["started"], 40);
        let requests = requests.lock().expect("no panic");
        let count = |parts: &[&str]| {
            let has = |request: &&String| parts.iter().all(|part| request.contains(part));
            requests.iter().filter(has).count()
        };
        // One more call of each before measuring.
        assert_eq!(count(&["GET /read?q=1 ", "x-of: all"]), 31, "{base}");
        assert_eq!(count(&["POST /write ", "x-of: writes"]), 11, "{base}");
        for n in 0..10 {
            assert!(count(&[&format!("{{\"n\": {n}}}")]) >= 1, "{base}: {n}");
        }
        assert!(
            shown.contains("10 × http-200: HTTP status 200 instead of 201"),
            "{shown}"
        );
        for name in ["report.html", "report.md"] {
            let text = fs::read_to_string(place.path().join("run").join(name)).expect("a report");
            assert!(text.contains("Mix of calls"), "{name}");
        }
    }
}

#[test]
fn methods_of_a_grpc_service_are_mixed_and_two_services_compared() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let target = format!("grpc://{}", service.address);
    let calls = format!(
        "[[service.calls]]\nname = \"ada\"\nmethod = \"{HELLO}\"\ndata = '{{\"name\": \"Ada\"}}'\n\
         expect = ['$.message contains \"Ada\"']\n[[service.calls]]\nname = \"bob\"\nmethod = \"{HELLO}\"\n\
         data = '{{\"name\": \"Bob\"}}'\nexpect = ['$.message contains \"Ada\"']\n"
    );
    let study = format!(
        "question = \"Which?\"\nblocks = 1\n[service]\ntarget = \"{target}\"\n{calls}[base]\ncalls = 40\n\
         [[variants]]\nname = \"a\"\n[[variants]]\nname = \"b\"\n"
    );
    place.file("mix.toml", &study);
    let shown = place
        .run(&["run", "mix.toml", "--out", "run", "--quiet"])
        .stdout;
    for title in ["Mix of calls, a", "Mix of calls, b"] {
        assert!(shown.contains(title), "{shown}");
    }
    let report = report(&place.path().join("run"));
    let [(ada, .., of_ada), (bob, .., of_bob)] = &counts(&report)[..] else {
        panic!("{shown}")
    };
    assert_eq!((&**ada, &**bob, *of_ada), ("ada", "bob", 0), "{shown}");
    assert!(
        *of_bob > 0,
        "a greeting of Bob is no greeting of Ada: {shown}"
    );
}

#[test]
fn what_is_no_mix_is_refused_where_it_is_written() {
    let place = Place::new();
    let refused = |from: &str, to: &str, parts: &[&str]| {
        let text = study("http://127.0.0.1:9", "calls = 1");
        assert!(text.contains(from), "{from}");
        place.file("mix.toml", &text.replacen(from, to, 1));
        place.run(&["run", "mix.toml", "--quiet"]).refused(parts);
    };
    refused(
        "weight = 30",
        "weight = 0",
        &["mix.toml:11:10: a weight is"],
    );
    refused("{{n}}", "{{m}}", &["call \"write\": data: ", "\"m\""]);
    refused(
        "\"write\"",
        "\"read\"",
        &["mix.toml:15:8: there are two calls \"read\""],
    );
    refused(
        "\"/write\"",
        "\"http://h/\"",
        &["mix.toml:17:8: ", "is not a path"],
    );
}
