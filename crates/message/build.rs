//! Compiles the workloads' .proto files into Rust.

use std::path::PathBuf;

fn main() {
    let protos =
        PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../contract/proto");
    println!("cargo::rerun-if-changed={}", protos.display());
    let out = PathBuf::from(std::env::var("OUT_DIR").unwrap());
    let names = [
        "several.proto",
        "hello.proto",
        "list.proto",
        "records.proto",
        "profile.proto",
        "followers.proto",
        "hybrid.proto",
    ];
    let mut compiler = protox::Compiler::new([&protos]).unwrap();
    compiler.include_imports(true).open_files(names).unwrap();
    let set = out.join("workloads.binpb");
    std::fs::write(&set, compiler.encode_file_descriptor_set()).unwrap();
    buffa_build::Config::new()
        .descriptor_set(&set)
        .files(&names)
        .generate_views(false)
        .generate_json(false)
        .include_file("workloads.rs")
        .compile()
        .unwrap();
}
