//! Connections to several addresses of one server.

mod support;

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rpcgauge_load::{LoadError, Trial};
use rpcgauge_trial::{Address, ConnectionUse, Schedule};
use support::*;

/// The connections that a server accepted, and the requests that it answered.
#[derive(Default)]
struct Counts {
    connections: AtomicU64,
    requests: AtomicU64,
}

/// A server that closes each connection after `most` responses.
fn counting(most: u64) -> (Address, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    let counted = Arc::clone(&counts);
    let address = serve(move |mut stream: TcpStream| {
        counted.connections.fetch_add(1, Ordering::SeqCst);
        for _ in 0..most {
            let Some((_, body)) = read_request(&mut stream) else {
                return;
            };
            counted.requests.fetch_add(1, Ordering::SeqCst);
            if stream.write_all(&ok(&body)).is_err() {
                return;
            }
        }
    });
    (address, counts)
}

/// Five connections and calls in flight, to three addresses.
fn five(addresses: [Address; 3]) -> Trial {
    let [address, second, third] = addresses;
    let mut trial = trial(address);
    trial.endpoint.more_addresses = vec![second, third];
    trial.schedule = Schedule::Closed { in_flight: 5 };
    trial.connections = 5;
    trial
}

#[test]
fn connections_go_to_all_addresses_in_turn_and_keep_theirs() {
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let servers = [u64::MAX, u64::MAX, 1].map(counting);
        let mut trial = five(servers.each_ref().map(|(address, _)| address.clone()));
        trial.connection_use = connection_use;
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        let of = |index: usize| {
            let (_, counts) = &servers[index];
            let requests = counts.requests.load(Ordering::SeqCst);
            (counts.connections.load(Ordering::SeqCst), requests)
        };
        assert!((0..3).all(|index| of(index).1 > 0), "{connection_use:?}");
        if connection_use == ConnectionUse::Reuse {
            assert_eq!([of(0).0, of(1).0], [2, 2]);
            // The connection that its server closes again and again returns to the same server.
            let (connections, requests) = of(2);
            assert!(connections > 1 && connections >= requests, "{connections}");
        }
    }
}

#[test]
fn a_failure_to_connect_names_the_address() {
    let (up, _) = counting(u64::MAX);
    let down = unused_address();
    let measurement = run(&five([up.clone(), up, down.clone()]), &[b"x"]);
    assert_eq!(measurement.calls.answered, 100);
    let text = &measurement.error_samples[0].text;
    assert!(text.contains(&down.to_string()), "{text}");
}

#[test]
fn fewer_connections_than_addresses_are_refused() {
    let mut trial = five([(); 3].map(|()| unused_address()));
    trial.connections = 2;
    let error = run_with(&trial, prepared(&[b"x"])).unwrap_err();
    assert!(matches!(error, LoadError::Setting(_)), "{error}");
}
