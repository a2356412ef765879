//! The content of messages, and how they are sent.

use std::collections::BTreeMap;
use std::fs;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::thread;

use super::{HELLO, OK, Service, answer_each, answering, bodies, figures, keeping, proto, short};
use crate::common::{Place, json, report, trial_lines};

#[test]
fn a_grpc_service_is_called_with_messages_of_its_own_type() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let proto = proto();
    let message = ["--proto", &proto, "--data", r#"{"name": "{{n}}"}"#];
    let more = [&message[..], &["--connections", "2"]].concat();
    let shown = place.run(&short(&service.grpc(), &more)).well();
    assert!(
        shown.contains("50 started: 50 succeeded, 0 failed"),
        "{shown}"
    );
    let report = report(&place.path().join("run"));
    let figures = figures(&report);
    assert_eq!(figures["calls"]["answered"], 50);
    assert_eq!(figures["connections"]["fewest_at_start"], 2);
    assert!(
        figures["cpu"].get("server").is_none(),
        "nobody looked into it"
    );
    assert_eq!(report["variants"][0]["timing"], "load");
    assert_eq!(trial_lines(&place.path().join("run")).len(), 1);
}

#[test]
fn the_help_shows_placeholders_as_they_are_written() {
    let help = Place::new().run(&["load", "--help"]).well();
    assert!(
        help.contains("{{uuid}}") && help.contains("{{name}}"),
        "{help}"
    );
    assert!(help.contains(r#"'{"id": "{{uuid}}"}'"#), "{help}");
}

#[test]
fn an_empty_grpc_message_needs_no_description() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    place.run(&short(&service.grpc(), &[])).well();
}

#[test]
fn an_http_service_is_called_in_either_version() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    for (version, out) in [("1.1", "one"), ("2", "two")] {
        let line = format!(
            "load {} -X POST --data {{\"name\":\"Ada\"}} --http {version} --calls 50 --in-flight 4 --out {out} --quiet",
            service.http()
        );
        place.line(&line).well();
        let report = report(&place.path().join(out));
        assert_eq!(figures(&report)["calls"]["answered"], 50, "HTTP/{version}");
        let settings = &report["variants"][0]["how"]["settings"];
        assert_eq!(settings["http"], *version);
    }
}

#[test]
fn a_unix_socket_is_called_under_the_targets_name() {
    let place = Place::new();
    let _service = Service::start(&place, &["--listen", "unix:hello.sock"]);
    let target = format!("grpc://hello.test:1/{HELLO}");
    let shown = place
        .run(&short(&target, &["--unix-socket", "hello.sock"]))
        .well();
    assert!(shown.contains("grpc://hello.test:1"), "{shown}");
}

#[test]
fn an_abstract_socket_is_called_by_its_name() {
    let place = Place::new();
    let name = format!("rpcgauge test {}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let listener = UnixListener::bind_addr(&address).expect("a listener");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer_each(stream, |_| OK));
        }
    });
    let socket = format!("@{name}");
    let shown = place
        .run(&short("http://hello.test/", &["--unix-socket", &socket]))
        .well();
    assert!(
        shown.contains(&format!("http://hello.test/ over {socket}")),
        "{shown}"
    );
    let report = report(&place.path().join("run"));
    assert_eq!(figures(&report)["calls"]["answered"], 50);
    let nobody = format!("{socket} is not there");
    let refused = ["--unix-socket", &nobody, "--out", "nothing"];
    place
        .run(&[&["load", "http://hello.test/"], &refused[..]].concat())
        .refused(&[&nobody, "is the service running there?"]);
}

#[test]
fn where_each_call_has_its_own_message_none_is_sent_twice() {
    let place = Place::new();
    let (target, requests) = keeping(true);
    // Many more calls in flight than the warm-up may make.
    let at_a_time = ["--in-flight", "80", "--connections", "80"];
    let more = [&["--data", "{{uuid}}"][..], &at_a_time].concat();
    place.run(&short(&target, &more)).well();
    let mut bodies = bodies(&requests);
    let sent = bodies.len();
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), sent, "messages that differ");
    // The test call, the warm-up, and the measured calls.
    assert!(sent <= 1 + 50 + 50, "{sent}");
}

#[test]
fn where_slices_leave_calls_out_none_is_sent_twice_either() {
    let place = Place::new();
    let ((target, requests), (other, _)) = (keeping(true), keeping(true));
    let more = ["--data", "{{n}}", "--vs", &other, "--blocks", "5"];
    let more = [&more[..], &["--warmup", "0s"]].concat();
    place.run(&short(&target, &more)).well();
    // The first call is the test call. Each block starts over with the first message.
    let mut times = BTreeMap::<String, u32>::new();
    for body in bodies(&requests).into_iter().skip(1) {
        *times.entry(body).or_default() += 1;
    }
    assert!(
        times.values().sum::<u32>() > 50,
        "none was left out: {times:?}"
    );
    assert!(times.values().all(|times| *times <= 5), "{times:?}");
}

#[test]
fn rows_are_sent_in_turn() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    place.file("names.csv", "name,age\nAda,36\n\"Bob \"\"B\"\"\",7\n");
    let (target, proto) = (service.grpc(), proto());
    let rows = ["--proto", &proto, "--rows", "names.csv"];
    let more = [&rows[..], &["--data", r#"{"name":"{{name}}"}"#]].concat();
    place.run(&short(&target, &more)).well();
}

#[test]
fn rows_of_a_file_too_large_for_memory_are_read_as_calls_need_them() {
    /// A file of this size is not read as a whole.
    const TOO_LARGE: u64 = 256 << 20;
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let rows: String = (1..=5_000)
        .map(|n| format!("{{\"name\":\"{n}\"}}\n"))
        .collect();
    let path = place.file("names.jsonl", &rows);
    // The rows are followed by a hole, which takes no disk space and reads as an endless line.
    let file = fs::OpenOptions::new().write(true).open(path);
    file.and_then(|file| file.set_len(TOO_LARGE))
        .expect("a large file");
    let (target, proto) = (service.grpc(), proto());
    let more = ["--proto", &proto, "--rows", "names.jsonl"];
    place.run(&short(&target, &more)).well();
    let report = report(&place.path().join("run"));
    assert_eq!(figures(&report)["calls"]["answered"], 50);
    // A random order requires finding all rows first.
    let drawn = [&more[..], &["--order", "random"]].concat();
    let words = [&["load", target.as_str()], &drawn[..]].concat();
    place
        .run(&words)
        .refused(&["names.jsonl: line 5001: a row of more than 67108864 bytes"]);
}

#[test]
fn each_of_two_targets_has_headers_of_its_own() {
    let place = Place::new();
    let ((one, of_one), (other, of_other)) = (keeping(true), keeping(true));
    let more = ["--vs", &other, "--blocks", "5", "--warmup", "0s"];
    let headers = ["-H", "x-one: hush-1", "--vs-header", "x-other: hush-2"];
    place
        .run(&short(&one, &[&more[..], &headers].concat()))
        .well();
    for (requests, own, others) in [
        (of_one, "x-one: hush-1", "x-other"),
        (of_other, "x-other: hush-2", "x-one"),
    ] {
        let requests = requests.lock().expect("no panic");
        assert!(!requests.is_empty());
        let is_own = |request: &String| request.contains(own) && !request.contains(others);
        assert!(requests.iter().all(is_own), "{requests:?}");
    }
    let plan = fs::read_to_string(place.path().join("run/plan.json")).expect("a plan");
    assert!(plan.contains("x-one") && plan.contains("x-other") && !plan.contains("hush"));
    place
        .run(&short(&one, &["--vs-header", "a: b"]))
        .refused(&["not provided", "--vs <TARGET>"]);
    let unknown = answering("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n");
    let unknown = format!("http://{}/", unknown.address);
    place
        .run(&["load", &one, "--vs", &unknown, "-H", "authorization: x"])
        .refused(&[&unknown, "the header 'authorization: …'"]);
}

#[test]
fn of_data_the_run_keeps_length_and_digest() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    place.file("body.json", "hush-hush");
    for (data, out) in [("hush-hush", "inline"), ("@body.json", "file")] {
        let words = [
            "load", &target, "--calls", "5", "--data", data, "--out", out,
        ];
        place
            .run(&[&words[..], &["--warmup", "0s"]].concat())
            .well();
        for file in files_under(&place.path().join(out)) {
            let bytes = fs::read(&file).expect("a file");
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("hush-hush"), "{}", file.display());
        }
        let plan = fs::read_to_string(place.path().join(out).join("plan.json")).expect("a plan");
        let template = &json(&plan)["variants"][0]["settings"]["service"]["messages"]["template"];
        assert_eq!(template["bytes"], 9);
        // Computed with sha256sum.
        let hash = "fbdc077454d782ba39d400e06e741b56c14b0a8cf122348c98fe1e91634c5a81";
        assert_eq!(template["sha256"], hash);
        let path = template.get("path").and_then(|path| path.as_str());
        assert_eq!(path, data.strip_prefix('@'));
    }
}

#[test]
fn secrets_are_written_nowhere() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let finished = place.run(&short(&target, &["-H", "authorization: Bearer hush-hush"]));
    assert!(!finished.stdout.contains("hush-hush") && !finished.stderr.contains("hush-hush"));
    finished.well();
    let files = files_under(&place.path().join("run"));
    assert!(files.len() >= 6, "{files:?}");
    for file in &files {
        let bytes = fs::read(file).expect("a file");
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("hush-hush"), "{}", file.display());
    }
    let plan = fs::read_to_string(place.path().join("run/plan.json")).expect("a plan");
    assert!(plan.contains("authorization"), "its name is no secret");
    place
        .run(&["load", &target, "-H", "hush-hush"])
        .refused(&["--header", "'name: value'"]);
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files_under(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// `run` with the printed study does the same as `load` with the options. Secrets come from the
/// environment.
#[test]
fn a_printed_load_runs_as_a_study() {
    let place = Place::new();
    let (target, kept) = keeping(true);
    let message = ["-H", "authorization: hush", "--data", "{\"n\":{{n}}}"];
    let extent = ["--calls", "5", "--warmup", "0s", "--print-study"];
    let words = [&["load", &target], &message[..], &extent].concat();
    let study = place.run(&words).well();
    assert!(
        !study.contains("hush") && study.contains("$AUTHORIZATION"),
        "{study}"
    );
    assert!(
        kept.lock().expect("no panic").is_empty(),
        "nothing is called"
    );
    place.file("my.toml", &study);
    let run = ["run", "my.toml", "--out", "run", "--quiet"];
    place
        .run(&run)
        .refused(&["my.toml:", "\"AUTHORIZATION\" is not set"]);
    let output = place
        .command(&run)
        .env("AUTHORIZATION", "hush")
        .output()
        .expect("it ran");
    assert!(output.status.success(), "{output:?}");
    let requests = kept.lock().expect("no panic");
    let is_whole = |r: &&String| r.contains("authorization: hush") && r.contains("{\"n\":");
    assert!(
        requests.iter().filter(is_whole).count() >= 5,
        "{requests:?}"
    );
    let plan = fs::read_to_string(place.path().join("run/plan.json")).expect("a plan");
    assert!(!plan.contains("hush"));
}
