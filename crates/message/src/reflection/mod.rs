//! gRPC Server Reflection (the gRPC project's doc/server-reflection.md): what a server's methods and
//! messages are, asked of the server itself.
//!
//! ```text
//! asking:    Question ─► bytes ─► (a server) ─► bytes ─► Answer ─► Files, until none is missing ─► Schema
//!            └──────────────────────────────── inquire ────────────────────────────────┘
//! answering: bytes ─► Reflected ─► bytes
//! ```
//!
//! Each message of the stream is answered by one message, so that a stream of one question is a
//! unary call on the wire. Versions v1 and v1alpha differ in nothing but their service's name.

mod answering;
mod asking;
mod files;
mod inquiry;

#[cfg(test)]
mod tests;

pub use answering::Reflected;
pub use asking::{Answer, BadAnswer, Question};
pub use files::{Files, FilesError};
pub use inquiry::{NoSchema, Untold, inquire};

/// Generated protobuf code of the reflection service.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    dead_code,
    unused_imports,
    non_snake_case
)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/reflection/mod.rs"));
}

use generated::grpc::reflection::v1 as proto;

/// The paths of the reflection method, in the order in which they are asked: version v1, then
/// v1alpha, which is all that older servers have.
pub const METHOD_PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];
