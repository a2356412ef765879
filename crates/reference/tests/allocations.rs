//! Counts the allocations of one call. Per call, REST over HTTP/1.1 must do no work that gRPC over HTTP/2
//! does not do. This is the only test in its program, because the allocator is global.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use common::Running;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CALLS: u64 = 200;

#[test]
fn a_call_creates_no_timer_and_does_not_parse_accept_again() {
    let server = Running::hello();
    let body = r#"{"name":"a"}"#;
    let request = format!(
        "POST {} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
         accept: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.workload.rest_path(),
        body.len()
    );
    let mut stream = server.raw();
    let mut response = [0; 1024];
    // The client does not allocate: each response arrives in one piece.
    let mut call = || {
        stream.write_all(request.as_bytes()).expect("sent");
        let length = stream.read(&mut response).expect("answered");
        assert!(response[..length].ends_with(br#"{"message":"Hello, a."}"#));
    };
    for _ in 0..CALLS {
        call();
    }
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..CALLS {
        call();
    }
    let each = (ALLOCATIONS.load(Ordering::Relaxed) - before) as f64 / CALLS as f64;
    // A timer for each call, or parsing `accept` again, would add one allocation per call. On a busy machine,
    // there may be one more in total.
    assert!(each < 10.5, "{each} allocations per call");
}
