//! Counts the memory of threads. A test program that uses this has [`Counting`] as its global allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// An allocator that counts what each thread allocates and holds.
pub(crate) struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes allocated and not freed. Memory that another thread frees is subtracted there.
    static HELD: Cell<i64> = const { Cell::new(0) };
    static MAX_HELD: Cell<i64> = const { Cell::new(0) };
}

fn count(allocations: u64, bytes: i64) {
    // Fails if the thread is already ending.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + allocations));
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MAX_HELD.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: everything is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The memory that a function took on its thread.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) allocations: u64,
    /// The maximum number of bytes held, beyond those held before.
    pub(crate) max_held: i64,
}

/// Runs `what`, and returns its result and the memory that it took.
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
