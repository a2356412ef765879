//! Round trips of lines, and every way in which a line can be wrong.

use std::io::Cursor;
use std::path::PathBuf;

use rpcgauge_message::CodeKind;
use rpcgauge_trial::StreamForm;
use serde_json::Value;

use super::*;

mod schemas;

const SERVER: &str = r#"{"contract":1,"role":"server","workload":{"name":"list","n":10},
    "protocol":"grpc","http":"2","encoding":"protobuf","listen":{"transport":"tcp"}}"#;

fn server() -> ServerSettings {
    match SettingsLine::parse(SERVER) {
        Ok(SettingsLine::Server(settings)) => *settings,
        other => panic!("a server: {other:?}"),
    }
}

fn text(json: &str) -> JsonText {
    JsonText::new(json.to_owned()).expect("JSON")
}

fn refused(line: &str) -> String {
    SettingsLine::parse(line)
        .expect_err("must be refused")
        .to_string()
}

#[test]
fn absent_settings_mean_loopback_uncompressed_and_one_thread() {
    let settings = server();
    assert_eq!(
        settings.listen,
        Listen::Tcp {
            host: "127.0.0.1".into()
        }
    );
    assert_eq!(settings.response_compression, Compression::None);
    assert_eq!((settings.threads, settings.limits), (1, Limits::default()));
}

/// A line of each role with every setting.
fn full_settings() -> [SettingsLine; 6] {
    let limits = Limits {
        max_message_bytes: Some(9),
        max_depth: Some(8),
        max_inflation: Some(7),
    };
    let server = ServerSettings {
        stack: Some("hyper".into()),
        workload: WorkloadSpec::Echo { n: 3 },
        protocol: Protocol::Rest,
        http: HttpVersion::Http1,
        encoding: Encoding::JsonProtoNames,
        listen: Listen::Unix {
            path: "/run/a b.sock".into(),
        },
        response_compression: Compression::Gzip { level: 6 },
        threads: 4,
        marks: true,
        tls: true,
        protobuf_samples: vec!["AA==".into(), String::new()],
        stream: Some(Stream::new(StreamForm::Sse, 100, false).expect("a stream")),
        limits,
    };
    let codec = CodecSettings {
        stack: Some("cbor".into()),
        workload: WorkloadSpec::Hello {},
        sample: Sample::Response,
        encoding: Encoding::Cbor,
        compression: Compression::GZIP,
        message: text(r#"{"message":"Hello"}"#),
        operation: Operation::Decode,
        records: "/tmp/records".into(),
        protobuf_samples: vec!["AA==".into(), String::new()],
        limits,
    };
    let client = ClientSettings {
        stack: Some("http".into()),
        workload: WorkloadSpec::Hello {},
        protocol: Protocol::Rest,
        http: HttpVersion::Http1,
        encoding: Encoding::Json,
        address: Address::Unix("/run/a.sock".into()),
        certificate: Some("-----BEGIN CERTIFICATE-----\nAA==\n".into()),
        requests: vec![text(r#"{"name":"a"}"#), text("{}")],
        request_compression: Compression::GZIP,
        response_compression: Compression::ZSTD,
        connection: ConnectionUse::PerCall,
        channels: 2,
        style: Some(Style::Coroutine),
        in_flight: 4,
        deadline_ms: 10_000,
        marks: true,
        records: "/tmp/records".into(),
        stream: Some(Stream::new(StreamForm::Bidirectional, 100, true).expect("a stream")),
        message_records: Some("/tmp/messages".into()),
        protobuf_samples: vec!["AA==".into(), String::new()],
        limits,
    };
    let servers = Several {
        parts: vec![server.clone(), server.clone()],
    };
    let clients = Several {
        parts: vec![client.clone(), client.clone()],
    };
    [
        SettingsLine::Server(Box::new(server)),
        SettingsLine::Client(Box::new(client)),
        SettingsLine::Codec(Box::new(codec)),
        SettingsLine::Floor(FloorSettings {
            listen: Listen::Tcp { host: "::1".into() },
        }),
        SettingsLine::Servers(servers),
        SettingsLine::Clients(clients),
    ]
}

#[test]
fn settings_come_back_from_their_line() {
    let short = SettingsLine::Server(Box::new(server()));
    for settings in full_settings().into_iter().chain([short]) {
        let line = settings.to_line();
        assert!(!line.contains('\n'), "{line}");
        assert_eq!(SettingsLine::parse(&line), Ok(settings));
    }
}

#[test]
fn a_line_of_another_version_is_called_that() {
    let newer = r#"{"contract":3,"role":"chorus","news":true}"#;
    assert_eq!(
        refused(newer),
        "the settings line has contract version 3, but this side uses versions 1 and 2: \
         use builds of the same contract version"
    );
    assert!(refused(r#"{"role":"server"}"#).contains("version (none)"));
    assert!(refused(r#"{"contract":"1","role":"server"}"#).contains("version \"1\""));
}

#[test]
fn only_lines_with_a_stream_have_the_version_that_added_it() {
    let plain = SettingsLine::Server(Box::new(server()));
    assert!(plain.to_line().starts_with(r#"{"contract":1,"#));
    let [streaming, ..] = full_settings();
    let line = streaming.to_line();
    assert!(line.starts_with(r#"{"contract":2,"#), "{line}");
    assert_eq!(
        refused(&line.replacen('2', "1", 1)),
        "the settings line does not fit the contract: \"stream\" needs contract version 2"
    );
    let none = line.replacen("\"messages\":100", "\"messages\":0", 1);
    assert!(refused(&none).contains("1 to 1,000,000 messages"));
}

#[test]
fn an_unknown_role_names_the_known_ones() {
    assert_eq!(
        refused(r#"{"contract":1,"role":"chorus"}"#),
        "unknown role \"chorus\": the roles are server, client, codec, floor, servers and clients"
    );
    assert!(refused(r#"{"contract":1}"#).starts_with("unknown role (none)"));
    let long = format!(r#"{{"contract":1,"role":"{}"}}"#, "é".repeat(1000));
    assert!(refused(&long).len() < 200);
}

#[test]
fn a_workload_of_one_size_takes_none() {
    for name in ["hello", "profile"] {
        let workload = format!(r#"{{"name":"{name}","n":5}}"#);
        let line = SERVER.replacen(r#"{"name":"list","n":10}"#, &workload, 1);
        assert!(refused(&line).contains("unknown field `n`"), "{name}");
        let plain = line.replacen(r#","n":5"#, "", 1);
        assert!(SettingsLine::parse(&plain).is_ok(), "{name}");
    }
}

#[test]
fn an_unknown_setting_is_refused_by_name() {
    let line = SERVER.replacen("\"protocol\"", "\"pace\":3,\"protocol\"", 1);
    assert!(
        refused(&line).contains("unknown field `pace`"),
        "{}",
        refused(&line)
    );
    let line = SERVER.replacen("\"tcp\"", "\"tcp\",\"port\":80", 1);
    assert!(
        refused(&line).contains("unknown field `port`"),
        "{}",
        refused(&line)
    );
}

#[test]
fn missing_and_wrong_settings_are_refused() {
    assert!(refused(r#"{"contract":1,"role":"floor"}"#).contains("missing field `listen`"));
    assert!(refused(&SERVER.replace("\"2\"", "\"3\"")).contains("unknown variant `3`"));
    assert!(refused("{]").starts_with("the settings line is not a JSON object: "));
    assert!(refused("[1]").starts_with("the settings line is not a JSON object: "));
}

/// A reply of each kind with every key.
fn full_replies() -> [Reply; 2] {
    let part = ReadyPart {
        address: Some(Address::Tcp("[::1]:41234".parse().expect("an address"))),
        certificate: Some("-----BEGIN CERTIFICATE-----\nAA==\n".into()),
        code: Some(CodeKind::Generated),
        clock_ns: Some(5_000),
    };
    let ready = Ready {
        only: part.clone(),
        parts: vec![part.clone(), part],
        pid: Some(7),
        versions: [("hyper".to_owned(), "1".to_owned())].into(),
    };
    let failed = Failed {
        error: "no port is free".into(),
        fault: Fault::Machine,
    };
    [Reply::Ready(ready), Reply::Failed(failed)]
}

#[test]
fn a_process_has_from_2_to_64_parts() {
    let line = |parts: &[&str]| {
        let parts = parts.join(",");
        format!(r#"{{"contract":1,"role":"servers","parts":[{parts}]}}"#)
    };
    let server: Value = serde_json::from_str(SERVER).expect("JSON");
    let mut part = server.as_object().expect("an object").clone();
    part.retain(|key, _| key != "contract" && key != "role");
    let part = Value::from(part).to_string();
    for count in [0, 1, 65] {
        let error = refused(&line(&vec![&*part; count]));
        assert!(error.contains(&format!("it has {count} parts")), "{error}");
    }
    let settings = SettingsLine::parse(&line(&[&part, &part])).expect("two parts");
    assert_eq!((settings.parts(), settings.listens().len()), (2, 2));
    // A part has the role of the line.
    assert!(refused(&line(&[&part, SERVER])).contains("unknown field"));
}

#[test]
fn a_ready_line_has_a_part_for_each_of_the_settings() {
    let ready = |line: &str| match Reply::parse(line) {
        Ok(Reply::Ready(ready)) => ready,
        other => panic!("{other:?}"),
    };
    let one = r#"{"contract":1,"ready":true,"address":"unix:/a"}"#;
    let address = |path: &str| Some(Address::Unix(PathBuf::from(path)));
    let said = |line, count| ready(line).parts(count).map_err(|error| error.to_string());
    assert_eq!(said(one, 1).expect("one")[0].address, address("/a"));
    let several =
        r#"{"contract":1,"ready":true,"parts":[{"address":"unix:/a"},{"address":"unix:/b"}]}"#;
    assert_eq!(said(several, 2).expect("two")[1].address, address("/b"));
    for (line, count, parts) in [(one, 2, 1), (several, 1, 2), (several, 3, 2)] {
        let error = said(line, count).expect_err("too few or too many");
        let words = format!("the number of parts in the ready line is {parts}, not {count}");
        assert!(error.contains(&words), "{error}");
    }
}

#[test]
fn replies_come_back_from_their_line() {
    for reply in full_replies() {
        assert_eq!(Reply::parse(&reply.to_line()), Ok(reply));
    }
}

#[test]
fn unknown_keys_of_a_reply_are_skipped() {
    let line = r#"{"contract":1,"ready":true,"address":"unix:/a","color":"good"}"#;
    let Ok(Reply::Ready(ready)) = Reply::parse(line) else {
        panic!("ready")
    };
    assert_eq!(ready.only.address, Some(Address::Unix(PathBuf::from("/a"))));
}

#[test]
fn a_reply_must_say_ready_or_error() {
    for line in [r#"{"contract":1}"#, r#"{"contract":1,"ready":false}"#] {
        let error = Reply::parse(line).expect_err("neither").to_string();
        assert!(error.contains("neither"), "{error}");
    }
    assert!(Reply::parse(r#"{"contract":1,"ready":true,"address":"nowhere"}"#).is_err());
}

#[test]
fn what_a_subject_says_makes_no_second_line() {
    for line in [
        r#"{"contract":1,"error":"x","fault":"a\nb"}"#,
        r#"{"contract":1,"ready":true,"code":"a\r\nb"}"#,
    ] {
        let error = Reply::parse(line).expect_err("unknown").to_string();
        assert!(error.contains("unknown variant"), "{error}");
        assert!(!error.contains(char::is_control), "{error:?}");
    }
}

#[test]
fn reading_takes_one_line_and_no_more() {
    let mut stream = Cursor::new(format!("{}\r\nrest\n", SERVER.replace('\n', "")));
    assert!(SettingsLine::read(&mut stream).is_ok());
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut stream, &mut rest).expect("in memory");
    assert_eq!(rest, "rest\n");
}

#[test]
fn an_ended_stream_and_wrong_bytes_are_distinct_errors() {
    assert_eq!(
        SettingsLine::read(Cursor::new("")),
        Err(ContractError::Missing("settings"))
    );
    let Err(ContractError::Stream { .. }) = SettingsLine::read(Cursor::new([0xff, b'\n'])) else {
        panic!("not UTF-8")
    };
}

#[test]
fn asks_come_back_from_their_line() {
    let slice = |until, batch| {
        Asked::Slice(SliceAsk {
            skip: 10,
            until,
            batch,
        })
    };
    for asked in [
        Asked::Verify,
        slice(Until::Calls(200), None),
        slice(Until::Time(Duration::from_micros(2000)), Some(16)),
    ] {
        for part in [0, 1] {
            let ask = Ask { part, asked };
            assert_eq!(Ask::parse(&ask.to_line()), Ok(ask), "{}", ask.to_line());
        }
    }
    let asked = slice(Until::Calls(200), None);
    let line = |part| Ask { part, asked }.to_line();
    assert_eq!(line(0), r#"{"slice":{"calls":200,"skip":10}}"#);
    assert_eq!(line(2), r#"{"part":2,"slice":{"calls":200,"skip":10}}"#);
}

#[test]
fn an_ask_says_one_thing() {
    for (line, why) in [
        ("{}", "neither"),
        (r#"{"verify":false}"#, "neither"),
        (r#"{"verify":true,"slice":{"skip":0,"calls":1}}"#, "neither"),
        (r#"{"verify":true,"color":1}"#, "unknown field `color`"),
        (r#"{"verify":true,"part":-1}"#, "invalid value"),
        (r#"{"slice":{"skip":0}}"#, "exactly one of"),
        (
            r#"{"slice":{"skip":0,"calls":1,"time_us":1}}"#,
            "exactly one of",
        ),
        (r#"{"slice":{"skip":0,"calls":0}}"#, "at least 1 call"),
        (
            r#"{"slice":{"skip":0,"calls":1,"batch":0}}"#,
            "at least 1 operation",
        ),
        (
            r#"{"slice":{"skip":0,"calls":1,"pace":2}}"#,
            "unknown field `pace`",
        ),
        ("slice", "not a JSON object"),
    ] {
        let error = Ask::parse(line).expect_err(line).to_string();
        assert!(error.contains(why), "{line}: {error}");
    }
    assert_eq!(Ask::read(Cursor::new("")), Ok(None));
}

/// An answer of each kind with every key.
fn full_answers() -> [Answer; 6] {
    let done = SliceDone {
        records: 200,
        cpu_ns: Some(5),
        error: Some("refused".into()),
        reopened: 1,
    };
    [
        Answer::Verified(Verified::Message(text(r#"{"id":1}"#))),
        Answer::Verified(Verified::Protobuf("AA==".into())),
        Answer::Verified(Verified::Bytes("AA==".into())),
        Answer::Verified(Verified::Stream(vec![
            Verified::Message(text("{}")),
            Verified::Protobuf("AA==".into()),
        ])),
        Answer::Slice(done),
        Answer::Failed(Failed {
            error: "the server is gone".into(),
            fault: Fault::Subject,
        }),
    ]
}

#[test]
fn answers_come_back_from_their_line() {
    let short = Answer::Slice(SliceDone::default());
    for answer in full_answers().into_iter().chain([short]) {
        assert_eq!(Answer::parse(&answer.to_line()), Ok(answer));
    }
    let lenient = r#"{"slice":{"records":3,"color":"good"},"color":1}"#;
    assert!(matches!(Answer::parse(lenient), Ok(Answer::Slice(done)) if done.records == 3));
}

/// The error for records with these times in ns; empty if the records are valid.
fn problem(in_flight: u32, connections: u32, times: &[(u64, u64)], operations: u32) -> String {
    let bounds = SliceBounds {
        in_flight,
        connections,
        cores: 2,
        clock_ns: 0,
    };
    problem_within(bounds, times, operations)
}

fn problem_within(bounds: SliceBounds, times: &[(u64, u64)], operations: u32) -> String {
    let record = |(begin, end): &(u64, u64)| Record {
        begin: *begin,
        end: *end,
        encoded: None,
        sent: None,
        first_byte: None,
        received: None,
        handler_start: None,
        handler_end: None,
        request_bytes: None,
        response_bytes: None,
        failed: false,
        operations,
    };
    let records: Vec<Record> = times.iter().map(record).collect();
    let checked = bounds.check_records(&SliceDone::default(), &records);
    let says = checked.map_or_else(|error| error.to_string(), |()| String::new());
    let done = SliceDone {
        error: Some("refused".to_owned()),
        ..SliceDone::default()
    };
    let checked = bounds.check_records(&done, &records);
    let error = checked.unwrap_err().to_string();
    assert!(error.contains("no record is of a failed call"), "{error}");
    says
}

#[test]
fn no_more_calls_are_in_flight_than_there_may_be() {
    let of_two = |times: [(u64, u64); 3]| {
        let times = times.map(|(begin, end)| (begin * 1_000, end * 1_000));
        problem(2, 2, &times, 1)
    };
    // One call begins exactly when another ends, and the file's order is arbitrary.
    assert_eq!(of_two([(20, 30), (10, 20), (15, 25)]), "");
    let three = of_two([(10, 20), (12, 22), (19, 30)]);
    assert!(three.contains("have 3 calls in flight"), "{three}");
}

#[test]
fn a_call_or_batch_takes_the_time_that_it_must() {
    let call = problem(1, 1, &[(10, 1_009)], 1);
    assert!(call.contains("a call that took 999 ns"), "{call}");
    assert_eq!(problem(1, 1, &[(10, 1_010)], 1), "");
    // An operation shorter than the clock's resolution.
    assert_eq!(problem(1, 0, &[(10, 10), (10, 10)], 1), "");
    let batch = problem(1, 0, &[(10, 30), (40, 41)], 1_000);
    assert!(batch.contains("1000 operations that took 1 ns"), "{batch}");
    let coarse = |connections, time| {
        let bounds = SliceBounds {
            in_flight: 1,
            connections,
            cores: 2,
            clock_ns: 900,
        };
        problem_within(bounds, &[time], 1_000)
    };
    assert_eq!(coarse(0, (10, 10)), "");
    assert_eq!(coarse(1, (10, 110)), "");
    let call = coarse(1, (10, 109));
    assert!(call.contains("the minimum is 100 ns"), "{call}");
}

#[test]
fn a_slice_has_no_more_than_fits_into_it() {
    let bounds = SliceBounds {
        in_flight: 4,
        connections: 5,
        cores: 2,
        clock_ns: 0,
    };
    let took = Duration::from_millis(10);
    let (cpu_ns, time) = (Some(60_000_000), Until::Time(took));
    for (until, records, cpu_ns, reopened, says) in [
        (Until::Calls(7), 7, cpu_ns, 5, None),
        (Until::Calls(7), 8, None, 0, Some("8 records")),
        // A record takes at least 20 ns of one of two cores.
        (time, 1_000_004, None, 0, None),
        (time, 1_000_005, None, 0, Some("1000005 records")),
        (time, 1, None, u64::MAX, Some("reopened connections")),
        (time, 1, None, 6, Some("6 reopened connections")),
        (
            time,
            1,
            Some(60_000_001),
            0,
            Some("0.060000001 s of CPU time"),
        ),
        (time, 1, Some(u64::MAX), 0, Some("s of CPU time")),
    ] {
        let ask = SliceAsk {
            skip: 0,
            until,
            batch: None,
        };
        let done = SliceDone {
            records,
            cpu_ns,
            reopened,
            error: None,
        };
        let checked = bounds.check(&ask, took, &done);
        match (checked, says) {
            (Ok(()), None) => {}
            (Err(error), Some(says)) => assert!(error.to_string().contains(says), "{error}"),
            (checked, _) => panic!("{done:?}: {checked:?}"),
        }
    }
}

#[test]
fn a_value_that_is_kept_as_text_takes_one_line() {
    let lines = text("{\"id\":\n1}");
    let line = Answer::Verified(Verified::Message(lines)).to_line();
    assert_eq!(line, r#"{"verified":{"message":{"id": 1}}}"#);
    assert!(JsonText::new("{".to_owned()).is_err());
}

#[test]
fn a_malformed_answer_is_an_error_of_one_line() {
    for line in [
        "{}",
        r#"{"verified":"all"}"#,
        r#"{"verified":{"message":{"id":1}"#,
        r#"{"verified":{"message":{},"bytes":""}}"#,
        r#"{"verified":{"message":{},"protobuf":""}}"#,
        r#"{"verified":{"protobuf":{}}}"#,
        r#"{"verified":{"sound":1}}"#,
        r#"{"verified":{"stream":[{"bytes":""}]}}"#,
        r#"{"verified":{"stream":{"message":{}}}}"#,
        r#"{"slice":{"records":-1}}"#,
        r#"{"error":"x","fault":"subject"}"#,
        r#"{"contract":1,"error":"x","fault":"a\nb"}"#,
        "Traceback",
    ] {
        let error = Answer::parse(line).expect_err(line).to_string();
        assert!(!error.contains(char::is_control), "{error:?}");
    }
}
