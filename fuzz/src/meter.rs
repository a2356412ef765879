//! Measures how much memory a piece of code holds.
//!
//! Only memory allocated while [`metered`] runs is counted, so that the harness's own records do not affect the
//! result. The counters are per thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: i64) {
    // While a thread exits, its thread-locals are gone, and there is nothing left to measure.
    if ON.try_with(Cell::get) == Ok(true) {
        let held = HELD.get() + bytes;
        HELD.set(held);
        PEAK.set(PEAK.get().max(held));
    }
}

// SAFETY: every call is passed on unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Resets the counters of this thread.
pub fn reset() {
    HELD.set(0);
    PEAK.set(0);
}

/// Runs `run`, counting the memory that it allocates and frees.
pub fn metered<T>(run: impl FnOnce() -> T) -> T {
    switched(true, run)
}

/// Runs `run`, excluding the memory that it allocates and frees from an enclosing [`metered`].
pub fn unmetered<T>(run: impl FnOnce() -> T) -> T {
    switched(false, run)
}

fn switched<T>(on: bool, run: impl FnOnce() -> T) -> T {
    let before = ON.replace(on);
    let result = run();
    ON.set(before);
    result
}

/// The peak memory since [`reset`], in bytes.
pub fn peak() -> u64 {
    PEAK.get().max(0) as u64
}

/// The memory that was allocated since [`reset`] and has not been freed, in bytes.
pub fn held() -> u64 {
    HELD.get().max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_counted_without_the_harness() {
        reset();
        metered(|| {
            drop(vec![0u8; 1000]);
            let list = vec![0u8; 600];
            unmetered(|| drop(vec![0u8; 100_000]));
            assert_eq!(held(), 600);
            drop(list);
        });
        drop(vec![0u8; 100_000]);
        assert_eq!((held(), peak()), (0, 1000));
    }
}
