//! The built-in workloads' names, responses and sizes, and a user's own workload.

use std::collections::HashSet;
use std::path::Path;

use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{
    BrokenLimit, CodeKind, Codec, Compression, DecodeError, Encoding, Limits, Message, Schema,
    Workload, WorkloadSpec, first_difference, sizes,
};

fn workload(spec: &WorkloadSpec) -> Workload {
    Workload::new(spec).unwrap_or_else(|e| panic!("{spec:?}: {e}"))
}

fn own() -> OwnWorkload {
    let protos = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proto");
    let schema = Schema::compile(&[protos.join("shop/orders.proto")], &[protos]).unwrap();
    OwnWorkload::new(
        &schema,
        "/shop.Orders/Get",
        r#"{"orderId": "o-1"}"#,
        r#"{"orderId": "o-1", "placedAt": "2026-11-20T12:00:00Z", "labels": {"a": "b"}}"#,
    )
    .unwrap()
}

fn all() -> Vec<WorkloadSpec> {
    vec![
        WorkloadSpec::Echo { n: 30 },
        WorkloadSpec::Hello {},
        WorkloadSpec::List { n: 10 },
        WorkloadSpec::Items {},
        WorkloadSpec::Records { n: 20 },
        WorkloadSpec::Profile {},
        WorkloadSpec::Followers { n: 48 },
        WorkloadSpec::Own(Box::new(own())),
    ]
}

fn text(message: &Message) -> String {
    String::from_utf8(message.to_bytes(Encoding::Json).unwrap()).unwrap()
}

#[test]
fn methods_and_paths_are_those_of_the_proto_files() {
    for spec in all() {
        let workload = workload(&spec);
        assert!(workload.rest_path().starts_with('/'));
        if matches!(spec, WorkloadSpec::Own(_)) {
            assert_eq!(workload.method_path(), "/shop.Orders/Get");
            assert_eq!(workload.rest_path(), "/shop.Orders/Get");
            assert_eq!(workload.code(), CodeKind::Dynamic);
            continue;
        }
        for (kind, path) in workload.methods() {
            let method = Schema::workloads().method(path).unwrap();
            assert_eq!(format!("/{}", method.name), path);
            assert_eq!(method.kind, kind);
            assert_eq!(
                method.request.full_name(),
                workload.request_type().full_name()
            );
            assert_eq!(
                method.response.full_name(),
                workload.response_type().full_name()
            );
        }
        assert_eq!(workload.code(), CodeKind::Generated);
        assert_eq!(workload.request(0).code(), CodeKind::Generated);
        assert_eq!(workload.expected(0).code(), CodeKind::Generated);
    }
}

#[test]
fn every_call_goes_both_ways_in_every_encoding_and_compression() {
    let compressions = [Compression::None, Compression::GZIP, Compression::ZSTD];
    for spec in all() {
        let workload = workload(&spec);
        for encoding in Encoding::ALL {
            for compression in compressions {
                let codec = |message_type: &rpcgauge_message::MessageType| {
                    Codec::new(message_type.clone(), encoding, compression, Limits::DEFAULT)
                        .unwrap()
                };
                let mut requests = codec(workload.request_type());
                let mut answers = codec(workload.response_type());
                for call in [0, 1, 7] {
                    let request = through(&mut requests, &workload.request(call));
                    let answer = workload.respond(&request).unwrap();
                    let answer = through(&mut answers, &answer);
                    assert_eq!(
                        first_difference(&workload.expected(call), &answer),
                        None,
                        "{spec:?} {encoding} {compression}"
                    );
                }
            }
        }
    }
}

/// Encodes and compresses a message after a frame header, then decodes it through a previously used buffer.
fn through(codec: &mut Codec, message: &Message) -> Message {
    const HEAD: &[u8] = b"head";
    let (mut encoded, mut sent) = (Vec::new(), HEAD.to_vec());
    let mut received = b"left over".to_vec();
    codec.encode(message, &mut encoded).unwrap();
    codec.compress(&encoded, &mut sent).unwrap();
    codec
        .decompress(sent.strip_prefix(HEAD).unwrap(), &mut received)
        .unwrap();
    assert_eq!(received, encoded);
    codec.decode(&received).unwrap()
}

#[test]
fn a_codec_encodes_only_its_own_type() {
    let hello = workload(&WorkloadSpec::Hello {});
    let mut codec = Codec::new(
        hello.response_type().clone(),
        Encoding::Protobuf,
        Compression::None,
        Limits::DEFAULT,
    )
    .unwrap();
    let error = codec
        .encode(&hello.request(0), &mut Vec::new())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the codec encodes hello.HelloReply, not hello.HelloRequest"
    );
    let error = hello.respond(&hello.expected(0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a hello.HelloReply was sent instead of a hello.HelloRequest"
    );
}

#[test]
fn samples_are_those_of_the_studies() {
    let echo = workload(&WorkloadSpec::Echo { n: 5000 }).request(0);
    let json = text(&echo);
    assert!(
        json.starts_with(
            r#"{"floatData":1.23,"doubleData":3.14,"intData":2,"longData":2222222222222,"boolData":true,"stringData":"applibot@test","list":[""#
        ),
        "{}",
        &json[..200]
    );
    // 5,000 strings, each with 20 characters, two quotes and a comma.
    assert_eq!(json.matches(',').count(), 6 + 4999);
    assert_eq!(json.len(), json.find('[').unwrap() + 5000 * 23 - 1 + 3);

    let hello = workload(&WorkloadSpec::Hello {});
    assert_eq!(text(&hello.request(41)), r#"{"name":"name_41"}"#);
    assert_eq!(
        text(&hello.expected(41)),
        r#"{"message":"Hello, name_41."}"#
    );
    assert!(hello.request_varies());

    let profile = workload(&WorkloadSpec::Profile {});
    assert_eq!(text(&profile.request(100)), r#"{"userId":1}"#);
    let info = r#"{"info":{"id":1,"email":"m1@uni.edu","profileImage":"1.png","nickname":"m1"}}"#;
    assert_eq!(text(&profile.expected(100)), info);
}

/// Applications with serde write 64-bit integers as numbers, but some clients send them as strings.
#[test]
fn integers_of_64_bits_are_numbers_in_json_and_are_read_from_text_too() {
    let followers = workload(&WorkloadSpec::Followers { n: 2 });
    let answer = followers.expected(0);
    assert_eq!(text(&answer), r#"{"userId":[10001,10002]}"#);
    let as_text = br#"{"userId":["10001",10002]}"#;
    let read = followers
        .response_type()
        .decode(as_text, Encoding::Json, &Limits::DEFAULT);
    assert_eq!(first_difference(&answer, &read.unwrap()), None);
}

/// The generated readers do not count levels. If the limit is below their types' depth, dynamic code reads the
/// message instead.
#[test]
fn the_depth_of_built_in_messages_is_bounded() {
    let list = workload(&WorkloadSpec::List { n: 1 });
    let answer = list.expected(0);
    for encoding in Encoding::ALL {
        let bytes = answer.to_bytes(encoding).unwrap();
        for max_depth in 1..=5 {
            let limits = Limits {
                max_depth,
                ..Limits::DEFAULT
            };
            let read = list.response_type().decode(&bytes, encoding, &limits);
            match max_depth {
                1 | 2 => assert_eq!(
                    read.unwrap_err(),
                    DecodeError::Limit(BrokenLimit::Depth(max_depth)),
                    "{encoding}"
                ),
                // In these encodings, a map is an object, which counts as a level.
                3 if encoding != Encoding::Protobuf => assert!(read.is_err(), "{encoding}"),
                _ => assert_eq!(
                    first_difference(&answer, &read.unwrap()),
                    None,
                    "{encoding}"
                ),
            }
        }
    }
}

/// The sizes in bytes of the response in JSON and protobuf.
fn answer_sizes(spec: &WorkloadSpec) -> [usize; 2] {
    let answer = workload(spec).expected(0);
    [Encoding::Json, Encoding::Protobuf].map(|e| answer.to_bytes(e).unwrap().len())
}

#[test]
fn sizes_are_near_the_published_ones() {
    let near = |ours: usize, published: usize, percent: usize| {
        assert!(
            ours.abs_diff(published) * 100 <= published * percent,
            "{ours}, published {published}"
        );
    };
    let published = [
        (10, 1_705, 701),
        (100, 17_894, 7_321),
        (300, 55_580, 23_859),
        (500, 93_298, 40_561),
    ];
    for (n, json, protobuf) in published {
        let ours = answer_sizes(&WorkloadSpec::List { n });
        near(ours[0], json, 6);
        near(ours[1], protobuf, 6);
    }
    near(answer_sizes(&WorkloadSpec::Profile {})[1], 28, 6);
    let followers = answer_sizes(&WorkloadSpec::Followers { n: 48 });
    near(followers[0], 291, 6);
    near(followers[1], 101, 6);
    let records = answer_sizes(&WorkloadSpec::Records { n: 4_900 });
    near(records[0], 1_900_000, 6);
}

/// Identical rows would make compression look far better than it is.
#[test]
fn rows_differ_from_one_another() {
    for (spec, list, least) in [
        (WorkloadSpec::Echo { n: 500 }, "/list", 500),
        (WorkloadSpec::List { n: 500 }, "/response", 500),
        (WorkloadSpec::Followers { n: 500 }, "/userId", 500),
        // These are real rows, some of which are identical.
        (WorkloadSpec::Records { n: 500 }, "/records", 490),
    ] {
        let answer: serde_json::Value =
            serde_json::from_str(&text(&workload(&spec).expected(0))).unwrap();
        let rows = answer.pointer(list).unwrap().as_array().unwrap();
        let distinct: HashSet<String> = rows.iter().map(ToString::to_string).collect();
        assert!(
            distinct.len() >= least,
            "{spec:?}: {} differ",
            distinct.len()
        );
    }
}

#[test]
fn records_are_the_rows_of_the_file() {
    let all = workload(&WorkloadSpec::Records { n: 10_000 }).expected(0);
    let json: serde_json::Value =
        serde_json::from_slice(&all.to_bytes(Encoding::Json).unwrap()).unwrap();
    let rows = json["records"].as_array().unwrap();
    assert_eq!(rows.len(), 10_000);
    let csv = include_str!("../../../studies/data/birdstrikes.csv");
    for (row, line) in rows.iter().zip(csv.lines().skip(1)) {
        let cells: Vec<&str> = line.split(',').collect();
        let names = [
            "airportName",
            "aircraftMakeModel",
            "effectAmountOfDamage",
            "flightDate",
            "aircraftAirlineOperator",
            "originState",
            "phaseOfFlight",
            "wildlifeSize",
            "wildlifeSpecies",
            "timeOfDay",
            "costOther",
            "costRepair",
            "costTotal",
            "speedIasInKnots",
        ];
        for (name, cell) in names.into_iter().zip(cells) {
            match (cell, &row[name]) {
                ("", value) => assert!(value.is_null(), "{line}"),
                (cell, serde_json::Value::Number(n)) => assert_eq!(n.to_string(), cell),
                (cell, value) => assert_eq!(value, cell, "{line}"),
            }
        }
    }
}

#[test]
fn a_server_answers_other_counts_and_refuses_impossible_ones() {
    let list = workload(&WorkloadSpec::List { n: 3 });
    let request = |n: i64| {
        list.request_type()
            .from_json(&format!("{{\"id\":{n}}}"))
            .unwrap()
    };
    let answer = list.respond(&request(5)).unwrap();
    assert_eq!(
        first_difference(&workload(&WorkloadSpec::List { n: 5 }).expected(0), &answer),
        None
    );
    let error = list.respond(&request(-1)).unwrap_err().to_string();
    assert_eq!(error, "id is -1, but must be from 0 to 100000");
    let records = workload(&WorkloadSpec::Records { n: 3 });
    let request = records
        .request_type()
        .from_json(r#"{"count":10001}"#)
        .unwrap();
    assert_eq!(
        records.respond(&request).unwrap_err().to_string(),
        "count is 10001, but the data has 10000 rows"
    );
}

#[test]
fn impossible_workloads_are_refused() {
    let error = |spec: &WorkloadSpec| Workload::new(spec).unwrap_err().to_string();
    assert_eq!(
        error(&WorkloadSpec::Records { n: 10_001 }),
        "the workload \"records\" can have at most 10000 items, not 10001"
    );
    let broken = |change: fn(&mut OwnWorkload)| {
        let mut own = own();
        change(&mut own);
        error(&WorkloadSpec::Own(Box::new(own)))
    };
    assert_eq!(
        broken(|own| own.request = serde_json::json!({"orderIdd": ""})),
        "request sample: $.orderIdd: shop.GetRequest has no field \"orderIdd\"; did you mean \"orderId\"?"
    );
    assert_eq!(
        broken(|own| own.response = serde_json::json!({"placedAt": 5})),
        "response sample: $.placedAt: invalid value: integer `5`, expected a time such as \
         \"2026-11-20T12:00:00.5Z\" (RFC 3339)"
    );
    assert!(broken(|own| own.method = "shop.Orders/Lst".to_owned()).contains("no method"));
    assert!(broken(|own| own.descriptor_set = "*".to_owned()).contains("not base64"));
    assert!(broken(|own| own.descriptor_set = "AAAA".to_owned()).contains("descriptor set"));
}

#[test]
fn a_workload_survives_the_contract() {
    for spec in all() {
        let line = serde_json::to_string(&spec).unwrap();
        let back: WorkloadSpec = serde_json::from_str(&line).unwrap();
        assert_eq!(back, spec);
        assert_eq!(
            first_difference(&workload(&back).expected(0), &workload(&spec).expected(0)),
            None
        );
    }
}

#[test]
fn a_misspelt_key_of_a_workload_is_refused() {
    for line in [
        r#"{"name":"list","n":1,"m":2}"#,
        r#"{"name":"list"}"#,
        r#"{"name":"lst","n":1}"#,
    ] {
        assert!(
            serde_json::from_str::<WorkloadSpec>(line).is_err(),
            "{line}"
        );
    }
}

#[test]
fn sizes_are_those_of_the_bytes() {
    let answer = workload(&WorkloadSpec::List { n: 100 }).expected(0);
    let table = sizes(
        &answer,
        &[Compression::None, Compression::GZIP, Compression::ZSTD],
    )
    .unwrap();
    assert_eq!(
        table.iter().map(|row| row.encoding).collect::<Vec<_>>(),
        Encoding::ALL
    );
    for row in &table {
        assert_eq!(row.bytes[0], answer.to_bytes(row.encoding).unwrap().len());
        assert!(
            row.bytes[1] < row.bytes[0] && row.bytes[2] < row.bytes[0],
            "{row:?}"
        );
    }
    assert_eq!(
        table,
        sizes(
            &answer,
            &[Compression::None, Compression::GZIP, Compression::ZSTD]
        )
        .unwrap()
    );
}

#[test]
fn the_contract_page_has_the_sizes_of_the_list() {
    let page = include_str!("../../../contract/workloads.md");
    let thousands = |n: usize| match n {
        0..1_000 => n.to_string(),
        _ => format!("{},{:03}", n / 1_000, n % 1_000),
    };
    let published = [
        (10, 1_705, 701),
        (100, 17_894, 7_321),
        (300, 55_580, 23_859),
        (500, 93_298, 40_561),
    ];
    for (n, json, protobuf) in published {
        let ours = answer_sizes(&WorkloadSpec::List { n });
        let row = format!(
            "| {n} | {} | {} | {} | {} |",
            thousands(json),
            thousands(ours[0]),
            thousands(protobuf),
            thousands(ours[1])
        );
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn one_wrong_value_in_a_long_response_is_found() {
    let list = workload(&WorkloadSpec::List { n: 1_000 });
    let expected = list.expected(0);
    let right = text(&expected);
    let difference = |json: &str| {
        let read = list.response_type().from_json(json).unwrap();
        assert_eq!(read.code(), CodeKind::Generated);
        first_difference(&expected, &read).map(|difference| difference.to_string())
    };
    assert_eq!(difference(&right), None);
    for (from, to, want) in [
        (
            "\"string999\"",
            "\"string99\"",
            "$.response[998].message.string: expected \"string999\", got \"string99\"",
        ),
        (
            "{\"key1000\":1000}",
            "{}",
            "$.response[999].message.map: expected 1 entries, got nothing",
        ),
    ] {
        assert_eq!(right.matches(from).count(), 1, "{from}");
        assert_eq!(difference(&right.replace(from, to)).as_deref(), Some(want));
    }
}

#[test]
fn samples_of_generated_messages_take_every_form_of_the_mapping() {
    let list = workload(&WorkloadSpec::List { n: 1 });
    let right = text(&list.expected(0));
    for (from, to) in [
        ("\"long\":1", "\"long\":\"1\""),
        ("\"int\":1", "\"int\":1.0"),
        ("\"int\":1", "\"int\":\"1\""),
        ("\"double\":1.5", "\"double\":\"1.5\""),
        ("\"ONE\"", "1"),
    ] {
        assert!(right.contains(from), "{from} in {right}");
        let read = list.response_type().from_json(&right.replacen(from, to, 1));
        let read = read.unwrap_or_else(|error| panic!("{to}: {error}"));
        assert_eq!(first_difference(&list.expected(0), &read), None, "{to}");
    }
    let unknown = right.replace("\"long\":", "\"lung\":");
    let error = list.response_type().from_json(&unknown).unwrap_err();
    assert!(
        error.to_string().starts_with("$.response[0].message.lung"),
        "{error}"
    );
}

#[test]
fn a_sample_that_json_would_lose_a_part_of_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.proto");
    let source = "syntax = \"proto2\"; package a; import \"google/protobuf/any.proto\";
        message A { optional google.protobuf.Any any = 1; optional int32 n = 2; extensions 100; }
        extend A { optional string e = 100; } service S { rpc M(A) returns (A); }";
    std::fs::write(&file, source).unwrap();
    let schema = Schema::compile(&[file], &[]).unwrap();
    let own = |sample: &str| OwnWorkload::new(&schema, "a.S/M", "{}", sample).map(|_| ());
    let held = r#""any": {"@type": "x/a.A", "n": 1"#;
    own(&format!(r#"{{"[a.e]": "x", {held}}}}}"#)).unwrap();
    let error = own(&format!(r#"{{{held}, "[a.e]": "x"}}}}"#)).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"response sample: $.any["[a.e]"]: extensions inside a google.protobuf.Any are not supported"#
    );
}
