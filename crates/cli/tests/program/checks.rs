//! Subjects that do other than they declare, and what `rpcgauge subjects check` says of each.

use std::fs;

use crate::common::{Finished, Place};
use crate::subjects::greeter_with;

pub(crate) fn check(place: &Place, stack: &str) -> Finished {
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
