//! rpcgauge itself is stopped while it measures.

use std::process::Child;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{OK, answering, figures};
use crate::common::{Finished, Place, report, wait_until};

/// Longer than the deadlines here, and than the minimum duration of a stall.
const STALL: Duration = Duration::from_secs(2);

/// Stops the program, then continues it.
fn stop_for_a_while(child: &Child) {
    let pid = Pid::from_child(child);
    kill_process(pid, Signal::STOP).expect("a signal is sent");
    std::thread::sleep(STALL);
    kill_process(pid, Signal::CONT).expect("a signal is sent");
}

#[test]
fn a_load_that_was_stopped_blames_nobody_for_it() {
    let place = Place::new();
    let service = answering(OK);
    let target = format!("http://{}/", service.address);
    let load = [
        &["load", &target, "--rate", "200", "--duration", "5s"][..],
        &["--warmup", "0s", "--deadline", "250ms", "--out", "run"],
        &["--slo", "errors<0.1%", "--slo", "p90<250ms"],
    ];
    let child = place.start(&load.concat());
    wait_until("calls", || service.calls.load(Ordering::Relaxed) >= 100);
    stop_for_a_while(&child);
    let finished: Finished = child.wait_with_output().expect("it ends").into();
    let stderr = finished.stderr.clone();
    let shown = finished.well();
    let said = format!("{shown}{stderr}");
    assert!(
        said.contains("rpcgauge itself did not run for 2."),
        "{said}"
    );
    assert!(
        said.contains(" × client-stalled: the client did not run"),
        "{said}"
    );

    let report = report(&place.path().join("run"));
    let calls = &figures(&report)["calls"];
    let count = |value: &serde_json::Value| value.as_u64().unwrap_or_default();
    let stalled = count(&calls["failed"]["client-stalled"]);
    assert!((300..=500).contains(&stalled), "{calls}");
    assert_eq!(count(&calls["started"]), 1_000, "{calls}");
    assert_eq!(count(&calls["answered"]) + stalled, 1_000, "{calls}");
    let served = service.calls.load(Ordering::Relaxed);
    assert!(served < 1_000 - 300, "a burst of {served} calls was sent");
    let goodput = figures(&report)["goodput"].as_f64().expect("a rate");
    assert!((190.0..210.0).contains(&goodput), "{goodput} per second");
    let warnings = report["environment"]["warnings"].to_string();
    assert!(warnings.contains("client-stalled"), "{warnings}");
}

#[test]
fn a_search_that_was_stopped_does_not_take_it_for_a_limit() {
    let place = Place::new();
    let service = answering(OK);
    let target = format!("http://{}/", service.address);
    let search = [
        &["load", &target, "--find-capacity", "--duration", "2s"][..],
        &["--start-rate", "100", "--max-rate", "100", "--warmup", "0s"],
        &["--deadline", "250ms", "--slo", "errors<5%", "--out", "run"],
    ];
    let child = place.start(&search.concat());
    wait_until("calls", || service.calls.load(Ordering::Relaxed) >= 30);
    stop_for_a_while(&child);
    let finished: Finished = child.wait_with_output().expect("it ends").into();
    finished.well();
    let report = report(&place.path().join("run"));
    let capacity = &report["capacity"];
    assert_eq!(capacity["limit"], "ceiling", "{capacity}");
}
