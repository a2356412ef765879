//! A steady trial allocates nothing for a call: many calls need no more memory than few.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use rpcgauge_load::{Schedule, Trial};
use support::*;

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread during a trial of so many calls.
fn allocations(trial: &Trial, calls: u64) -> u64 {
    let mut trial = trial.clone();
    trial.stop.calls = Some(calls);
    let before = ALLOCATIONS.get();
    let measurement = run(&trial, &[&[b'x'; 500], &[b'y'; 9000]]);
    assert_eq!(
        measurement.calls.answered, calls,
        "{:?}",
        measurement.error_samples
    );
    ALLOCATIONS.get() - before
}

#[test]
fn ten_times_the_calls_take_no_more_allocations() {
    let mut one = trial(serve(answer_with(ok)));
    one.schedule = Schedule::Closed { in_flight: 1 };
    let mut many = one.clone();
    many.connections = 8;
    many.schedule = Schedule::Closed { in_flight: 8 };
    for trial in [one, many] {
        let (few, many) = (allocations(&trial, 300), allocations(&trial, 3000));
        // Buffers find their size in the first calls; not all do in every order of events.
        assert!(
            many <= few + 20,
            "{few} allocations for 300 calls, {many} for 3000"
        );
    }
}
