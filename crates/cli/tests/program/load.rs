//! `load`: a service that is there already.

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use crate::common::{Place, interrupt, json, report, trial_lines, wait_until};

/// The embedded server, started as a user would start it.
struct Service {
    child: Child,
    address: String,
    /// Its path for REST.
    rest: String,
}

impl Service {
    fn start(place: &Place, listen: &str) -> Self {
        let mut child = place.start(&["serve", "--json", "--listen", listen]);
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let mut text = String::new();
        while !text.ends_with("}\n") {
            assert_ne!(output.read_line(&mut text).expect("a line"), 0, "{text}");
        }
        let announced = json(&text);
        let text = |key: &str| announced[key].as_str().expect("a text").to_owned();
        Self {
            child,
            address: text("address"),
            rest: text("rest"),
        }
    }

    fn grpc(&self) -> String {
        format!("grpc://{}/{HELLO}", self.address)
    }

    fn http(&self) -> String {
        format!("http://{}{}", self.address, self.rest)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The embedded server's method.
const HELLO: &str = "hello.Hello/SayHello";

fn proto() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/proto/hello.proto");
    path.canonicalize()
        .expect("it")
        .to_string_lossy()
        .into_owned()
}

/// A server that reads a request and answers every one with the same bytes.
struct Fixed {
    address: String,
    calls: Arc<AtomicU64>,
}

fn answering(answer: &'static str) -> Fixed {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || answer_all(stream, answer, &counted));
        }
    });
    Fixed { address, calls }
}

/// The same over TLS, under a certificate for `localhost` that is put into `ca.pem`.
fn answering_over_tls(place: &Place, answer: &'static str) -> String {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let made = made.expect("a certificate");
    place.file("ca.pem", &made.cert.pem());
    let key = PrivateKeyDer::try_from(made.key_pair.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key);
    let mut config = config.expect("it fits its key");
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let session = ServerConnection::new(Arc::clone(&config)).expect("a session");
            let stream = StreamOwned::new(session, stream);
            std::thread::spawn(move || answer_all(stream, answer, &AtomicU64::new(0)));
        }
    });
    format!("https://localhost:{port}/")
}

/// Answers every read: a request without a body comes in one.
fn answer_all(mut stream: impl Read + Write, answer: &str, calls: &AtomicU64) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
        calls.fetch_add(1, Ordering::Relaxed);
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
const ABSENT: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";

/// A port at which nothing listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").to_string()
}

/// The command line of a short load into `run`.
fn short<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["load", target, "--calls", "50", "--out", "run", "--quiet"];
    words.extend(more);
    words
}

/// The figures of the first variant.
fn figures(report: &Value) -> &Value {
    &report["variants"][0]["cells"][0]["figures"]
}

#[test]
fn a_grpc_service_is_called_with_messages_of_its_own_type() {
    let place = Place::new();
    let service = Service::start(&place, "127.0.0.1:0");
    let proto = proto();
    let shown = place
        .run(&short(
            &service.grpc(),
            &[
                "--proto",
                &proto,
                "--data",
                r#"{"name": "{{n}}"}"#,
                "--connections",
                "2",
            ],
        ))
        .well();
    assert!(
        shown.contains("50 started: 50 answered, 0 failed"),
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
    let service = Service::start(&place, "127.0.0.1:0");
    place.run(&short(&service.grpc(), &[])).well();
}

#[test]
fn an_http_service_is_called_in_either_version() {
    let place = Place::new();
    let service = Service::start(&place, "127.0.0.1:0");
    for (version, out) in [("1.1", "one"), ("2", "two")] {
        let target = service.http();
        place
            .run(&[
                "load",
                &target,
                "-X",
                "POST",
                "--data",
                r#"{"name":"Ada"}"#,
                "--http",
                version,
                "--calls",
                "50",
                "--in-flight",
                "4",
                "--out",
                out,
                "--quiet",
            ])
            .well();
        let report = report(&place.path().join(out));
        assert_eq!(figures(&report)["calls"]["answered"], 50, "HTTP/{version}");
        let how = &report["variants"][0]["how"];
        assert_eq!(how["http"], format!("HTTP/{version}"));
    }
}

#[test]
fn a_unix_socket_is_called_under_the_targets_name() {
    let place = Place::new();
    let _service = Service::start(&place, "unix:hello.sock");
    let target = format!("grpc://hello.test:1/{HELLO}");
    let shown = place
        .run(&short(&target, &["--unix-socket", "hello.sock"]))
        .well();
    assert!(shown.contains("grpc://hello.test:1"), "{shown}");
}

#[test]
fn a_rate_is_held_for_a_time() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    place
        .run(&[
            "load",
            &target,
            "--rate",
            "400",
            "--poisson",
            "--duration",
            "500ms",
            "--warmup",
            "0s",
            "--out",
            "run",
            "--quiet",
        ])
        .well();
    let report = report(&place.path().join("run"));
    let started = figures(&report)["calls"]["started"]
        .as_u64()
        .expect("a count");
    assert!((100..400).contains(&started), "about 200 arrive: {started}");
    let how = report["variants"][0]["how"]["schedule"]
        .as_str()
        .expect("words");
    assert_eq!(how, "400 calls/s, at random (Poisson)");
}

#[test]
fn rows_are_sent_in_turn() {
    let place = Place::new();
    let service = Service::start(&place, "127.0.0.1:0");
    place.file("names.csv", "name,age\nAda,36\n\"Bob \"\"B\"\"\",7\n");
    let (target, proto) = (service.grpc(), proto());
    place
        .run(&short(
            &target,
            &[
                "--proto",
                &proto,
                "--rows",
                "names.csv",
                "--data",
                r#"{"name":"{{name}}"}"#,
            ],
        ))
        .well();
}

#[test]
fn objectives_decide_the_exit_code() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let run = |out: &str, objectives: &[&str]| {
        let mut words = vec!["load", &target, "--calls", "50", "--out", out, "--quiet"];
        words.extend(objectives.iter().flat_map(|objective| ["--slo", objective]));
        place.run(&words)
    };
    let reached = run("reached", &["p50<10s", "errors<=0%"]);
    assert!(
        reached.stdout.contains("✓ p50<10s reached"),
        "{}",
        reached.stdout
    );
    assert_eq!(reached.code, Some(0));
    let missed = run("missed", &["p50<10s", "max<1ns"]);
    assert!(
        missed.stdout.contains("✗ max<1ns missed"),
        "{}",
        missed.stdout
    );
    assert_eq!(missed.code, Some(1));
    let open = run("open", &["p99<10s"]);
    assert!(
        open.stdout.contains("? p99<10s not shown: 50 calls"),
        "{}",
        open.stdout
    );
    assert_eq!(open.code, Some(1));
    for (out, outcome) in [("reached", "reached"), ("open", "too-few-calls")] {
        let report = report(&place.path().join(out));
        assert_eq!(report["objectives"][0]["outcome"], outcome);
    }
}

#[test]
fn a_service_that_only_fails_is_measured_and_ends_with_1() {
    let place = Place::new();
    let server = answering(BUSY);
    let target = format!("http://{}/", server.address);
    let finished = place.run(&short(&target, &["--warmup", "0s"]));
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(
        finished.stdout.contains("50 × http-503"),
        "{}",
        finished.stdout
    );
    let hoped = place.run(&[
        "load",
        &target,
        "--calls",
        "5",
        "--slo",
        "errors<=100%",
        "--out",
        "hoped",
        "--quiet",
    ]);
    assert_eq!(
        hoped.code,
        Some(0),
        "an objective decides: {}",
        hoped.stdout
    );
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
        .flat_map(|path| match path.is_dir() {
            true => files_under(&path),
            false => vec![path],
        })
        .collect()
}

#[test]
fn tls_is_verified_unless_told_otherwise() {
    let place = Place::new();
    let target = answering_over_tls(&place, OK);
    place
        .run(&short(&target, &[]))
        .refused(&["is not trusted", "--cacert"]);
    let by_address = target.replace("localhost", "127.0.0.1");
    place
        .run(&short(&by_address, &["--cacert", "ca.pem"]))
        .refused(&["another name", "--server-name"]);
    let named = ["--cacert", "ca.pem", "--server-name", "localhost"];
    let shown = place.run(&short(&by_address, &named)).well();
    assert!(shown.contains("over TLS; "), "{shown}");
    let words = [
        "load",
        &target,
        "--insecure",
        "--calls",
        "20",
        "--out",
        "blind",
        "--quiet",
    ];
    let shown = place.run(&words).well();
    assert!(shown.contains("was not verified (--insecure)"), "{shown}");
    let page = fs::read_to_string(place.path().join("blind/report.html")).expect("a page");
    assert!(page.contains("was not verified"), "the page says it too");
    let refused = place.run(&["load", &target, "--insecure", "--http", "2"]);
    refused.refused(&["HTTP/2", "leave out --http 2"]);
}

#[test]
fn two_targets_are_compared_in_blocks() {
    let place = Place::new();
    let (one, other) = (answering(OK), answering(OK));
    let [target, versus] = [&one, &other].map(|server| format!("http://{}/", server.address));
    let shown = place
        .run(&[
            "load", &target, "--vs", &versus, "--blocks", "5", "--calls", "100", "--out", "run",
            "--quiet",
        ])
        .well();
    for part in [
        "Target a",
        "Target b",
        "Is a call to a faster than one to b?",
    ] {
        assert!(shown.contains(part), "\"{part}\" is not in: {shown}");
    }
    let report = report(&place.path().join("run"));
    assert_eq!(
        report["progress"]["measured"], 15,
        "a, b and b again in 5 blocks"
    );
    for variant in report["variants"].as_array().expect("variants") {
        assert_eq!(variant["cells"][0]["figures"]["calls"]["started"], 100);
    }
    let compared = report["comparisons"].as_array().expect("comparisons");
    let pairs = compared.iter().map(|pair| (&pair["of"], &pair["against"]));
    let pairs: Vec<_> = pairs
        .map(|(of, against)| format!("{of} {against}").replace('"', ""))
        .collect();
    assert_eq!(
        pairs,
        ["a b", "a b", "b-again b"],
        "by p50 and p99, and the A/A pair"
    );
}

#[test]
fn an_interrupted_load_is_reported_as_far_as_it_came() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let child = place.start(&[
        "load",
        &target,
        "--duration",
        "10m",
        "--warmup",
        "0s",
        "--out",
        "run",
        "--quiet",
    ]);
    wait_until("calls", || server.calls.load(Ordering::Relaxed) > 20);
    interrupt(&child);
    let finished = child.wait_with_output().expect("it ends");
    assert_eq!(finished.status.code(), Some(130));
    let shown = String::from_utf8_lossy(&finished.stdout);
    assert!(
        shown.contains("interrupted; the figures are those"),
        "{shown}"
    );
    let report = report(&place.path().join("run"));
    assert_eq!(
        report["variants"][0]["cells"][0]["trials"]["interrupted"],
        1
    );
    place
        .run(&["run", "--resume", "run"])
        .refused(&["live service", "rpcgauge load"]);
}

#[test]
fn a_service_that_is_not_what_was_meant_is_said_before_anything_is_written() {
    let place = Place::new();
    let service = Service::start(&place, "127.0.0.1:0");
    let (absent, old) = (answering(ABSENT), answering(OK));
    let refused = |target: &str, more: &[&str], parts: &[&str]| {
        place.run(&short(target, more)).refused(parts);
    };
    let unknown = format!("grpc://{}/a.B/C", service.address);
    refused(
        &unknown,
        &[],
        &["does not know the method", "package.Service/Method"],
    );
    let nobody = format!("grpc://{}/a.B/C", nobody());
    refused(
        &nobody,
        &[],
        &["cannot connect", "refused", "is the service running"],
    );
    let path = format!("http://{}/nothing", absent.address);
    refused(&path, &[], &["answers 404", "/nothing", "GET"]);
    let http1_only = format!("grpc://{}/a.B/C", old.address);
    refused(&http1_only, &[], &["HTTP/2", "HTTP/1.1 only"]);
    let prior = format!("http://{}/", old.address);
    refused(&prior, &["--http", "2"], &["HTTP/2", "leave out --http 2"]);
    let plain = format!("https://{}/", old.address);
    refused(&plain, &["--insecure"], &["TLS"]);
    refused(
        "http://nowhere.invalid/",
        &[],
        &["nowhere.invalid", "no address"],
    );
    let no_socket = ["--unix-socket", "nothing.sock"];
    refused("http://x/", &no_socket, &["nothing.sock", "cannot connect"]);
    assert!(
        !place.names().contains(&"run".to_owned()),
        "{:?}",
        place.names()
    );
}

#[test]
fn bad_input_is_said_in_one_line() {
    let place = Place::new();
    let (target, proto) = ("http://127.0.0.1:9/", proto());
    let grpc = format!("grpc://127.0.0.1:9/{HELLO}");
    place.file("bad.jsonl", "{\"name\":\"Ada\"}\n{\"name\":}\n");
    place.file("bad.csv", "name\nAda,36\n");
    place.file("wrong.jsonl", "{\"name\":\"Ada\"}\n{\"name\":[1]}\n");
    place.file("rows.txt", "");
    let post = ["-X", "POST"];
    let cases: &[(&[&str], &[&str])] = &[
        (&["localhost:50051"], &["is no target", "it has no scheme"]),
        (&["ftp://localhost/"], &["there is no scheme \"ftp\""]),
        (&["grpc://localhost:1"], &["which method?"]),
        (
            &[target, "--rate", "5", "--in-flight", "2"],
            &["--in-flight", "--rate", "together"],
        ),
        (&[target, "--rate", "0"], &["--rate", "more than 0"]),
        (&[target, "--rate", "fast"], &["--rate", "\"fast\""]),
        (&[target, "--poisson"], &["missing --rate"]),
        (&[target, "--order", "random"], &["missing --rows"]),
        (&[target, "--cert", "me.pem"], &["missing --key"]),
        (&[target, "--slo", "p99"], &["--slo", "is no objective"]),
        (&[target, "--duration", "10"], &["--duration", "is no time"]),
        (&[target, "--calls", "0"], &["--calls", "at least 1"]),
        (
            &[target, "--connections", "8", "--in-flight", "2"],
            &["--connections"],
        ),
        (&[target, "--insecure"], &["--insecure", "without TLS"]),
        (&[target, "--proto", &proto], &["--proto", "by HTTP"]),
        (
            &[target, "--response-compression", "brotli"],
            &["--response-compression", "brotli"],
        ),
        (&[&grpc, "-X", "POST"], &["-X", "by gRPC"]),
        (&[&grpc, "--data", "{}"], &["cannot connect"]),
        (
            &[&grpc, "--proto", &proto, "--data", "{\"nam\":1}"],
            &["--data: ", "nam"],
        ),
        (
            &[&grpc, "--proto", &proto, "--data", "{{who}}"],
            &["--data: line 1, column 1", "who"],
        ),
        (
            &[&grpc, "--proto", &proto, "--rows", "bad.jsonl"],
            &["bad.jsonl: line 2, column 9"],
        ),
        (
            &[&grpc, "--proto", &proto, "--rows", "bad.csv"],
            &["bad.csv: line 2", "2 values"],
        ),
        (
            &[&grpc, "--proto", &proto, "--rows", "wrong.jsonl"],
            &["wrong.jsonl, line 2: $.name"],
        ),
        (
            &[&grpc, "--proto", &proto, "--rows", "rows.txt"],
            &["--rows", ".jsonl"],
        ),
        (
            &[&grpc, "--proto", &proto, "--data", "@absent"],
            &["absent"],
        ),
        (&[&grpc, "--data", "@-", "--rows", "-"], &["standard input"]),
        (
            &["grpc://h:1/a.B/C", "--proto", &proto, "--data", "{}"],
            &["no method \"a.B/C\""],
        ),
        (
            &["https://127.0.0.1:9/", "--cacert", "absent.pem"],
            &["absent.pem"],
        ),
        (
            &[target, post[0], post[1], "--data", "{{n}}"],
            &["cannot connect"],
        ),
        (
            &[target, "-H", "accept-encoding: gzip"],
            &["--response-compression"],
        ),
    ];
    for (words, parts) in cases {
        let mut all = vec!["load"];
        all.extend(*words);
        eprintln!("{all:?}");
        place.run(&all).refused(parts);
    }
    assert!(
        !place.names().contains(&"runs".to_owned()),
        "nothing was begun"
    );
}
