//! Run directories that do not take what they should.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{OK, answering, answering_after};
use crate::common::{Finished, Place, json, wait_until};

#[test]
fn files_that_may_not_grow_cost_no_result() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    // Files may grow to 8 blocks of 512 bytes, or of 1 KiB: the plan fits, the record does not.
    let limited = Command::new("sh")
        .args(["-c", "ulimit -f 8; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_rpcgauge"))
        .args(["load", &target, "--calls", "500", "--out", "run", "--json"])
        .arg("--quiet")
        .current_dir(place.path())
        .output()
        .expect("sh starts");
    let limited = Finished::from(limited);
    assert_eq!(limited.code, Some(3), "{}", limited.stderr);
    let report = json(&limited.stdout);
    let figures = &report["variants"][0]["cells"][0]["figures"];
    assert_eq!(figures["calls"]["answered"], 500);
    assert!(
        limited.stderr.contains("with more room"),
        "{}",
        limited.stderr
    );
}

#[test]
fn a_run_directory_that_was_removed_lacked_no_room() {
    let place = Place::new();
    let server = answering_after(OK, Duration::from_millis(1));
    let target = format!("http://{}/", server.address);
    let child = place
        .command(&["load", &target, "--duration", "2s", "--warmup", "0s"])
        .args(["--out", "run", "--quiet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let calls = || server.calls.load(std::sync::atomic::Ordering::Relaxed);
    wait_until("calls", || calls() > 20);
    fs::remove_dir_all(place.path().join("run")).expect("it is there");
    let ended = Finished::from(child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stdout.contains("answered"), "{}", ended.stdout);
    assert!(ended.stderr.contains("run"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("room"), "{}", ended.stderr);
}
