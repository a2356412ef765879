use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::run::{NewRun, Resumed, RunWriter};

/// Two invocations of two blocks with two variants. An earlier version called blocks `rounds`.
fn plan() -> AppPlan {
    let rounds = [(0, 0), (0, 1), (1, 0), (1, 1)].map(
        |(invocation, block)| json!({"invocation": invocation, "block": block, "order": [1, 0]}),
    );
    let variant = |name| json!({"name": name, "configuration": {}});
    let plan = json!({
        "name": "shop", "question": "Is it?", "seed": 1, "margin": 0.03, "confidence": 0.95,
        "app": "shop", "description": "A shop", "users": 1, "spawn_rate": 1.0, "warm_up_ms": 1,
        "settle_ms": 1, "slice_ms": 1, "variants": [variant("a"), variant("b")], "rounds": rounds,
        "metrics": [], "pairs": [],
    });
    serde_json::from_value(plan).unwrap()
}

/// A run directory with these records.
fn directory(records: &[Value]) -> TempDir {
    let place = TempDir::new().unwrap();
    let new = NewRun {
        rpcgauge: "0.1.0",
        created_at: std::time::UNIX_EPOCH,
        study: None,
        plan: &plan(),
    };
    let mut writer = RunWriter::create(&place.path().join("run"), &new).unwrap();
    append(&mut writer, records);
    place
}

fn append(writer: &mut RunWriter, records: &[Value]) {
    records
        .iter()
        .for_each(|record| writer.append(record).unwrap());
}

fn start(invocation: u32, sets: usize) -> Value {
    built(invocation, sets, "d1")
}

fn built(invocation: u32, sets: usize, digest: &str) -> Value {
    json!({
        "record": "start", "invocation": invocation, "ready_at_ms": 1, "sets": sets,
        "build": {"digest": digest, "toolchain": {}}, "load_generator": "Locust 2.47",
    })
}

fn slice(invocation: u32, block: u32, variant: &str) -> Value {
    let outcome = json!({
        "outcome": "measured", "seconds": 1.0, "requests": [], "processes": [],
        "load_generator_cpu_seconds": 0.1,
    });
    ended(invocation, block, variant, outcome)
}

fn failed(invocation: u32, block: u32, variant: &str) -> Value {
    let outcome = json!({"outcome": "failed", "reason": "it died", "fault": "subject"});
    ended(invocation, block, variant, outcome)
}

fn ended(invocation: u32, block: u32, variant: &str, outcome: Value) -> Value {
    json!({
        "record": "slice", "invocation": invocation, "block": block, "variant": variant,
        "started_at_ms": 1, "outcome": outcome,
    })
}

/// A start with all its slices.
fn whole(invocation: u32) -> Vec<Value> {
    let slices = [(0, "b"), (0, "a"), (1, "b"), (1, "a")];
    let slices = slices.map(|(block, variant)| slice(invocation, block, variant));
    [start(invocation, 2)].into_iter().chain(slices).collect()
}

fn resume(place: &TempDir) -> Resumed<AppRun> {
    RunWriter::resume(&place.path().join("run")).unwrap()
}

fn read(place: &TempDir) -> Result<AppRun, RunError> {
    AppRun::read(&place.path().join("run"))
}

/// The invocations that the blocks belong to.
fn of(blocks: &[AppBlock]) -> Vec<u32> {
    blocks.iter().map(|block| block.invocation).collect()
}

#[test]
fn an_invocation_that_was_broken_off_is_begun_again_whole() {
    let begun = [start(1, 2), slice(1, 0, "b")];
    let place = directory(&[whole(0), begun.to_vec()].concat());
    let mut resumed = resume(&place);
    assert_eq!(of(&resumed.missing), [1, 1]);
    assert_eq!((resumed.run.starts.len(), resumed.run.slices.len()), (1, 4));
    assert_eq!(
        read(&place).unwrap().slices.len(),
        5,
        "reading changes nothing"
    );
    resumed.begin_again().unwrap();
    append(&mut resumed.writer, &whole(1));
    drop(resumed);
    let run = read(&place).unwrap();
    assert_eq!((run.starts.len(), run.slices.len()), (2, 8));
    assert!(resume(&place).missing.is_empty());
}

#[test]
fn a_slice_that_failed_has_ended_its_invocation_until_that_is_retried() {
    let of_first = [start(0, 2), slice(0, 0, "b"), failed(0, 0, "a")];
    let place = directory(&[of_first.to_vec(), whole(1)].concat());
    let mut resumed = resume(&place);
    assert!(resumed.missing.is_empty());
    resumed.retry_failed();
    assert_eq!(of(&resumed.missing), [0, 0]);
    assert_eq!(resumed.run.slices.len(), 4);
    resumed.begin_again().unwrap();
    drop(resumed);
    assert_eq!(read(&place).unwrap().slices.len(), 4);
}

#[test]
fn where_sets_are_up_one_by_one_a_slice_that_failed_has_ended_its_own() {
    let of_b = [start(0, 1), failed(0, 0, "b")];
    let of_a = [start(0, 1), slice(0, 0, "a"), slice(0, 1, "a")];
    let ended = directory(&[of_b.to_vec(), of_a.to_vec(), whole(1)].concat());
    assert!(resume(&ended).missing.is_empty());
    let broken_off = directory(&[&of_b[..], &of_a[..2], &whole(1)].concat());
    assert_eq!(of(&resume(&broken_off).missing), [0, 0]);
}

#[test]
fn invocations_of_different_builds_do_not_compare() {
    let other = built(1, 2, "d2");
    let refused = read(&directory(&[whole(0), vec![other.clone()]].concat())).unwrap_err();
    let line = "its invocations cannot be compared: the digest of the sources and toolchain of the application \
                shop was d1 before and is d2 now";
    assert!(refused.to_string().contains(line), "{refused}");
    // If an invocation begins again, only its new start is considered.
    let restart = json!({"record": "restart", "invocation": 1});
    let again = directory(&[whole(0), vec![other, restart, start(1, 2)]].concat());
    assert_eq!(read(&again).unwrap().starts.len(), 2);
}
