//! What the parts' tests share, and a test of the loop.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_trial::{Address, ConnectionUse, Schedule, Stop, Timing};
use rpcgauge_wire::{Limits, Protocol};

use super::Hooks;
use super::event_loop::EventLoop;
use crate::bodies::{Bodies, Body};
use crate::trial::{CallStyle, Endpoint, Expect, Request, Trial};
use crate::warmup::Settling;

/// A closed loop of one GET at a time, which ends after 20 ms. All its bounds are a second.
pub(crate) fn trial(address: Address) -> Trial {
    let second = Duration::from_secs(1);
    Trial {
        endpoint: Endpoint {
            address,
            protocol: Protocol::Http1,
            tls: None,
        },
        request: Request {
            style: CallStyle::Http {
                method: "GET".to_owned(),
            },
            path: "/".to_owned(),
            authority: "localhost".to_owned(),
            headers: Vec::new(),
        },
        expect: Expect::default(),
        schedule: Schedule::Closed { in_flight: 1 },
        seed: 0,
        connections: 1,
        connection_use: ConnectionUse::Reuse,
        keepalive: None,
        timing: Timing::Load,
        max_requests: None,
        keeps_slow: false,
        warmup: None,
        stop: Stop {
            calls: None,
            time_ms: Some(20),
        },
        deadline: second,
        drain: second,
        patience: second,
        limits: Limits::default(),
    }
}

/// An address that is not called.
pub(crate) fn unused() -> Address {
    Address::Unix("/nothing/there".into())
}

/// A server that answers every read.
fn responding() -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let response = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
            while stream.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {
                stream.write_all(response).unwrap();
            }
        }
    });
    Address::Tcp(address)
}

/// It ends by time, sooner than a read may wait.
#[test]
fn all_calls_of_a_loop_over_one_connection_are_waited_for_in_one_way() {
    let trial = trial(responding());
    let body = Body {
        bytes: Vec::new(),
        compressed: false,
        plain_len: 0,
    };
    let bodies = Bodies::Prepared {
        bodies: vec![body],
        verifier: None,
    };
    let hooks = Hooks {
        settling: Box::new(|_| Settling::Settled),
        measuring: Box::new(|_| ()),
        check: None,
        progress: None,
    };
    let mut event_loop = EventLoop::new(&trial, bodies, hooks).unwrap();
    event_loop.run(&AtomicBool::new(false)).unwrap();
    assert!(event_loop.engine.ledger.recorder.account.calls.answered > 10);
    assert_eq!(event_loop.polled, 0, "the rest was waited for in the read");
}
