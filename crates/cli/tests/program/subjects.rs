//! Subjects as folders: listed, built once, checked, measured; and such that do harm. The subject is
//! the one of docs/add-a-subject.md, made by following it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::common::{Finished, Place, interrupt, json, report, wait_until};

const GUIDE: &str = include_str!("../../../../docs/add-a-subject.md");

/// The guide's subject in `mine/greeter`: each block of code goes where the line before it says.
pub(crate) fn greeter() -> Place {
    let place = Place::new();
    let mut target = None;
    let mut lines = GUIDE.lines();
    while let Some(line) = lines.next() {
        let (start, appends) = match line.strip_prefix("Add to ") {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        if let Some(rest) = start.strip_prefix("`greeter/") {
            let name = rest.split('`').next().expect("a name");
            target = Some((format!("mine/greeter/{name}"), appends));
        }
        if line.starts_with("```") {
            let text: String = lines
                .by_ref()
                .take_while(|line| *line != "```")
                .flat_map(|line| [line, "\n"])
                .collect();
            if let Some((name, appends)) = target.take() {
                let before = match appends {
                    true => fs::read_to_string(place.path().join(&name)).expect("a file before"),
                    false => String::new(),
                };
                place.file(&name, &format!("{before}\n{text}"));
            }
        }
    }
    place
}

/// The guide's subject with something else in one of its files.
pub(crate) fn greeter_with(file: &str, from: &str, to: &str) -> Place {
    let place = greeter();
    let name = format!("mine/greeter/{file}");
    let text = fs::read_to_string(place.path().join(&name)).expect("a file of the guide");
    assert!(text.contains(from), "{from} is not in {file}");
    place.file(&name, &text.replacen(from, to, 1));
    place
}

fn check(place: &Place, stack: &str) -> Finished {
    place.run(&[
        "subjects",
        "check",
        "greeter",
        "--stack",
        stack,
        "--subjects",
        "mine",
    ])
}

#[track_caller]
fn check_fails(place: &Place, stack: &str, parts: &[&str]) {
    let finished = check(place, stack);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    for part in parts {
        assert!(
            finished.stderr.contains(part),
            "\"{part}\" is not in: {}",
            finished.stderr
        );
    }
}

/// A subject that is built by `build` and is never run.
fn built_by(build: &str) -> Place {
    let place = Place::new();
    place.file(
        "mine/made/subject.toml",
        &format!(
            "name = \"made\"\nlanguage = \"sh\"\nbuild = {build}\nrun = [\"./program\"]\n\
             [[stacks]]\nname = \"json\"\nroles = [\"codec\"]\nencodings = [\"json\"]\n\
             workloads = [\"hello\"]\n"
        ),
    );
    place
}

fn build(place: &Place) -> Finished {
    place.run(&["subjects", "build", "made", "--subjects", "mine"])
}

/// The folder that a subject was built in.
fn folder_of(finished: Finished) -> PathBuf {
    let text = finished.well();
    PathBuf::from(text.trim().split(": ").last().expect("a folder"))
}

#[test]
fn the_guide_s_subject_does_what_it_declares() {
    let finished = greeter().run(&["subjects", "check", "greeter", "--subjects", "mine"]);
    assert!(!finished.stderr.contains("FAILED"), "{}", finished.stderr);
    let text = finished.well();
    for who in ["server as server", "client as client", "json as codec"] {
        assert!(text.contains(&format!("greeter/{who}: ")), "{text}");
    }
}

#[test]
fn each_step_of_the_guide_can_be_tried() {
    let place = greeter();
    let toml = place.path().join("mine/greeter/subject.toml");
    let text = fs::read_to_string(&toml).expect("subject.toml");
    let (first, _) = text
        .rsplit_once("[[stacks]]\nname = \"client\"")
        .expect("a second step");
    fs::write(&toml, first).expect("the first step");
    for later in ["client.py", "codec.py", "slices.py"] {
        fs::remove_file(place.path().join("mine/greeter").join(later)).expect("a later file");
    }
    check(&place, "server").well();
}

#[test]
fn a_study_measures_the_guide_s_server_like_any_other() {
    let place = greeter();
    let study = GUIDE
        .split("```toml\n")
        .find(|block| block.starts_with("question"))
        .expect("a study");
    let study = study.split("```").next().expect("its text");
    let small = "invocations = 1\nblocks = 1\nwarm-up = { calls = 5 }\na-a = \"reference\"\n";
    let study = study.replace("[base]\n", "[base]\ncalls = 20\n");
    place.file("study.toml", &format!("{small}{study}"));
    place
        .run(&[
            "run",
            "study.toml",
            "--subjects",
            "mine",
            "--out",
            "run",
            "--quiet",
        ])
        .well();
    let report = report(&place.path().join("run"));
    let variants = report["variants"].as_array().expect("variants");
    let greeter = variants
        .iter()
        .find(|variant| variant["name"] == "greeter:server")
        .expect("its variant");
    assert_eq!(greeter["how"]["settings"]["server"], "greeter/server");
    assert!(
        report["environment"]["subjects"]["greeter/server"]["python"].is_string(),
        "{report}"
    );
}

#[test]
fn a_list_says_what_there_is_and_what_is_missing() {
    let place = greeter_with("subject.toml", "least = \"3.8\"", "least = \"99.1\"");
    let text = place.run(&["subjects", "--subjects", "mine"]).well();
    assert!(
        text.contains("greeter: Python, cannot be built: "),
        "{text}"
    );
    assert!(
        text.contains("and 99.1 is needed; apt install python3"),
        "{text}"
    );
    assert!(text.contains("reference: Rust, part of rpcgauge"), "{text}");
    let listed = json(
        &place
            .run(&["subjects", "--json", "--subjects", "mine"])
            .well(),
    );
    let greeter = listed
        .as_array()
        .expect("a list")
        .iter()
        .find(|one| one["name"] == "greeter");
    let greeter = greeter.expect("the user's own");
    assert_eq!(greeter["state"], "missing");
    let names: Vec<&Value> = greeter["stacks"]
        .as_array()
        .expect("stacks")
        .iter()
        .map(|stack| &stack["name"])
        .collect();
    assert_eq!(names, ["greeter/server", "greeter/client", "greeter/json"]);
    assert_eq!(greeter["stacks"][0]["protocols"]["rest"][0], "1.1");

    place.file("study.toml", "# Is it?\n[workload]\nname = \"hello\"\n[base]\nprotocol = \"rest\"\nserver = \"greeter/server\"\n");
    let run = place.run(&["run", "study.toml", "--subjects", "mine"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("apt install python3"), "{}", run.stderr);
    assert!(!place.path().join("runs").exists(), "no run is begun");
}

#[test]
fn what_a_stack_does_not_declare_is_refused_where_it_is_asked_for() {
    let place = greeter();
    let study = "# Is it?\n[workload]\nname = \"hello\"\n[base]\nprotocol = \"rest\"\n\
        server = \"greeter/server\"\nencoding = \"cbor\"\n";
    place.file("study.toml", study);
    place
        .run(&["plan", "study.toml", "--subjects", "mine"])
        .refused(&[
            "study.toml:7:12",
            "greeter/server",
            "no encoding \"cbor\" (it has: json)",
        ]);
    place
        .run(&["plan", "study.toml"])
        .refused(&["study.toml:6:10", "there is no server \"greeter/server\""]);
}

#[test]
fn a_broken_neighbour_is_named_and_left_out() {
    let place = greeter();
    place.file("mine/broken/subject.toml", "name = 1\n");
    let planned = |server: &str| {
        let study = format!(
            "# Is it?\n[workload]\nname = \"hello\"\n[base]\nprotocol = \"rest\"\nserver = \"{server}\"\n"
        );
        place.file("study.toml", &study);
        let finished = place.run(&["plan", "study.toml", "--subjects", "mine"]);
        let warning = "warning: mine/broken/subject.toml:1:1: ";
        assert!(finished.stderr.contains(warning), "{}", finished.stderr);
        finished
    };
    planned("greeter/server").well();
    let refused = planned("broken/server");
    assert_eq!(refused.code, Some(2));
    let error = "there is no server \"broken/server\"";
    assert!(refused.stderr.contains(error), "{}", refused.stderr);
}

#[test]
fn an_unknown_key_comes_with_line_column_and_the_right_name() {
    let place = greeter_with("subject.toml", "language", "langauge");
    place.run(&["subjects", "--subjects", "mine"]).refused(&[
        "mine/greeter/subject.toml:3:1",
        "langauge",
        "did you mean \"language\"?",
    ]);
    place
        .run(&["subjects", "check", "greter", "--subjects", "mine"])
        .refused(&["greeter/subject.toml:3:1"]);
    let place = greeter();
    place
        .run(&["subjects", "check", "greter", "--subjects", "mine"])
        .refused(&["no subject \"greter\"", "greeter"]);
}

#[test]
fn a_build_is_done_once_and_again_when_a_source_changes() {
    let place = built_by(r#"[["sh", "-c", "echo building; echo made > program"]]"#);
    let first = build(&place);
    assert!(
        first.stderr.contains("building made, 1 of 1"),
        "{}",
        first.stderr
    );
    let folder = folder_of(first);
    assert_eq!(
        fs::read_to_string(folder.join("program")).expect("what was built"),
        "made\n"
    );
    assert!(folder.join("contract/proto/hello.proto").is_file());
    let log = fs::read_to_string(format!("{}.log", folder.display())).expect("the log");
    assert!(log.contains("building"), "{log}");

    let again = build(&place);
    assert_eq!(again.stderr, "", "nothing is built");
    assert_eq!(folder_of(again), folder);
    place.file("mine/made/src/new", "");
    assert_ne!(folder_of(build(&place)), folder);
}

#[test]
fn a_build_that_broke_off_is_not_taken_for_one() {
    let place = built_by(r#"[["sh", "-c", "test ! -e left && echo made > program"]]"#);
    let folder = folder_of(build(&place));
    // As if the program had been killed in the middle of it.
    fs::remove_file(folder.join(".built")).expect("the mark of a whole build");
    fs::remove_file(folder.join("program")).expect("what was built");
    fs::write(folder.join("left"), "").expect("a leftover");
    assert_eq!(folder_of(build(&place)), folder);
    assert!(folder.join("program").is_file());
}

#[test]
fn a_build_that_fails_says_which_command_and_what_it_said() {
    let place = built_by(r#"[["sh", "-c", "echo no such library; exit 7"]]"#);
    for _ in 0..2 {
        let failed = build(&place);
        assert_eq!(failed.code, Some(3), "{failed:?}");
        for part in [
            "  no such library\n",
            "exit status: 7",
            "its log is",
            ".log",
        ] {
            assert!(failed.stderr.contains(part), "{part}: {}", failed.stderr);
        }
    }
}

#[test]
fn two_that_build_at_once_build_it_once() {
    let place = built_by(r#"[["sh", "-c", "echo x >> \"$COUNT\"; sleep 1; touch program"]]"#);
    let count = place.path().join("count");
    let start = || {
        let mut command = place.command(&["subjects", "build", "made", "--subjects", "mine"]);
        command.env("COUNT", &count);
        command.stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped());
        command.spawn().expect("the program starts")
    };
    let ended = [start(), start()].map(|child| child.wait_with_output().expect("it ends"));
    let [one, other] = ended.map(|output: Output| folder_of(Finished::from(output)));
    assert_eq!(one, other);
    assert_eq!(fs::read_to_string(&count).expect("a count"), "x\n");
}

#[test]
fn a_build_ends_when_it_is_interrupted() {
    let place = built_by(r#"[["sh", "-c", "touch \"$COUNT\"; sleep 1000"]]"#);
    let count = place.path().join("count");
    let mut command = place.command(&["subjects", "build", "made", "--subjects", "mine"]);
    let child = command
        .env("COUNT", &count)
        .spawn()
        .expect("the program starts");
    wait_until("the build", || Path::new(&count).exists());
    interrupt(&child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(
        place
            .run(&["subjects", "--json", "--subjects", "mine"])
            .code,
        Some(0)
    );
}

#[test]
fn a_server_that_answers_wrongly_or_takes_anything_fails_its_check() {
    let wrong = greeter_with("server.py", "Hello, {name}.", "Hullo, {name}.");
    check_fails(
        &wrong,
        "server",
        &["FAILED greeter/server as server: rest", "wrong at"],
    );
    let lax = greeter_with(
        "server.py",
        "return self.answer(400",
        "return self.answer(200",
    );
    check_fails(
        &lax,
        "server",
        &["refuses a body that is not a message: it responds to it as if it were right"],
    );
    let lax = greeter_with(
        "main.py",
        "if name not in KNOWN[role]:",
        "if name not in KNOWN[role] and name == 'x':",
    );
    check_fails(&lax, "server", &["refuses an unknown setting"]);
    let marks = greeter_with(
        "server.py",
        "(start, time.monotonic_ns())",
        "(start, start - 5)",
    );
    check_fails(&marks, "server", &["marks are not times"]);
    let rude = greeter_with(
        "server.py",
        "sys.stdin.read()",
        "sys.stdin.read(); sys.exit(9)",
    );
    check_fails(&rude, "server", &["it ended with exit code 9"]);
}

#[test]
fn a_codec_that_dies_between_slices_or_writes_other_records_fails_its_check() {
    let dies = greeter_with(
        "slices.py",
        "            say({\"slice\"",
        "            import os, threading\n            print('out of memory', file=sys.stderr, flush=True)\n            \
         threading.Timer(0.001, lambda: os._exit(9)).start()\n            say({\"slice\"",
    );
    check_fails(
        &dies,
        "json",
        &[
            "ended instead of answering (exit code 9)",
            "  out of memory",
        ],
    );
    let short = greeter_with("slices.py", "<8Q4I", "<8Q3I");
    let short = {
        let text = fs::read_to_string(short.path().join("mine/greeter/slices.py")).expect("slices");
        short.file(
            "mine/greeter/slices.py",
            &text.replace("failed, operations)", "operations)"),
        );
        short
    };
    check_fails(
        &short,
        "json",
        &["it reports 5 × 80 bytes of records, and wrote 380"],
    );
    let lies = greeter_with("slices.py", "\"records\": len(records)", "\"records\": 4");
    check_fails(
        &lies,
        "json",
        &["it reports 4 × 80 bytes of records, and wrote 400"],
    );
    let back = greeter_with(
        "codec.py",
        "record(begin, time.monotonic_ns()",
        "record(begin, begin - 7",
    );
    check_fails(
        &back,
        "json",
        &["in record 0, \"end\" is 7 ns before \"begin\""],
    );
    let clock = greeter_with("codec.py", "time.monotonic_ns()\n", "time.time_ns()\n");
    check_fails(&clock, "json", &["\"end\" is"]);
    let wrong = greeter_with("codec.py", "json.dumps(message)", "json.dumps({})");
    check_fails(&wrong, "json", &["it makes a wrong message, at"]);
}

#[test]
fn versions_that_differ_or_are_missing_fail_a_check_of_their_own() {
    let newer = greeter_with(
        "subject.toml",
        "[[toolchain]]",
        "[versions]\npython = \"1.0\"\n[[toolchain]]",
    );
    let finished = check(&newer, "json");
    let named = "reports the versions of its subject.toml: it reports python 3.";
    assert!(finished.stderr.contains(named), "{finished:?}");
    assert!(
        finished.stderr.contains("and pinned is 1.0"),
        "{finished:?}"
    );
    // What else it is tried in has nothing to do with it.
    assert_eq!(finished.stderr.matches("FAILED").count(), 1, "{finished:?}");
    let absent = greeter_with(
        "subject.toml",
        "[[toolchain]]",
        "[versions]\nflask = \"3.0\"\n[[toolchain]]",
    );
    let finished = absent.run(&["subjects", "check", "greeter", "--subjects", "mine"]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let named = "FAILED greeter: reports every version of its subject.toml: no stack reports flask";
    assert!(finished.stderr.contains(named), "{finished:?}");
}

#[test]
fn a_client_that_calls_between_slices_or_leaves_calls_out_fails_its_check() {
    let greedy = greeter_with(
        "slices.py",
        "            say({\"slice\"",
        "            import threading\n            late = lambda: (file.write(once(1)[0]), file.flush())\n            \
         threading.Timer(0.001, late).start()\n            say({\"slice\"",
    );
    // Seen in the slice, after it, or in the next one: as late as this machine is.
    check_fails(&greedy, "client", &["record"]);
    let lazy = greeter_with(
        "slices.py",
        "if len(records) >= slice[\"calls\"]",
        "if len(records) >= 1",
    );
    check_fails(
        &lazy,
        "client",
        &["it made 1 records of a slice of Calls(5)"],
    );
    let failing = greeter_with(
        "client.py",
        "if response.status != 200",
        "if response.status == 200",
    );
    check_fails(
        &failing,
        "client",
        &["ended instead of answering", "status 200"],
    );
}

#[test]
fn a_client_that_hangs_in_a_slice_is_told() {
    let place = greeter_with(
        "slices.py",
        "            operations, done",
        "            time.sleep(1000)\n            operations, done",
    );
    let command = &[
        "subjects",
        "check",
        "greeter",
        "--stack",
        "client",
        "--subjects",
        "mine",
    ];
    let finished = place.run(command);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(
        finished.stderr.contains("did not answer within 15 s"),
        "{}",
        finished.stderr
    );
}
