//! In steady state, a call does not allocate and an idle connection uses little memory. This bounds
//! the load engine's cost per call and per connection. The counters are per thread, so the test
//! harness does not affect them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bytes::Bytes;
use rpcgauge_wire::grpc::UnaryResponse;
use rpcgauge_wire::http2::hpack::{Encoder, FieldList};
use rpcgauge_wire::{Client, Event, Head, Limits, Protocol, grpc};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static HELD_BYTES: Cell<i64> = const { Cell::new(0) };
}

fn count(allocations: u64, bytes: i64) {
    // While a thread exits, its thread-locals may be gone. Nothing is left to measure then.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + allocations));
    let _ = HELD_BYTES.try_with(|n| n.set(n.get() + bytes));
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Makes a thousand calls to reach steady state, then a thousand more. Returns the number of
/// allocations during the second thousand.
fn allocations_in_steady_use(mut call: impl FnMut(u64)) -> u64 {
    (0..1000).for_each(&mut call);
    let before = ALLOCATIONS.get();
    (1000..2000).for_each(&mut call);
    ALLOCATIONS.get() - before
}

fn write_all(client: &mut Client) {
    while !client.output().is_empty() {
        let n = client.output().len();
        client.consume_output(n);
    }
}

#[test]
fn http1_calls() {
    let head = Head::builder("POST", "/echo", "localhost").build().unwrap();
    let bodies = [
        Bytes::from(vec![b'x'; 300]),
        Bytes::from(vec![b'x'; 100_000]),
    ];
    let mut client = Client::new(Protocol::Http1, Limits::default());
    let response = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
        transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let mut complete = 0;
    let allocations = allocations_in_steady_use(|token| {
        client
            .start(&head, &bodies[token as usize % 2], token)
            .unwrap();
        write_all(&mut client);
        // Every third response is split inside its head.
        let (first, second) = response.split_at(if token % 3 == 0 { 30 } else { 0 });
        for part in [first, second] {
            client.input(part, &mut |event: Event<'_>| {
                complete += u32::from(matches!(event, Event::Complete { .. }));
            });
        }
    });
    assert_eq!((complete, allocations), (2000, 0));
}

/// Creates `count` responses, each with a head that has a field with a new value, a message, and
/// trailers.
fn grpc_responses(count: u64) -> Vec<Vec<u8>> {
    let mut encoder = Encoder::new(4096);
    let mut block = |fields: &[(&str, &str)]| {
        let mut list = FieldList::default();
        fields
            .iter()
            .for_each(|(n, v)| list.push(n.as_bytes(), v.as_bytes()));
        let mut out = Vec::new();
        encoder.encode(list.iter(), &mut out);
        out
    };
    let frame = |kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        let length = (payload.len() as u32).to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    };
    let response = |call: u64| {
        let stream = call as u32 * 2 + 1;
        let mark = format!("{:020}", call * 1_000_003);
        let head = [
            (":status", "200"),
            ("content-type", "application/grpc"),
            ("rpcgauge-handler-start", &mark),
        ];
        let head = frame(1, 4, stream, &block(&head));
        let data = frame(0, 0, stream, b"\0\0\0\0\x05hello");
        let trailers = frame(1, 5, stream, &block(&[("grpc-status", "0")]));
        [head, data, trailers].concat()
    };
    (0..count).map(response).collect()
}

#[test]
fn grpc_calls() {
    let responses = grpc_responses(2000);
    let head = grpc::head("/pkg.Service/Method", "localhost", None)
        .build()
        .unwrap();
    let body = grpc::frame_message(b"hello", false).unwrap();
    let mut client = Client::new(Protocol::Http2, Limits::default());
    client.input(
        b"\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0",
        &mut |_: Event<'_>| {},
    );
    let mut response = UnaryResponse::default();
    let mut ok = 0;
    let allocations = allocations_in_steady_use(|token| {
        client.start(&head, &body, token).unwrap();
        write_all(&mut client);
        response.reset();
        client.input(
            &responses[token as usize],
            &mut |event: Event<'_>| match event {
                Event::Head {
                    status,
                    fields,
                    end,
                    ..
                } => {
                    response.head(status, &fields, end, None).unwrap();
                }
                Event::Body { data, .. } => {
                    response.body(data).unwrap();
                }
                Event::Trailers { fields, .. } => response.trailers(&fields),
                Event::Complete { .. } => ok += u32::from(response.finish().code == grpc::Code::OK),
                _ => {}
            },
        );
    });
    assert_eq!((ok, allocations), (2000, 0));
}

/// Connections in the state in which the engine leaves them: it frees no buffers between calls.
#[test]
fn idle_connections_are_small() {
    let responses = grpc_responses(3);
    let head = grpc::head("/pkg.Service/Method", "localhost", None)
        .build()
        .unwrap();
    let body = grpc::frame_message(b"hello", false).unwrap();
    let before = HELD_BYTES.get();
    let mut http2 = Client::new(Protocol::Http2, Limits::default());
    http2.input(
        b"\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0",
        &mut |_: Event<'_>| {},
    );
    for (token, response) in responses.iter().enumerate() {
        http2.start(&head, &body, token as u64).unwrap();
        write_all(&mut http2);
        http2.input(response, &mut |_: Event<'_>| {});
    }
    let of_http2 = HELD_BYTES.get() - before;
    assert!(of_http2 <= 4096, "{of_http2} bytes");

    let before = HELD_BYTES.get();
    let mut http1 = Client::new(Protocol::Http1, Limits::default());
    http1.start(&head, &body, 1).unwrap();
    write_all(&mut http1);
    http1.input(
        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        &mut |_: Event<'_>| {},
    );
    let of_http1 = HELD_BYTES.get() - before;
    assert!(of_http1 <= 1024, "{of_http1} bytes");
}
