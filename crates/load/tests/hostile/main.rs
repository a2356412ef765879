//! Servers that are broken, absent or malicious. Whatever they do, every call must be counted by kind and by
//! the side at fault, within the deadline and in bounded memory.
//!
//! docs/hostile.md lists the servers. A test compares it with the cases here.

#[path = "../support/mod.rs"]
mod support;

mod behaviour;
mod bombs;
mod case;
mod floods;
mod flow;
mod grpc;
mod http1;
mod http2;
mod page;
mod server;
mod transport;
mod websocket;

use case::Case;
use support::memory::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the cases of one part.
type Cases = fn() -> Vec<Case>;

/// The parts of docs/hostile.md, by heading.
const PARTS: [(&str, Cases); 7] = [
    ("Connections", transport::cases),
    ("HTTP/1.1", http1::cases),
    ("HTTP/2", http2::cases),
    ("SETTINGS and flow control", flow::cases),
    ("gRPC", grpc::cases),
    ("WebSocket", websocket::cases),
    ("Compression", bombs::cases),
];

#[test]
fn connections() {
    transport::cases().into_iter().for_each(Case::check);
}

#[test]
fn http1_responses() {
    http1::cases().into_iter().for_each(Case::check);
}

#[test]
fn http2_frames() {
    http2::cases().into_iter().for_each(Case::check);
}

#[test]
fn settings_and_flow_control() {
    flow::cases().into_iter().for_each(Case::check);
}

#[test]
fn grpc_responses() {
    grpc::cases().into_iter().for_each(Case::check);
}

#[test]
fn websocket_frames() {
    websocket::cases().into_iter().for_each(Case::check);
}

#[test]
fn compressed_responses() {
    bombs::cases().into_iter().for_each(Case::check);
}
