//! Trials against real HTTP/2 servers, gRPC and plain.

#[path = "../support/mod.rs"]
mod support;

mod calls;
mod connections;
mod failures;
mod server;

use rpcgauge_load::{CallStyle, Protocol, Trial};
use rpcgauge_trial::Address;
use support::trial;

fn grpc_trial(address: Address) -> Trial {
    let mut trial = trial(address);
    trial.endpoint.protocol = Protocol::Http2;
    trial.request.style = CallStyle::Grpc { subtype: None };
    trial.request.path = "/test.Echo/Call".to_owned();
    trial.request.headers.clear();
    trial
}
