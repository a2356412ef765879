//! Runs of several workers, whose figures the Python package rpcgauge-locust collects at a real Locust master.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Place, interrupt, json, report, wait_until};
use crate::load::{OK, answering_after};
use crate::worker::{COLLECT, LOCUSTFILE, Running, port, printed, web};

/// The run directories, the oldest first.
fn runs(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.path().join("runs"))
        .into_iter()
        .flatten();
    let mut runs: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    runs.sort();
    runs
}

/// What the workers of a run have sent, ordered by name.
fn sent(run: &Path) -> Vec<Value> {
    let entries = fs::read_dir(run.join("workers")).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let files = paths.filter(|path| path.extension().is_some_and(|kind| kind == "json"));
    let texts = files.map(|path| fs::read_to_string(path).expect("a record"));
    let mut all: Vec<Value> = texts.map(|text| json(&text)).collect();
    all.sort_by_key(|record| record["worker"].to_string());
    all
}

/// Whether this many workers have sent figures with calls.
fn has_calls(run: &Path, workers: usize) -> bool {
    sent(run)
        .iter()
        .filter(|record| answered(record) > 0)
        .count()
        == workers
}

fn answered(record: &Value) -> u64 {
    record["figures"]["calls"]["answered"]
        .as_u64()
        .expect("a count")
}

fn master(place: &Place, port: &str, page: &str) -> Running {
    let line = format!(
        "-f collecting.py --master --master-bind-port {port} --web-host 127.0.0.1 --web-port {page}"
    );
    Running::locust(place, "master", &line)
}

#[test]
fn a_cluster_is_one_run() {
    let place = Place::new();
    let service = answering_after(OK, Duration::from_millis(1));
    let (bind, page) = (port(), port());
    let mut master = master(&place, &bind, &page);
    let target = format!("http://{}/hello", service.address);
    let start = |name: &str, line: &str| {
        let mut worker = Running::worker(&place, name, &bind, line);
        worker.says("joined the Locust master", 1);
        worker
    };
    let mut first = start("first", &target);
    let mut lost = start("lost", &target);
    let mut paced = start("paced", &format!("{target} --rate-per-user 20"));
    let line = format!("-f collecting.py --worker --master-port {bind}");
    let python = Running::locust(&place, "python", &line);
    wait_until("4 workers", || {
        master.said().contains("4 workers connected")
    });
    let swarm = || web(&page, "POST /swarm", "user_count=16&spawn_rate=16");
    swarm();
    for worker in [&mut first, &mut lost, &mut paced] {
        worker.says("the load begins; the master collects its figures", 1);
    }
    let run = || runs(&place).first().cloned().unwrap_or_default();
    wait_until("calls of 3 workers", || has_calls(&run(), 3));
    let run = run();
    lost.child.kill().expect("it is killed");
    let mut late = start("late", &target);
    late.says("the load begins", 1);
    let shown = place.run(&["report", run.to_str().expect("a path")]).well();
    assert!(
        shown.contains("this run is still running") && !shown.contains("lost:"),
        "{shown}"
    );

    web(&page, "POST /stop", "");
    for worker in [&mut first, &mut late, &mut paced] {
        worker.says("has ended", 1);
    }
    master.says("show them with: rpcgauge report", 1);
    assert!(
        master.said().contains("the worker lost was lost"),
        "{}",
        master.said()
    );
    let said = python.said();
    assert!(!said.contains("Unknown message"), "{said}");

    let shown = place.run(&["report", run.to_str().expect("a path")]).well();
    assert!(shown.contains("the worker lost was lost:"), "{shown}");
    let found = report(&run);
    let calls = |variant: usize| {
        found["variants"][variant]["cells"][0]["figures"]["calls"]["answered"].as_u64()
    };
    let of = |worker: &Running| printed(&worker.said())[0].0;
    let records = sent(&run);
    let of_lost = records.iter().find(|record| record["worker"] == "lost");
    let of_lost = answered(of_lost.expect("a record"));
    let mut both = [calls(0), calls(1)].map(|calls| calls.expect("two variants"));
    both.sort_unstable();
    let mut expected = [of(&first) + of(&late) + of_lost, of(&paced)];
    expected.sort_unstable();
    assert_eq!(both, expected, "{shown}");
    let began = |worker: &str| {
        let workers = found["workers"].as_array().expect("workers");
        let one = workers.iter().find(|one| one["worker"] == worker);
        one.expect(worker)["began_ns"].as_u64().expect("a time")
    };
    assert!(began("first") < began("late"), "{shown}");

    // A second load, which one of the workers leaves.
    swarm();
    first.says("the load begins; the master collects its figures", 2);
    wait_until("figures", || {
        runs(&place).get(1).is_some_and(|run| sent(run).len() == 3)
    });
    interrupt(&first.child);
    let (code, said) = first.ends();
    assert_eq!(code, Some(130), "{said}");
    web(&page, "POST /stop", "");
    master.says("show them with: rpcgauge report", 2);
    let second = runs(&place).remove(1);
    let [before, after] = [&run, &second].map(|run| run.to_str().expect("a path"));
    let judged = place.run(&["report", after, "--slo", "p50<1us"]);
    judged.failed(1, &[]);
    assert!(
        judged.stdout.contains("p50<1us missed"),
        "{}",
        judged.stdout
    );
    assert!(!judged.stdout.contains("was lost"), "{}", judged.stdout);
    place.run(&["report", after, "--slo", "errors<1%"]).well();
    let difference = place.run(&["diff", before, after]).well();
    assert!(difference.contains("GET /hello"), "{difference}");
}

#[test]
fn a_master_that_restarts_gets_what_is_left_of_the_earlier_load() {
    let place = Place::new();
    let service = answering_after(OK, Duration::from_millis(1));
    let (bind, page) = (port(), port());
    let mut first = master(&place, &bind, &page);
    let target = format!("http://{}/", service.address);
    let mut worker = Running::worker(&place, "one", &bind, &target);
    worker.says("joined the Locust master", 1);
    web(&page, "POST /swarm", "user_count=1&spawn_rate=1");
    wait_until("figures", || {
        runs(&place)
            .first()
            .is_some_and(|run| !sent(run).is_empty())
    });
    first.child.kill().expect("it is killed");
    first.ends();
    worker.says("waiting: the Locust master", 1);
    let _second = master(&place, &bind, &page);
    worker.says("joined the Locust master", 2);
    worker.says("has ended", 1);
    let [run] = &runs(&place)[..] else {
        panic!("one run");
    };
    wait_until("its last figures", || sent(run)[0]["ended"] == true);
    assert_eq!(answered(&sent(run)[0]), printed(&worker.said())[0].0);
}

#[test]
fn a_load_that_ends_at_once_is_whole() {
    let place = Place::new();
    // Calls are in flight when the load ends.
    let service = answering_after(OK, Duration::from_millis(300));
    let bind = port();
    let line = format!(
        "-f collecting.py --master --master-bind-port {bind} --headless --expect-workers 1 -u 3 -r 3 -t 1s"
    );
    let mut master = Running::locust(&place, "master", &line);
    let target = format!("http://{}/", service.address);
    let mut worker = Running::worker(&place, "one", &bind, &target);
    let (_, said) = worker.ends();
    let (calls, failed) = printed(&said)[0];
    master.ends();
    let [run] = &runs(&place)[..] else {
        panic!("one run");
    };
    let shown = place.run(&["report", run.to_str().expect("a path")]).well();
    let all = format!("calls        {calls} started: {calls} succeeded, 0 failed\n");
    assert!(
        calls > 0 && failed == 0 && shown.contains(&all),
        "{all}{shown}"
    );
}

#[test]
fn a_package_of_another_version_collects_nothing() {
    let place = Place::new();
    let service = answering_after(OK, Duration::from_millis(1));
    let bind = port();
    let line = format!(
        "-f newer.py --master --master-bind-port {bind} --headless --expect-workers 1 -u 1 -t 2s"
    );
    let newer = COLLECT.replace("# FORMAT", "rpcgauge_locust.FORMAT = 2");
    place.file("newer.py", &format!("{newer}{LOCUSTFILE}"));
    let mut master = Running::locust(&place, "master", &line);
    let target = format!("http://{}/", service.address);
    let mut worker = Running::worker(&place, "one", &bind, &target);
    let (code, said) = worker.ends();
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("rpcgauge-locust is of another version (format 2"),
        "{said}"
    );
    let (_, said) = master.ends();
    assert!(
        said.contains("no rpcgauge worker has sent figures"),
        "{said}"
    );
    assert_eq!(runs(&place), [] as [PathBuf; 0]);
}

#[test]
fn the_package_has_the_version_of_rpcgauge() {
    let about =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/rpcgauge-locust/pyproject.toml");
    let about = fs::read_to_string(about).expect("the package");
    let version = format!("version = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(about.contains(&version), "{version} in:\n{about}");
}
