//! Writes the seeds: a few meaningful inputs of each target, made of the same parts as the tests of
//! the crates. Run it after the form of a target's input has changed:
//! `cargo run --manifest-path fuzz/Cargo.toml --example seeds`.

mod grpc;
mod http;
mod messages;
mod reflection;

use std::fs;
use std::path::Path;

use rpcgauge_fuzz::TARGETS;

/// A seed's name and bytes.
type Seed = (String, Vec<u8>);

fn seeds(target: &str) -> Vec<Seed> {
    match target {
        "http1" => http::http1(),
        "http1_head" => http::http1_head(),
        "http2" => http::http2(),
        "hpack_decode" => http::hpack_decode(),
        "hpack_encode" => http::hpack_encode(),
        "grpc_answer" => grpc::responses(),
        "grpc_text" => grpc::texts(),
        "decompress" => messages::compressed(),
        "records" => messages::records(),
        "reflection" => reflection::reflection(),
        _ => messages::encoded(target),
    }
}

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for (target, run) in TARGETS {
        let folder = root.join(target);
        fs::create_dir_all(&folder)?;
        for (name, bytes) in seeds(target) {
            run(&bytes);
            fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}

/// Seeds with names known when this is compiled.
fn named<const N: usize>(seeds: [(&str, Vec<u8>); N]) -> Vec<Seed> {
    seeds
        .into_iter()
        .map(|(name, bytes)| (name.to_owned(), bytes))
        .collect()
}
