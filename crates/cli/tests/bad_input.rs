//! Every bad input of the command line, a study, a message or a run directory: one clear line,
//! exit code 2, nothing half-written.

mod common;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use common::{Finished, Place, SMALL_STUDY, orders};

/// Runs `plan` on a study and expects a refusal that holds `parts`.
#[track_caller]
fn study_refused(text: &str, parts: &[&str]) {
    let place = Place::new();
    place.file("study.toml", text);
    place.run(&["plan", "study.toml"]).refused(parts);
    place.run(&["run", "study.toml"]).refused(parts);
    assert_eq!(
        place.names(),
        ["study.toml"],
        "a refused study leaves nothing behind"
    );
}

/// Runs `size` on a message and expects a refusal that holds `parts`.
#[track_caller]
fn sample_refused(sample: &str, parts: &[&str]) {
    let place = Place::new();
    place.file("sample.json", sample);
    place
        .run(&[
            "size",
            "--proto",
            &orders("orders.proto"),
            "--message",
            "shop.Order",
            "--sample",
            "sample.json",
        ])
        .refused(parts);
}

/// Runs `size` on a .proto file and expects a refusal that holds `parts`.
#[track_caller]
fn proto_refused(proto: &str, parts: &[&str]) {
    let place = Place::new();
    place.file("bad.proto", proto);
    place.file("sample.json", "{}");
    place
        .run(&[
            "size",
            "--proto",
            "bad.proto",
            "--message",
            "a.M",
            "--sample",
            "sample.json",
        ])
        .refused(parts);
}

#[test]
fn a_proto_that_does_not_parse_is_named_by_line_and_column() {
    proto_refused(
        "syntax = \"proto3\";\npackage a;\nmessage M {\n  int32 x == 1;\n}\n",
        &["bad.proto:4:", "expected"],
    );
}

#[test]
fn a_missing_import_is_named_with_who_asks_for_it() {
    proto_refused(
        "syntax = \"proto3\";\npackage a;\nimport \"money/amount.proto\";\nmessage M {}\n",
        &["bad.proto:3", "money/amount.proto", "--include"],
    );
}

#[test]
fn a_protoc_too_old_for_editions_is_said() {
    let place = Place::new();
    place.file(
        "new.proto",
        "edition = \"2023\";\npackage a;\nmessage M { int32 n = 1; }\n",
    );
    place.file("sample.json", "{}");
    // What protoc 21 says to an edition.
    let old = place.file(
        "bin/protoc",
        "#!/bin/sh\n\
         [ \"$1\" = --version ] && echo 'libprotoc 3.21.12' && exit 0\n\
         echo '[libprotobuf WARNING parser.cc:646] No syntax specified for the proto file: new.proto.' >&2\n\
         echo 'new.proto:1:1: Expected top-level statement (e.g. \"message\").' >&2\n\
         exit 1\n",
    );
    fs::set_permissions(&old, fs::Permissions::from_mode(0o755)).expect("permissions");
    let output = place
        .command(&[
            "size",
            "--proto",
            "new.proto",
            "--message",
            "a.M",
            "--sample",
            "sample.json",
        ])
        .env("PATH", place.path().join("bin"))
        .output()
        .expect("the program starts");
    Finished::from(output).refused(&["new.proto", "protoc is too old", "27 or newer"]);
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
fn a_missing_proto_file_is_named() {
    let place = Place::new();
    place.file("sample.json", "{}");
    place
        .run(&[
            "size",
            "--proto",
            "none.proto",
            "--message",
            "a.M",
            "--sample",
            "sample.json",
        ])
        .refused(&["none.proto"]);
}

#[test]
fn a_damaged_descriptor_set_is_refused() {
    let place = Place::new();
    place.file("set.binpb", "this is no descriptor set");
    place.file("sample.json", "{}");
    place
        .run(&[
            "size",
            "--descriptor-set",
            "set.binpb",
            "--message",
            "a.M",
            "--sample",
            "sample.json",
        ])
        .refused(&["set.binpb", "descriptor set"]);
}

#[test]
fn an_unknown_method_comes_with_the_nearest_names() {
    let place = Place::new();
    place
        .run(&[
            "compare",
            "--proto",
            &orders("orders.proto"),
            "--method",
            "shop.Orders/Gte",
            "--request",
            &orders("request.json"),
            "--response",
            &orders("response.json"),
        ])
        .refused(&["shop.Orders/Gte", "shop.Orders/Get"]);
    assert!(place.names().is_empty());
}

#[test]
fn an_unknown_message_comes_with_the_nearest_names() {
    let place = Place::new();
    place.file("sample.json", "{}");
    place
        .run(&[
            "size",
            "--proto",
            &orders("orders.proto"),
            "--message",
            "shop.Ordre",
            "--sample",
            "sample.json",
        ])
        .refused(&["shop.Ordre", "shop.Order"]);
}

#[test]
fn an_unknown_field_of_a_sample_is_named_by_its_path() {
    sample_refused(
        r#"{"lines": [{"sku": "a"}, {"skuu": "b"}]}"#,
        &["$.lines[1].skuu", "sku"],
    );
}

#[test]
fn a_wrong_type_in_a_sample_is_named_by_its_path() {
    sample_refused(
        r#"{"lines": [{"quantity": "many"}]}"#,
        &["$.lines[0].quantity"],
    );
    sample_refused(r#"{"customer": 7}"#, &["$.customer"]);
}

#[test]
fn a_number_out_of_range_in_a_sample_is_named_by_its_path() {
    sample_refused(
        r#"{"lines": [{"quantity": 4294967296}]}"#,
        &["$.lines[0].quantity", "4294967296"],
    );
    sample_refused(r#"{"customer": {"id": -1}}"#, &["$.customer.id"]);
}

#[test]
fn other_faults_of_a_sample_are_named_by_their_path() {
    sample_refused(r#"{"status": "PAYED"}"#, &["$.status", "PAYED"]);
    sample_refused(r#"{"placedAt": "yesterday"}"#, &["$.placedAt"]);
    sample_refused(
        r#"{"transfer": {"reference": "no base64!"}}"#,
        &["$.transfer.reference"],
    );
    sample_refused(r#"{"card": {}, "transfer": {}}"#, &["payment"]);
    sample_refused(r#"{"id": "a""#, &["sample.json"]);
    sample_refused("[]", &["sample.json"]);
}

#[test]
fn a_sample_for_a_call_is_checked_before_anything_runs() {
    let place = Place::new();
    place.file("request.json", r#"{"idd": "1"}"#);
    place
        .run(&[
            "compare",
            "--proto",
            &orders("orders.proto"),
            "--method",
            "shop.Orders/Get",
            "--request",
            "request.json",
            "--response",
            &orders("response.json"),
        ])
        .refused(&["request.json", "$.idd", "id"]);
    assert_eq!(place.names(), ["request.json"]);
}

#[test]
fn unknown_variants_of_a_comparison_are_refused() {
    let place = Place::new();
    let base = [
        "compare",
        "--proto",
        &orders("orders.proto"),
        "--method",
        "shop.Orders/Get",
        "--request",
        &orders("request.json"),
        "--response",
        &orders("response.json"),
    ];
    let with = |more: &[&str]| place.run(&[&base[..], more].concat());
    with(&["--only", "grcp"]).refused(&["--only", "grcp", "grpc"]);
    with(&["--against", "rest"]).refused(&["--against", "rest-json"]);
    with(&["--budget", "1s"]).refused(&["--budget", "at least"]);
    let no_time = with(&["--budget", "5 parsecs"]);
    assert_eq!(no_time.code, Some(2));
    assert!(no_time.stderr.contains("1m30s"), "{}", no_time.stderr);
    with(&["--size-sweep", "0"]).refused(&["--size-sweep"]);
    assert!(place.names().is_empty());
}

#[test]
fn a_misspelt_key_of_a_study_comes_with_line_column_and_the_right_name() {
    study_refused(
        &SMALL_STUDY.replace("blocks = 1", "bloks = 1"),
        &["study.toml:5:1", "bloks", "blocks"],
    );
    study_refused(
        &SMALL_STUDY.replace("protocol = \"rest\"", "protcol = \"rest\""),
        &["study.toml:17:1", "protcol", "protocol"],
    );
}

#[test]
fn a_misspelt_value_of_a_study_comes_with_line_column_and_the_right_one() {
    study_refused(
        &SMALL_STUDY.replace("protocol = \"grpc\"", "protocol = \"grcp\""),
        &["study.toml:13:12", "grcp", "grpc"],
    );
}

#[test]
fn contradictions_in_a_study_are_refused() {
    study_refused(
        &SMALL_STUDY.replace("protocol = \"grpc\"", "protocol = \"grpc\"\nhttp = \"1.1\""),
        &["study.toml:14:", "HTTP/2"],
    );
    study_refused(
        &SMALL_STUDY.replace("calls = 50", "calls = 50\nin-flight = 4\nrate = 100"),
        &["study.toml:", "rate", "in-flight"],
    );
    study_refused(
        &SMALL_STUDY.replace("of = \"grpc\"", "of = \"gprc\""),
        &["study.toml:20:", "gprc", "grpc"],
    );
    study_refused(
        &SMALL_STUDY.replace("name = \"rest\"", "name = \"grpc\""),
        &["study.toml:16:", "grpc"],
    );
    study_refused(
        &SMALL_STUDY.replace("invocations = 2", "invocations = 0"),
        &["study.toml:4:15", "invocations"],
    );
    study_refused(
        &SMALL_STUDY.replace("invocations = 2", "invocations = \"two\""),
        &["study.toml:4:15"],
    );
    study_refused(
        &SMALL_STUDY.replace("blocks = 1", "blocks = = 1"),
        &["study.toml:5:10"],
    );
}

#[test]
fn an_unknown_study_comes_with_the_nearest_name() {
    let place = Place::new();
    place
        .run(&["run", "quikstart"])
        .refused(&["quikstart", "quickstart"]);
    place.run(&["run", "none.toml"]).refused(&["none.toml"]);
    assert!(place.names().is_empty());
}

#[test]
fn a_port_in_use_is_said() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address");
    let port = address.port();
    place
        .run(&["serve", "--listen", &address.to_string()])
        .refused(&[&format!("port {port} on 127.0.0.1 is in use")]);
}

#[test]
fn what_a_served_workload_would_ignore_is_refused() {
    let place = Place::new();
    place
        .run(&["serve", "--workload", "hello", "--n", "5"])
        .refused(&["--n", "one size"]);
    place
        .run(&["serve", "--proto", &orders("orders.proto")])
        .refused(&["--proto", "--method"]);
}

#[test]
fn limits_that_cannot_be_kept_are_refused() {
    let place = Place::new();
    place.file("study.toml", SMALL_STUDY);
    for command in [&["serve"][..], &["run", "study.toml"]] {
        place
            .run(&[command, &["--max-depth", "201"]].concat())
            .refused(&["--max-depth is 201, and may be 1 to 200"]);
    }
    assert_eq!(place.names(), ["study.toml"]);
}

#[test]
fn a_sample_over_a_limit_is_refused_before_anything_runs() {
    let place = Place::new();
    let (proto, request, response) = (
        orders("orders.proto"),
        orders("request.json"),
        orders("response.json"),
    );
    place.file(
        "own.toml",
        &format!(
            "question = \"Is it fast?\"\n[workload]\nproto = \"{proto}\"\n\
             method = \"shop.Orders/Get\"\nrequest = \"{request}\"\nresponse = \"{response}\"\n\
             [base]\nprotocol = \"grpc\"\n[factors]\ntransport = [\"tcp\", \"unix\"]\n"
        ),
    );
    let own = [
        "--proto",
        &proto,
        "--method",
        "shop.Orders/Get",
        "--request",
        &request,
        "--response",
        &response,
    ];
    let commands = [
        [&["compare"][..], &own].concat(),
        [&["serve"][..], &own].concat(),
        vec!["run", "own.toml"],
        vec!["plan", "own.toml"],
        vec![
            "size",
            "--proto",
            &proto,
            "--method",
            "shop.Orders/Get",
            "--answer",
            "--sample",
            &response,
        ],
    ];
    for command in commands {
        let with = |limit: &[&'static str]| place.run(&[&command[..], limit].concat());
        with(&["--max-depth", "1"]).refused(&["response.json: ", "--max-depth"]);
        with(&["--max-message-bytes", "100"]).refused(&["response.json: ", "--max-message-bytes"]);
    }
    place.file(
        "study.toml",
        &SMALL_STUDY.replace("\"hello\"", "\"list\", n = 50"),
    );
    place
        .run(&["run", "study.toml", "--max-message-bytes", "100"])
        .refused(&["study.toml:3:", "variant \"grpc\"", "--max-message-bytes"]);
    assert_eq!(place.names(), ["own.toml", "study.toml"]);
}

#[test]
fn a_resumed_run_keeps_its_limits() {
    let place = Place::new();
    place.file("study.toml", SMALL_STUDY);
    let text = place
        .run(&[
            "run",
            "study.toml",
            "--out",
            "run",
            "--quiet",
            "--max-depth",
            "50",
        ])
        .well();
    assert!(text.contains("limits --max-depth 50"), "{text}");
    for (option, value, recorded) in [
        ("--max-depth", "100", "50"),
        ("--max-inflation", "7", "10000"),
    ] {
        place
            .run(&["run", "--resume", "run", option, value])
            .refused(&[&format!(
                "{option} {value}: this run was begun with {recorded}"
            )]);
    }
    place
        .run(&["run", "--resume", "run", "--quiet", "--max-depth", "50"])
        .well();
    let again = place.run(&["run", "--resume", "run", "--quiet"]).well();
    assert!(again.contains("limits --max-depth 50"), "{again}");
}

#[test]
fn what_a_resumed_run_would_ignore_is_refused() {
    let place = Place::new();
    for option in ["--only", "--invocations", "--blocks", "--seed", "--out"] {
        let refused = place.run(&["run", "--resume", "run", option, "1"]);
        assert_eq!(refused.code, Some(2), "{option}");
        assert!(refused.stderr.contains(option), "{}", refused.stderr);
    }
}

#[test]
fn a_disk_that_fills_up_during_a_run_is_said() {
    let place = Place::new();
    place.file("study.toml", SMALL_STUDY);
    // Files may grow to 24 blocks of 512 bytes, or of 1 KiB: the plan fits, some records do.
    let limited = Command::new("sh")
        .args(["-c", "ulimit -f 24; trap '' XFSZ; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_rpcgauge"))
        .args(["run", "study.toml", "--out", "run", "--quiet"])
        .current_dir(place.path())
        .output()
        .expect("sh starts");
    Finished::from(limited).refused(&["run/trials.jsonl", "what was written before is kept"]);
    place.run(&["run", "--resume", "run", "--quiet"]).well();
}

#[test]
fn addresses_that_cannot_be_listened_on_are_refused() {
    let place = Place::new();
    place
        .run(&["serve", "--listen", "nowhere"])
        .refused(&["nowhere"]);
    let long = format!("unix:/tmp/{}", "x".repeat(120));
    place.run(&["serve", "--listen", &long]).refused(&["107"]);
    let file = place.file("plain.sock", "not a socket");
    place
        .run(&["serve", "--listen", &format!("unix:{}", file.display())])
        .refused(&["plain.sock", "no socket"]);
    assert_eq!(
        fs::read_to_string(&file).expect("still there"),
        "not a socket"
    );
}

#[test]
fn a_run_directory_that_cannot_be_made_is_said() {
    let place = Place::new();
    place.file("study.toml", SMALL_STUDY);
    place.file("occupied/something.txt", "mine");
    place
        .run(&["run", "study.toml", "--out", "occupied"])
        .refused(&["occupied"]);
    place
        .run(&["run", "study.toml", "--out", "study.toml"])
        .refused(&["study.toml"]);
    place
        .run(&["run", "study.toml", "--out", "/proc/rpcgauge"])
        .refused(&["/proc/rpcgauge"]);
    place
        .run(&["run", "study.toml", "--out", "/dev/full/run"])
        .refused(&["/dev/full"]);
    assert_eq!(place.names(), ["occupied", "study.toml"]);
}

#[test]
fn an_unwritable_folder_is_said() {
    if rustix::process::geteuid().is_root() {
        // Root writes everywhere; /proc above stands for the refusal.
        return;
    }
    let place = Place::new();
    place.file("study.toml", SMALL_STUDY);
    let folder = place.path().join("locked");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("permissions");
    place
        .run(&["run", "study.toml", "--out", "locked/run"])
        .refused(&["locked"]);
}

#[test]
fn what_is_no_run_directory_is_refused() {
    let place = Place::new();
    fs::create_dir(place.path().join("empty")).expect("a folder");
    for run in ["none", "empty"] {
        place.run(&["report", run]).refused(&[run]);
        place.run(&["run", "--resume", run]).refused(&[run]);
        place.run(&["diff", run, run]).refused(&[run]);
    }
}

#[test]
fn a_damaged_run_directory_is_refused_by_file_and_line() {
    let place = Place::new();
    place.file("study.toml", SMALL_STUDY);
    place
        .run(&["run", "study.toml", "--out", "run", "--quiet"])
        .well();
    let trials = place.path().join("run/trials.jsonl");
    let text = fs::read_to_string(&trials).expect("trials");
    let mut lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() > 3, "{text}");
    lines[1] = "{ damaged";
    fs::write(&trials, lines.join("\n") + "\n").expect("written");
    place.run(&["report", "run"]).refused(&["trials.jsonl:2"]);
    place
        .run(&["run", "--resume", "run"])
        .refused(&["trials.jsonl:2"]);

    fs::write(&trials, &text).expect("written");
    fs::remove_file(place.path().join("run/plan.json")).expect("removed");
    place.run(&["report", "run"]).refused(&["plan.json"]);
}

#[test]
fn a_run_of_a_newer_schema_is_refused() {
    let place = Place::new();
    place.file("study.toml", SMALL_STUDY);
    place
        .run(&["run", "study.toml", "--out", "run", "--quiet"])
        .well();
    let path = place.path().join("run/run.json");
    let text = fs::read_to_string(&path).expect("run.json");
    let newer = text.replace("\"schema\": 1", "\"schema\": 99");
    assert_ne!(text, newer, "run.json names its schema");
    fs::write(&path, newer).expect("written");
    place.run(&["report", "run"]).refused(&["99", "newer"]);
}
