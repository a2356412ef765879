//! Run directories that cannot be written.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use super::{OK, answering_after};
use crate::common::{Finished, Place, wait_until};

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
    assert!(ended.stdout.contains("succeeded"), "{}", ended.stdout);
    assert!(ended.stderr.contains("run"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("room"), "{}", ended.stderr);
}
