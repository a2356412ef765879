//! The floor's calling side against plain answering loops.

mod support;

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use rpcgauge_load::floor::{FloorCall, ping_pong};
use support::*;

/// Reads the two sizes, then answers each request.
fn responding<S: Read + Write>(mut stream: S) {
    let mut sizes = [0; 16];
    stream.read_exact(&mut sizes).unwrap();
    let size = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap()) as usize;
    let mut request = vec![0; size(&sizes[..8])];
    let response = vec![1; size(&sizes[8..])];
    while stream.read_exact(&mut request).is_ok() {
        if stream.write_all(&response).is_err() {
            return;
        }
    }
}

fn call() -> FloorCall {
    FloorCall {
        request_bytes: 200,
        response_bytes: 150,
        warmup_calls: 10,
        calls: 100,
        timeout: Duration::from_secs(10),
    }
}

#[test]
fn both_transports_and_large_messages() {
    let folder = tempfile::tempdir().unwrap();
    let tcp = serve(responding);
    let unix = serve_unix(folder.path().join("socket"), responding);
    let large = FloorCall {
        request_bytes: 1_000_000,
        response_bytes: 700_000,
        warmup_calls: 0,
        calls: 3,
        ..call()
    };
    for address in [tcp, unix] {
        for call in [call(), large] {
            let floor = ping_pong(&address, &call).unwrap();
            assert_eq!(floor.latency.len(), call.calls);
            assert!(floor.client_cpu_ns > 0.0);
        }
    }
}

#[test]
fn an_address_that_does_not_respond_is_an_error() {
    let error = ping_pong(&unused_address(), &call()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);

    let closing = serve(drop);
    assert!(ping_pong(&closing, &call()).is_err());

    let silent = serve(|mut stream| {
        let mut sink = [0; 1000];
        while stream.read(&mut sink).is_ok_and(|n| n > 0) {}
    });
    let hasty = FloorCall {
        timeout: Duration::from_millis(20),
        ..call()
    };
    assert_eq!(
        ping_pong(&silent, &hasty).unwrap_err().kind(),
        ErrorKind::TimedOut
    );

    let nothing = FloorCall {
        request_bytes: 0,
        ..call()
    };
    assert_eq!(
        ping_pong(&silent, &nothing).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
}
