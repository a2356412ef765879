//! Counts the memory of threads. A test program that uses this must use [`Counting`] as its global allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// An allocator that counts how much each thread allocates and how much is still in use.
pub(crate) struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes allocated and not yet freed. If another thread frees memory, it is subtracted there.
    static HELD: Cell<i64> = const { Cell::new(0) };
    static MAX_HELD: Cell<i64> = const { Cell::new(0) };
}

fn count(allocations: u64, bytes: i64) {
    // Fails only if the thread is already exiting.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + allocations));
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MAX_HELD.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: everything is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        // SAFETY: the caller upholds the contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The memory that a function used on its thread.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) allocations: u64,
    /// Maximum number of bytes in use, beyond those in use before.
    pub(crate) max_held: i64,
}

/// Maximum number of bytes in use since the last [`taken`] began.
pub(crate) fn max_held() -> i64 {
    MAX_HELD.get()
}

/// Runs `what`, and returns its result and the memory that it used.
pub(crate) fn taken<T>(what: impl FnOnce() -> T) -> (T, Taken) {
    let (allocations, held) = (ALLOCATIONS.get(), HELD.get());
    MAX_HELD.set(held);
    let result = what();
    let taken = Taken {
        allocations: ALLOCATIONS.get() - allocations,
        max_held: MAX_HELD.get() - held,
    };
    (result, taken)
}
