//! How much memory a piece of code holds.
//!
//! Only what is allocated while [`metered`] runs is counted, so that the harness's own notes do not
//! disturb the figure. The counters are of one thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: i64) {
    // Without a thread-local left, as at a thread's end, there is nothing to measure any more.
    if ON.try_with(Cell::get) == Ok(true) {
        let held = HELD.get() + bytes;
        HELD.set(held);
        PEAK.set(PEAK.get().max(held));
    }
}

// SAFETY: every call goes to the system's allocator unchanged.
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

/// Forgets what was counted on this thread.
pub fn reset() {
    HELD.set(0);
    PEAK.set(0);
}

/// Counts what `run` allocates and frees.
pub fn metered<T>(run: impl FnOnce() -> T) -> T {
    switched(true, run)
}

/// Leaves out of the count what `run` allocates and frees, inside of [`metered`].
pub fn unmetered<T>(run: impl FnOnce() -> T) -> T {
    switched(false, run)
}

fn switched<T>(on: bool, run: impl FnOnce() -> T) -> T {
    let before = ON.replace(on);
    let result = run();
    ON.set(before);
    result
}

/// The most that was held at once since [`reset`], in bytes.
pub fn peak() -> u64 {
    PEAK.get().max(0) as u64
}

/// What is held now of what was allocated since [`reset`], in bytes.
pub fn held() -> u64 {
    HELD.get().max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_at_once_is_told_and_the_harness_left_out() {
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
