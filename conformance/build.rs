//! Compiles the test suites' .proto files.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

/// The suites' .proto files, and the well-known types that they use.
const FILES: [&str; 9] = [
    "connectrpc/conformance/v1/client_compat.proto",
    "connectrpc/conformance/v1/config.proto",
    "connectrpc/conformance/v1/server_compat.proto",
    "connectrpc/conformance/v1/service.proto",
    "google/rpc/status.proto",
    "grpc/testing/interop.proto",
    "google/protobuf/any.proto",
    "google/protobuf/empty.proto",
    "google/protobuf/struct.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("proto");
    println!("cargo::rerun-if-changed={}", folder.display());
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut compiler = protox::Compiler::new([folder])?;
    compiler.include_imports(true).open_files(FILES)?;
    let set = out.join("suites.binpb");
    fs::write(&set, compiler.encode_file_descriptor_set())?;
    buffa_build::Config::new()
        .descriptor_set(&set)
        .files(&FILES)
        .generate_views(false)
        .out_dir(&out)
        .include_file("suites.rs")
        .compile()?;
    Ok(())
}
