//! Tests of the contract's lines from the subject's side.

use std::fs;
use std::io::{Cursor, PipeReader, PipeWriter, pipe};
use std::net::TcpStream;
use std::path::Path;
use std::thread::JoinHandle;

use rpcgauge_contract::{Address, Listen, RECORD_BYTES, Record, SettingsLine as Line};
use rpcgauge_message::CodeKind;
use serde_json::{Value, json};

use super::*;

/// A subject on a thread, connected by pipes as its process would be.
struct Subject {
    input: Option<PipeWriter>,
    output: BufReader<PipeReader>,
    thread: JoinHandle<u8>,
}

impl Subject {
    fn start(line: &str) -> Self {
        let (stdin, mut input) = pipe().expect("a pipe");
        let (output, stdout) = pipe().expect("a pipe");
        let thread = thread::spawn(move || run(BufReader::new(stdin), stdout));
        input.write_all(line.as_bytes()).expect("sent");
        input.write_all(b"\n").expect("sent");
        Self {
            input: Some(input),
            output: BufReader::new(output),
            thread,
        }
    }

    fn ready(&mut self) -> Ready {
        match Reply::read(&mut self.output).expect("a reply") {
            Reply::Ready(ready) => ready,
            Reply::Failed(failed) => panic!("{}", failed.error),
        }
    }

    /// Closes the subject's input and returns its exit code.
    fn end(mut self) -> u8 {
        self.input.take();
        self.thread.join().expect("no panic")
    }
}

/// The error line and exit code of a subject that rejects its settings.
fn refused(line: &str) -> (Failed, u8) {
    let mut output = Vec::new();
    let code = run(Cursor::new(format!("{line}\n")), &mut output);
    let lines = String::from_utf8(output).expect("text");
    assert_eq!(lines.matches('\n').count(), 1, "one line: {lines}");
    match Reply::read(lines.as_bytes()).expect("a reply") {
        Reply::Failed(failed) => (failed, code),
        Reply::Ready(ready) => panic!("{ready:?}"),
    }
}

fn server_line(more: &str) -> String {
    format!(
        r#"{{"contract":1,"role":"server","workload":{{"name":"hello"}},"protocol":"rest",
           "http":"1.1","encoding":"json","listen":{{"transport":"tcp"}}{more}}}"#
    )
    .replace('\n', "")
}

#[test]
fn a_server_says_where_it_listens_and_ends_with_its_input() {
    let mut subject = Subject::start(&server_line(""));
    let ready = subject.ready();
    assert_eq!(ready.only.code, Some(CodeKind::Generated));
    assert_eq!(
        ready.versions["rpcgauge-reference"],
        env!("CARGO_PKG_VERSION")
    );
    let Some(Address::Tcp(address)) = ready.only.address else {
        panic!("TCP")
    };
    assert!(address.ip().is_loopback());
    TcpStream::connect(address).expect("ready means that connections are accepted");
    assert_eq!(subject.end(), 0);
    TcpStream::connect(address).expect_err("it has ended");
}

#[test]
fn a_process_serves_each_of_its_parts_at_its_own_address() {
    let one = server_line("").replace(r#""contract":1,"role":"server","#, "");
    let line = |parts: &[&str]| {
        let parts = parts.join(",");
        format!(r#"{{"contract":1,"role":"servers","parts":[{parts}]}}"#)
    };
    let mut subject = Subject::start(&line(&[&one, &one]));
    let parts = subject.ready().parts(2).expect("two parts");
    let addresses = parts.iter().map(|part| match part.address {
        Some(Address::Tcp(address)) => address,
        _ => panic!("TCP"),
    });
    let addresses: Vec<_> = addresses.collect();
    assert_ne!(addresses[0], addresses[1]);
    for address in &addresses {
        TcpStream::connect(address).expect("ready means that calls are taken");
    }
    assert_eq!(subject.end(), 0);
    for address in &addresses {
        TcpStream::connect(address).expect_err("it has ended");
    }
    let grpc_on_1 = one.replace("rest", "grpc");
    let (failed, code) = refused(&line(&[&one, &grpc_on_1]));
    assert!(failed.error.contains("HTTP/2"), "{}", failed.error);
    assert_eq!(code, 2);
}

#[test]
fn a_server_that_is_to_speak_tls_gives_its_certificate() {
    for (more, speaks) in [(r#","tls":true"#, true), ("", false)] {
        let mut subject = Subject::start(&server_line(more));
        let certificate = subject.ready().only.certificate;
        let begins = certificate.map(|pem| pem.starts_with("-----BEGIN CERTIFICATE-----"));
        assert_eq!(begins, speaks.then_some(true));
        assert_eq!(subject.end(), 0);
    }
}

#[test]
fn a_server_removes_its_socket_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s");
    for role in ["server", "floor"] {
        let listen = Listen::Unix { path: path.clone() };
        let line = match Line::parse(&server_line("")).expect("a line") {
            Line::Server(settings) if role == "server" => Line::Server(Box::new(ServerSettings {
                listen,
                ..*settings
            })),
            _ => Line::Floor(FloorSettings { listen }),
        };
        let mut subject = Subject::start(&line.to_line());
        assert_eq!(
            subject.ready().only.address,
            Some(Address::Unix(path.clone()))
        );
        assert!(path.exists());
        assert_eq!(subject.end(), 0);
        assert!(!path.exists(), "{role}");
    }
}

#[test]
fn what_comes_after_the_settings_is_thrown_away() {
    let mut subject = Subject::start(&server_line(""));
    subject.ready();
    subject
        .input
        .as_mut()
        .expect("open")
        .write_all(b"more\nand more\n")
        .expect("sent");
    assert_eq!(subject.end(), 0);
}

#[test]
fn lines_that_break_the_contract_are_the_instruments_fault() {
    for (line, want) in [
        ("nonsense", "the settings line is not a JSON object"),
        (
            r#"{"contract":7,"role":"server"}"#,
            "the settings line has contract version 7",
        ),
        (
            r#"{"contract":1,"role":"chorus"}"#,
            "unknown role \"chorus\"",
        ),
        (
            &server_line(r#","colour":"red""#),
            "the settings line does not fit the contract",
        ),
        ("", "the settings line is not a JSON object"),
    ] {
        let (failed, code) = refused(line);
        assert!(failed.error.starts_with(want), "{}", failed.error);
        assert_eq!((failed.fault, code), (Fault::Instrument, 2));
    }
    let mut output = Vec::new();
    assert_eq!(run(Cursor::new(""), &mut output), 2);
    let text = String::from_utf8(output).expect("text");
    assert!(text.contains("no settings line came"), "{text}");
}

#[test]
fn settings_that_cannot_be_had_are_the_users_fault() {
    let grpc = server_line("").replace("\"rest\"", "\"grpc\"");
    let (failed, code) = refused(&grpc);
    assert_eq!(failed.error, "gRPC needs HTTP/2: set http to \"2\"");
    assert_eq!((failed.fault, code), (Fault::User, 2));
    let (failed, _) = refused(&server_line(r#","stack":"tonic""#));
    assert_eq!(
        failed.error,
        "unknown stack \"tonic\": this subject supports hyper"
    );
    let (failed, _) = refused(&server_line(r#","threads":0"#));
    assert_eq!(
        (failed.error.as_str(), failed.fault),
        ("cannot serve with 0 threads: use 1 to 1024", Fault::User)
    );
}

/// The line of a server of streams, over HTTP/2.
fn stream_line(workload: &str, protocol: &str, form: &str, more: &str) -> String {
    server_line(&format!(
        r#","stream":{{"form":"{form}","messages":3}}{more}"#
    ))
    .replace(r#""contract":1"#, r#""contract":2"#)
    .replace(r#""1.1""#, r#""2""#)
    .replace("hello", workload)
    .replace(
        r#""protocol":"rest""#,
        &format!(r#""protocol":"{protocol}""#),
    )
}

/// The line of a server of WebSockets.
fn websocket_line(more: &str) -> String {
    stream_line("items", "rest", "bidirectional", more).replace(r#""http":"2""#, r#""http":"1.1""#)
}

#[test]
fn streams_of_every_form_are_served() {
    for (protocol, form) in [
        ("grpc", "client"),
        ("grpc", "server"),
        ("grpc", "bidirectional"),
        ("rest", "ndjson"),
        ("rest", "sse"),
    ] {
        let mut subject = Subject::start(&stream_line("items", protocol, form, ""));
        subject.ready();
        assert_eq!(subject.end(), 0);
    }
    let mut websocket = Subject::start(&websocket_line(""));
    websocket.ready();
    assert_eq!(websocket.end(), 0);
}

#[test]
fn streams_that_cannot_be_served_are_the_users_fault() {
    let json = r#""encoding":"json""#;
    for (line, want) in [
        (
            stream_line("items", "rest", "server", ""),
            "a server-streaming call needs gRPC: set protocol to \"grpc\"",
        ),
        (
            stream_line("items", "connect", "bidirectional", ""),
            "a bidirectional-streaming call needs gRPC: set protocol to \"grpc\"",
        ),
        (
            stream_line("items", "grpc", "ndjson", ""),
            "an NDJSON call needs REST: set protocol to \"rest\"",
        ),
        (
            stream_line("hello", "grpc", "client", ""),
            "cannot stream: the workload of /hello.Hello/SayHello has no method for a client-streaming \
             call; use the workload items, or your own method of this kind",
        ),
        (
            stream_line("hello", "rest", "sse", ""),
            "cannot stream: the workload of /hello.Hello/SayHello has no method for a Server-Sent Events \
             call; use the workload items, or your own method of this kind",
        ),
        (
            stream_line("items", "rest", "sse", "").replace(json, r#""encoding":"cbor""#),
            "cannot stream: the messages of a Server-Sent Events call are JSON, not cbor; set encoding to \
             json",
        ),
        (
            stream_line(
                "items",
                "rest",
                "ndjson",
                r#","response_compression":"gzip""#,
            ),
            "cannot stream: this server does not compress the response to an NDJSON call; leave out \
             response_compression",
        ),
        (
            stream_line("items", "rest", "bidirectional", ""),
            "a WebSocket needs HTTP/1.1: set http to \"1.1\"",
        ),
        (
            websocket_line("").replace(json, r#""encoding":"cbor""#),
            "cannot stream: the messages of a WebSocket call are JSON, not cbor; set encoding to json",
        ),
    ] {
        let (failed, code) = refused(&line);
        assert_eq!(failed.error, want);
        assert_eq!((failed.fault, code), (Fault::User, 2));
    }
}

#[test]
fn limits_that_cannot_be_kept_are_the_users_fault() {
    let deep = r#","limits":{"max_depth":100000}"#;
    for line in [server_line(deep), codec_line(deep)] {
        let (failed, code) = refused(&line);
        assert_eq!(
            failed.error,
            "--max-depth must be from 1 to 100, not 100000"
        );
        assert_eq!((failed.fault, code), (Fault::User, 2));
    }
}

#[test]
fn what_the_machine_refuses_is_its_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("taken");
    fs::write(&path, "").expect("written");
    let line = Line::Floor(FloorSettings {
        listen: Listen::Unix { path },
    })
    .to_line();
    let (failed, code) = refused(&line);
    assert!(failed.error.contains("is not a socket"), "{}", failed.error);
    assert_eq!((failed.fault, code), (Fault::Machine, 3));
}

fn codec_line(more: &str) -> String {
    format!(
        r#"{{"contract":1,"role":"codec","workload":{{"name":"hello"}},"sample":"request",
           "message":{{"name":"name_0"}},"encoding":"protobuf","operation":"decode",
           "records":"/dev/null"{more}}}"#
    )
    .replace('\n', "")
}

impl Subject {
    /// Writes a line and returns the reply.
    fn answer(&mut self, line: &str) -> Value {
        let input = self.input.as_mut().expect("open");
        input
            .write_all(format!("{line}\n").as_bytes())
            .expect("sent");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("a response");
        serde_json::from_str(&answer).expect("JSON")
    }
}

#[test]
fn a_codec_proves_itself_and_makes_the_slices_it_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("records");
    for (operation, verified) in [
        // Field 1, length 6, "name_0".
        ("encode", json!({"bytes": "CgZuYW1lXzA="})),
        ("decode", json!({"message": {"name": "name_0"}})),
    ] {
        let line = codec_line("")
            .replace("decode", operation)
            .replace("/dev/null", &file.display().to_string());
        let mut subject = Subject::start(&line);
        assert_eq!(subject.ready().only.address, None);
        assert_eq!(
            subject.answer(r#"{"verify":true}"#),
            json!({"verified": verified})
        );
        assert_eq!(fs::read(&file).expect("made").len(), 0);
        for (slice, records) in [
            (r#"{"slice":{"skip":2,"calls":3,"batch":16}}"#, 3),
            (r#"{"slice":{"skip":0,"time_us":0,"batch":16}}"#, 1),
        ] {
            let done = &subject.answer(slice)["slice"];
            assert_eq!(done["records"], records);
            assert!(done["cpu_ns"].as_u64() > Some(0), "{done}");
        }
        let bytes = fs::read(&file).expect("records");
        assert_eq!(bytes.len(), 4 * RECORD_BYTES);
        let records = Record::read_all(&bytes).expect("records");
        assert!(records.iter().all(|record| record.operations == 16));
        assert!(
            records.windows(2).all(|pair| pair[0].end <= pair[1].begin),
            "{records:?}"
        );
        assert_eq!(subject.end(), 0);
    }
}

#[test]
fn a_codec_refuses_what_it_cannot_do_by_an_error_line() {
    let (failed, code) = refused(&codec_line("").replace("name_0\"", "name_0\",\"age\":1"));
    assert!(failed.error.contains("age"), "{}", failed.error);
    assert_eq!((failed.fault, code), (Fault::User, 2));

    let mut subject = Subject::start(&codec_line(""));
    subject.ready();
    let answer = subject.answer(r#"{"slice":{"skip":0,"calls":1,"pace":3}}"#);
    assert_eq!(
        answer["error"],
        "the slice line does not fit the contract: unknown field `pace`, expected one of `skip`, \
         `calls`, `time_us`, `batch`"
    );
    assert_eq!(subject.end(), 2);
}

#[test]
fn the_role_of_client_is_refused() {
    let line = r#"{"contract":1,"role":"client","workload":{"name":"hello"},"protocol":"rest",
        "http":"1.1","encoding":"json","address":"127.0.0.1:1","requests":[{}],"deadline_ms":1,
        "records":"/dev/null"}"#;
    let (failed, _) = refused(&line.replace('\n', ""));
    assert!(failed.error.contains("no client"), "{}", failed.error);
}

#[test]
fn the_reported_versions_are_those_of_the_lock_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let lock = fs::read_to_string(root.join("Cargo.lock")).expect("the lock file");
    for (name, version) in LIBRARIES {
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        assert!(
            lock.contains(&entry),
            "{name} is not {version} in Cargo.lock"
        );
    }
}
