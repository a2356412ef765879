//! A lack of resources is reported as the machine's fault. This is a separate program because its limits
//! apply to the whole process.

mod support;

use std::net::TcpListener;
use std::time::Duration;

use rpcgauge_trial::{Address, ConnectionUse, FailureKind, Fault, Schedule};
use support::*;

/// Number of additional files that this process may open.
const FILES: u64 = 24;

fn allow_few_files() {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointer is valid for a whole `rlimit`, which the call fills in.
    assert_eq!(
        unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) },
        0
    );
    limit.rlim_cur = open + FILES;
    // SAFETY: the pointer is valid for a whole `rlimit`, which the call only reads.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
}

#[test]
fn calls_without_a_file_descriptor_are_a_kind_of_their_own() {
    // Connections wait in the listen queue: they are open but never answered.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut trial = trial(Address::Tcp(listener.local_addr().unwrap()));
    trial.connection_use = ConnectionUse::PerCall;
    trial.schedule = Schedule::Closed { in_flight: 64 };
    trial.deadline = Duration::from_millis(50);
    trial.stop.calls = Some(64);
    allow_few_files();
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    let failed = &measurement.calls.failed;
    // The test harness may have closed a few files in the meantime.
    assert!(
        failed[&FailureKind::OutOfFiles] >= 64 - 2 * FILES,
        "{failed:?}"
    );
    assert!(failed[&FailureKind::Deadline] >= 1, "{failed:?}");
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert_eq!(FailureKind::OutOfFiles.fault(), Fault::Machine);
}
