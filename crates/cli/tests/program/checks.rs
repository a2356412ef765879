//! Subjects that do not do what they declare, and the failures that `rpcgauge subjects check`
//! reports.

use crate::common::{Finished, Place};
use crate::subjects::greeter_with;

pub(crate) fn check(place: &Place, stack: &str) -> Finished {
    place.line(&format!(
        "subjects check greeter --stack {stack} --subjects mine"
    ))
}

/// Asserts that the check of a stack fails with these messages when `from` is replaced by `to` in a
/// file.
#[track_caller]
fn check_fails(stack: &str, (file, from, to): (&str, &str, &str), parts: &[&str]) {
    check(&greeter_with(file, from, to), stack).failed(1, parts);
}

#[test]
fn a_server_that_answers_wrongly_or_takes_anything_fails_its_check() {
    let fails = |from, to, part: &str| check_fails("server", ("server.py", from, to), &[part]);
    let wrong = ("server.py", "Hello, {name}.", "Hullo, {name}.");
    let parts = ["FAILED greeter/server as server: rest", "wrong at"];
    check_fails("server", wrong, &parts);
    let lax =
        "refuses a body that is not a message: it responds to this request as if it were valid";
    fails("return self.answer(400", "return self.answer(200", lax);
    fails(
        "(start, time.monotonic_ns())",
        "(start, start - 5)",
        "marks are not timestamps",
    );
    fails(
        "sys.stdin.read()",
        "sys.stdin.read(); sys.exit(9)",
        "did not exit with code 0: exit code 9",
    );
    let refuses = "if name not in KNOWN[role]";
    let lax = format!("{refuses} and name == 'x'");
    check_fails(
        "server",
        ("main.py", refuses, &lax),
        &["refuses an unknown setting"],
    );
}

/// Python code that runs `code` on another thread as soon as a slice is answered.
fn after_a_slice(code: &str) -> String {
    format!(
        "            import os, threading\n            late = lambda: {code}\n            \
         threading.Timer(0.001, late).start()\n            say({{\"slice\""
    )
}

#[test]
fn a_codec_that_dies_between_slices_or_writes_other_records_fails_its_check() {
    let slices =
        |from, to: &str, parts: &[&str]| check_fails("json", ("slices.py", from, to), parts);
    let answer = "            say({\"slice\"";
    let dies = after_a_slice("(print('out of memory', file=sys.stderr, flush=True), os._exit(9))");
    slices(
        answer,
        &dies,
        &[
            "exited instead of answering (exit code 9)",
            "  out of memory",
        ],
    );
    let records = "\"records\": len(records)";
    let lies = "it reports 4 × 80 bytes of records, but wrote 400";
    slices(records, "\"records\": 4", &[lies]);
    let codec = |from, to, part: &str| check_fails("json", ("codec.py", from, to), &[part]);
    let back = "in record 0, \"end\" is 7 ns before \"begin\"";
    codec(
        "record(begin, time.monotonic_ns()",
        "record(begin, begin - 7",
        back,
    );
    codec("time.monotonic_ns()\n", "time.time_ns()\n", "\"end\" is");
    codec(
        "json.dumps(message)",
        "json.dumps({})",
        "its message is wrong at",
    );
}

#[test]
fn versions_that_differ_or_are_missing_fail_a_check_of_their_own() {
    let newer = greeter_with(
        "subject.toml",
        "[[toolchain]]",
        "[versions]\npython = \"1.0\"\n[[toolchain]]",
    );
    let finished = check(&newer, "json");
    let named = "reports the versions listed in its subject.toml: it reports python 3.";
    assert!(finished.stderr.contains(named), "{finished:?}");
    assert!(
        finished.stderr.contains("but 1.0 is pinned"),
        "{finished:?}"
    );
    // All other checks pass.
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
    let fails = |file, from, to: &str, part: &str| check_fails("client", (file, from, to), &[part]);
    let answer = "            say({\"slice\"";
    let greedy = after_a_slice("(file.write(once(1)[0]), file.flush())");
    // Depending on timing, this is detected in the slice, after it, or in the next one.
    fails("slices.py", answer, &greedy, "record");
    let enough = "if len(records) >= slice[\"calls\"]";
    let lazy = "the number of records in a slice of 5 calls is 1";
    fails("slices.py", enough, "if len(records) >= 1", lazy);
    let (is_bad, is_good) = ("if response.status != 200", "if response.status == 200");
    let parts = ["exited instead of answering", "status 200"];
    check_fails("client", ("client.py", is_bad, is_good), &parts);
}

#[test]
fn a_client_that_hangs_in_a_slice_is_told() {
    let made = "            operations, done";
    let hangs = format!("            time.sleep(1000)\n{made}");
    let told = "did not answer within 15 s";
    check_fails("client", ("slices.py", made, &hangs), &[told]);
}

#[test]
fn parts_that_a_subject_declares_but_cannot_play_fail_a_check_of_their_own() {
    let unable = greeter_with(
        "subject.toml",
        "[[toolchain]]",
        "parts = true\n[[toolchain]]",
    );
    let finished = check(&unable, "client");
    let named = "FAILED greeter/client as client: 2 parts in one process: ";
    assert!(finished.stderr.contains(named), "{finished:?}");
    // Each way passes in its own process.
    assert_eq!(finished.stderr.matches("FAILED").count(), 1, "{finished:?}");
}
