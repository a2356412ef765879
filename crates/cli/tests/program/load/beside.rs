//! Other programs that run during a load.

use std::hint::spin_loop;
use std::path::Path;
use std::process::id;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::Service;
use crate::common::{Place, report};

#[test]
fn a_program_that_takes_the_cores_is_named_and_the_service_is_not() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let http = service.http();
    let line = format!("load {http} --data {{}} --duration 1s --out run");
    let is_done = AtomicBool::new(false);
    // With two threads per core, the load has to wait whatever the scheduler prefers.
    let busy = 2 * thread::available_parallelism().expect("the cores").get();
    let finished = thread::scope(|scope| {
        for _ in 0..busy {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
        }
        let finished = place.line(&line);
        is_done.store(true, Ordering::Relaxed);
        finished
    });
    finished.well();
    let warnings = report(&place.path().join("run"))["warnings"].to_string();
    let named = |pid: u32| warnings.contains(&format!("(pid {pid}, "));
    assert!(named(id()), "{} of {warnings}", id());
    assert!(
        !named(service.child.id()),
        "{} of {warnings}",
        service.child.id()
    );
    let is_told = Path::new("/proc/thread-self/schedstat").exists();
    let waited = "the measuring thread waited for its core";
    assert_eq!(warnings.contains(waited), is_told, "{warnings}");
}
