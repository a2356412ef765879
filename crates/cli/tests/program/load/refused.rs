//! Targets that cannot be called, and invalid options. Each is rejected with one line before
//! anything starts.

use std::io::ErrorKind;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{ABSENT, HELLO, OK, Service, answering, nobody, proto, short};
use crate::common::Place;

const UNKNOWN_CALLER: &str = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n";
const OTHER_METHOD: &str = "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n";
const OTHER_TYPE: &str = "HTTP/1.1 415 Unsupported Media Type\r\ncontent-length: 0\r\n\r\n";

/// A service that does not accept connections and whose backlog is full.
fn with_a_full_queue(socket: &Path) -> (UnixListener, Vec<UnixStream>) {
    let listener = UnixListener::bind(socket).expect("a listener");
    let mut waiting = Vec::new();
    loop {
        match rpcgauge_load::connect_unix(socket, Duration::from_millis(10)) {
            Ok(stream) => waiting.push(stream),
            Err(error) if error.kind() == ErrorKind::TimedOut => return (listener, waiting),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_socket_whose_queue_is_full_is_waited_for_no_longer_than_the_deadline() {
    let place = Place::new();
    let _full = with_a_full_queue(&place.path().join("full.sock"));
    let full = ["--unix-socket", "full.sock", "--deadline", "300ms"];
    place.run(&short("http://x/", &full)).refused(&[
        "cannot connect",
        "full.sock",
        "did not accept the connection within 300ms",
    ]);
}

#[test]
fn a_service_that_is_not_what_was_meant_is_said_before_anything_is_written() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
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
    refused(&path, &[], &["responds with 404", "/nothing", "GET"]);
    let cases: [(&str, &[&str]); 3] = [
        (UNKNOWN_CALLER, &["http-401", "header 'authorization"]),
        (
            OTHER_METHOD,
            &["responds with 405", "/orders", "GET", "another HTTP method"],
        ),
        (
            OTHER_TYPE,
            &["responds with 415", "/orders", "content-type"],
        ),
    ];
    for (answer, parts) in cases {
        let server = answering(answer);
        refused(&format!("http://{}/orders", server.address), &[], parts);
        assert_eq!(server.calls.load(Ordering::Relaxed), 1, "{answer}");
    }
    let http1_only = format!("grpc://{}/a.B/C", old.address);
    refused(&http1_only, &[], &["HTTP/2", "speaks only HTTP/1.x"]);
    let prior = format!("http://{}/", old.address);
    refused(
        &prior,
        &["--http", "2"],
        &["HTTP/2", "call it with that version"],
    );
    let plain = format!("https://{}/", old.address);
    refused(&plain, &["--insecure"], &["TLS"]);
    refused(
        "http://nowhere.invalid/",
        &[],
        &["nowhere.invalid", "no address"],
    );
    let no_socket = ["--unix-socket", "nothing.sock"];
    refused("http://x/", &no_socket, &["nothing.sock", "cannot connect"]);
    place.file("file.sock", "");
    let no_socket = ["--unix-socket", "file.sock"];
    refused(
        "http://x/",
        &no_socket,
        &["file.sock: this is not a socket"],
    );
    let long = format!("{}.sock", "x".repeat(110));
    let too_long = ["--unix-socket", &long];
    refused(
        "http://x/",
        &too_long,
        &["115 bytes", "the system allows 107"],
    );
    assert!(
        !place.names().contains(&"run".to_owned()),
        "{:?}",
        place.names()
    );
}

#[test]
fn a_method_that_the_second_target_has_not_is_said_to_be_its() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let (target, proto) = (service.grpc(), proto());
    let versus = format!("grpc://{}/hello.Hello/SayHalo", service.address);
    let words = ["--vs", &versus, "--data", "{}"];
    for described in [&["--proto", &proto][..], &[]] {
        let words = [&["load", &target], &words[..], described].concat();
        let nearest = "did you mean \"hello.Hello/SayHello\"?";
        place
            .run(&words)
            .refused(&["no method \"hello.Hello/SayHalo\"", nearest]);
    }
    assert_eq!(place.names(), [""; 0], "nothing was begun");
}

#[test]
fn bad_input_is_said_in_one_line() {
    let place = Place::new();
    let (target, proto) = ("http://127.0.0.1:9/", proto());
    let grpc = format!("grpc://127.0.0.1:9/{HELLO}");
    place.file("bad.jsonl", "{\"name\":\"Ada\"}\n{\"name\":}\n");
    place.file("bad.csv", "name\nAda,36\n");
    place.file("rows.txt", "");
    let post = ["-X", "POST"];
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["localhost:50051"],
            &["is not a target", "it has no scheme"],
        ),
        (&["ftp://localhost/"], &["there is no scheme \"ftp\""]),
        (&["grpc://localhost:1"], &["names no method"]),
        (
            &[target, "--rate", "5", "--in-flight", "2"],
            &["--in-flight", "--rate"],
        ),
        (&[target, "--rate", "0"], &["--rate", "more than 0"]),
        (&[target, "--rate", "fast"], &["--rate", "'fast'"]),
        (&[target, "--poisson"], &["--rate"]),
        (&[target, "--order", "random"], &["--rows"]),
        (&[target, "--cert", "me.pem"], &["--key"]),
        (&[target, "--slo", "p99"], &["--slo", "is not an objective"]),
        (
            &[target, "--slo", "errors<1"],
            &[
                "--slo",
                "a share of errors is a percentage up to 100%, or a number below 1",
            ],
        ),
        (
            &["http://127.0.0.1:9/{{n}}"],
            &["/{{n}}: placeholders are filled in \"data\" and \"headers\" only"],
        ),
        (
            &[target, "-H", "x-id: {{uid}}"],
            &["header 'x-id: …': line 1, column 1: unknown placeholder \"uid\""],
        ),
        (
            &[target, "-H", "x-{{n}}: 1"],
            &[
                "--header",
                "in the value of a header field, not in its name",
            ],
        ),
        (
            &[target, "-H", "host: {{n}}"],
            &["every call has the same host"],
        ),
        (
            &[target, "--duration", "10"],
            &["--duration", "is not a time"],
        ),
        (&[target, "--calls", "0"], &["--calls", "from 1 to"]),
        (
            &[target, "--connections", "8", "--in-flight", "2"],
            &["--connections"],
        ),
        (&[target, "--insecure"], &["--insecure", "without TLS"]),
        (
            &[target, "--proto", &proto],
            &["--proto", "called over HTTP"],
        ),
        (
            &[target, "--response-compression", "brotli"],
            &["--response-compression", "brotli"],
        ),
        (&[&grpc, "-X", "POST"], &["-X", "called over gRPC"]),
        (&[&grpc, "--data", "{}"], &["cannot connect"]),
        (
            &[&grpc, "--proto", &proto, "--data", "{\"name\":{{n}}}"],
            &[
                "data: $.name: invalid value: integer",
                "expected a string; {{n}} has no quotes around it: for text write \"{{n}}\"",
            ],
        ),
        (
            &[&grpc, "--proto", &proto, "--data", "{{who}}"],
            &["data: line 1, column 1", "who"],
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
            &[&grpc, "--proto", &proto, "--rows", "rows.txt"],
            &["rows", ".jsonl"],
        ),
        (
            &[&grpc, "--proto", &proto, "--data", "@absent"],
            &["absent"],
        ),
        (&[&grpc, "--data", "@"], &["--data: @ names no file"]),
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
