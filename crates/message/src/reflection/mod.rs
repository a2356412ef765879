//! gRPC Server Reflection (doc/server-reflection.md of the gRPC project): fetches the descriptors of a server's
//! methods and messages from the server itself.
//!
//! ```text
//! client: ReflectionRequest ─► bytes ─► (a server) ─► bytes ─► ReflectionResponse ─► Files ─► Schema
//!         └──────────────────── fetch_schema, until no import is missing ────────────────────┘
//! server: bytes ─► ReflectionServer ─► bytes
//! ```
//!
//! A server sends one response message for each request message in the stream, so on the wire a stream with one
//! request looks like a unary call. Versions v1 and v1alpha differ only in the name of their service.

mod exchange;
mod fetch;
mod files;
mod server;

#[cfg(test)]
mod tests;

pub use exchange::{ReflectionRequest, ReflectionResponse};
pub use fetch::{FetchError, ReflectionError, fetch_schema};
pub use files::{Files, FilesError};
pub use server::ReflectionServer;

/// Generated protobuf code of the reflection service.
#[allow(warnings, clippy::all)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/reflection/mod.rs"));
}

use generated::grpc::reflection::v1 as proto;

/// The paths of the reflection method in the order in which to try them: v1, then v1alpha, the only version
/// that older servers support.
pub const METHOD_PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];
