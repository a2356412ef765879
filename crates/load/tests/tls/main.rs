//! Trials over TLS against real servers (rustls), good and bad.

#[path = "../support/mod.rs"]
mod support;

mod agreement;
mod calls;
mod certificates;
mod damage;

use rpcgauge_load::Trial;
use rpcgauge_trial::{Address, ConnectionUse, Fault};
use support::tls::*;
use support::*;

const BOTH_USES: [ConnectionUse; 2] = [ConnectionUse::Reuse, ConnectionUse::PerCall];

fn echo_over_tls(authority: &Authority, serving: &Serving) -> Address {
    serve_tls(authority.server(serving), respond_with(ok))
}

/// Checks that ten calls fail in this way, whether connections are reused or not.
fn assert_all_fail(trial: &Trial, kind: &str, fault: Fault, text: &str) {
    for connection_use in BOTH_USES {
        let mut trial = trial.clone();
        trial.stop.calls = Some(10);
        trial.connection_use = connection_use;
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        assert_eq!(
            failures(&measurement),
            [(kind.to_owned(), 10)],
            "{connection_use:?}: {:?}",
            measurement.error_samples
        );
        let sample = &measurement.error_samples[0];
        assert!(sample.text.contains(text), "{}", sample.text);
        assert_eq!(sample.kind.fault(), fault);
    }
}
