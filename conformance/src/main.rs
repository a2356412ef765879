//! Tests rpcgauge's gRPC client and its reference server with other projects' test suites: connectrpc's
//! conformance suite, whose runner starts this program as the client or the server under test, and the unary
//! cases of the gRPC project's interop tests. `make conformance` runs all three.

mod call;
mod client;
mod codec;
mod delimited;
mod interop;
mod server;
#[cfg(test)]
mod tests;
mod tls;

/// The suites' messages.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    reason = "generated from the .proto files"
)]
mod suites {
    include!(concat!(env!("OUT_DIR"), "/suites.rs"));
}

use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result: Result<bool, Box<dyn Error>> = match arguments.as_slice() {
        ["client"] => client::run().map(|()| true),
        ["server"] => server::run().map(|()| true),
        ["interop", server] => interop::run(server).map_err(Into::into),
        _ => Err("usage: rpcgauge-conformance client | server | interop SERVER_PROGRAM".into()),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
