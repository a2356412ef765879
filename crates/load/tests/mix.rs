//! Trials that mix calls.

mod support;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use rpcgauge_load::{
    Bodies, Body, CallStyle, Checked, CodecError, Hooks, LoadError, MixBodies, MixCall, Request,
    ResponseCheck, ToCheck, Trial,
};
use rpcgauge_trial::{Address, FailureKind, Stop, Timing, TrialFigures};
use support::*;

/// The requests that a server received, each as `METHOD PATH` and the body.
type Received = Arc<Mutex<Vec<(String, String)>>>;

/// A server that answers a POST with 201, and anything else with 200.
fn creating() -> (Address, Received) {
    let received = Received::default();
    let kept = Arc::clone(&received);
    let address = serve(move |mut stream: TcpStream| {
        while let Some((head, body)) = read_request(&mut stream) {
            let line = head.lines().next().unwrap().replace(" HTTP/1.1", "");
            let status = if line.starts_with("POST") { 201 } else { 200 };
            let body = String::from_utf8(body).unwrap();
            kept.lock().unwrap().push((line, body));
            let answer = format!("HTTP/1.1 {status} It\r\ncontent-length: 2\r\n\r\nok");
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    });
    (address, received)
}

/// Three reads for each write, which must be answered with 201.
fn mix(address: Address) -> Trial {
    let mut trial = trial(address);
    trial.expect.content_type = None;
    let call = |weight, method: &str, path: &str, status| MixCall {
        name: path.to_owned(),
        weight,
        request: Request {
            style: CallStyle::Http {
                method: method.to_owned(),
            },
            path: path.to_owned(),
            ..trial.request.clone()
        },
        status,
    };
    trial.mix = vec![
        call(3, "GET", "/read", None),
        call(1, "POST", "/write", Some(201)),
    ];
    trial
}

fn body(text: &str) -> Body {
    Body {
        bytes: text.as_bytes().to_vec(),
        compressed: false,
        plain_len: text.len() as u64,
        fields: Vec::new(),
    }
}

fn of_reads() -> MixBodies {
    MixBodies::Prepared(vec![body("")])
}

fn of_writes() -> MixBodies {
    MixBodies::Prepared(vec![body("a"), body("b")])
}

fn run_mix(trial: &Trial, bodies: Vec<MixBodies>) -> TrialFigures {
    let measurement = run_with(trial, Bodies::Mixed(bodies)).unwrap();
    assert_sums_hold(&measurement);
    measurement
}

fn started(measurement: &TrialFigures) -> Vec<u64> {
    measurement.mix.iter().map(|call| call.started).collect()
}

#[test]
fn calls_come_in_proportion_to_their_weights_each_with_its_own_request() {
    let numbered = || (0..).map(|n: u32| Ok(body(["a", "b"][n as usize % 2])));
    for of_writes in [of_writes(), MixBodies::Streamed(Box::new(numbered()))] {
        let (address, received) = creating();
        let measurement = run_mix(&mix(address), vec![of_reads(), of_writes]);
        assert_eq!(started(&measurement), [75, 25]);
        assert_eq!(measurement.calls.answered, 100);
        let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
        for request in received.lock().unwrap().iter() {
            *counts.entry(request.clone()).or_default() += 1;
        }
        let of = |line: &str, body: &str| counts[&(line.to_owned(), body.to_owned())];
        assert_eq!(of("GET /read", ""), 75);
        let writes = ["a", "b"].map(|body| of("POST /write", body));
        assert_eq!(writes, [13, 12], "each call of the mix rotates its bodies");
    }
}

#[test]
fn the_order_derives_from_the_seed() {
    let lines = |seed| {
        let (address, received) = creating();
        let mut trial = mix(address);
        trial.seed = seed;
        run_mix(&trial, vec![of_reads(), of_writes()]);
        received.lock().unwrap().clone()
    };
    assert_eq!(lines(1), lines(1));
    assert_ne!(lines(1), lines(2));
}

#[test]
fn each_call_of_the_mix_has_its_own_failures() {
    let mut trial = mix(creating().0);
    trial.mix[1].status = None;
    trial.mix[0].status = Some(204);
    let measurement = run_mix(&trial, vec![of_reads(), of_writes()]);
    let [reads, writes] = &measurement.mix[..] else {
        panic!("{:?}", measurement.mix)
    };
    assert_eq!(reads.failed, [(FailureKind::HttpStatus(200), 75)].into());
    assert_eq!((writes.answered, writes.latency.count()), (25, 25));
}

#[test]
fn only_the_responses_to_a_call_with_a_check_are_checked() {
    let trial = mix(creating().0);
    let check = |_: ToCheck<'_>| Err((FailureKind::Check, CodecError("never".to_owned())));
    let check = ResponseCheck {
        of: Checked::All,
        check: Box::new(check),
    };
    let hooks = Hooks {
        checks: vec![None, Some(check)],
        ..hooks()
    };
    let bodies = Bodies::Mixed(vec![of_reads(), of_writes()]);
    let measurement = measure_with(&trial, bodies, hooks, &AtomicBool::new(false)).unwrap();
    assert_sums_hold(&measurement);
    assert_eq!(measurement.mix[0].answered, 75);
    assert_eq!(measurement.mix[1].failed, [(FailureKind::Check, 25)].into());
    assert_eq!(measurement.checked_responses, Some(25));
}

/// Calls that end before they begin have the proportions of the mix too.
#[test]
fn calls_to_a_server_that_is_down_are_divided_by_weight() {
    let mut trial = mix(unused_address());
    trial.schedule = constant_rate(4_000.0);
    trial.stop = Stop::after_ms(100);
    let measurement = run_mix(&trial, vec![of_reads(), of_writes()]);
    let [reads, writes] = started(&measurement)[..] else {
        panic!("{:?}", measurement.mix)
    };
    assert_eq!(reads + writes, 400);
    assert!(reads.abs_diff(300) <= 3, "{reads}");
}

#[test]
fn a_mix_that_cannot_be_called_is_refused() {
    let refused = |change: fn(&mut Trial), bodies| {
        let mut trial = mix(unused_address());
        change(&mut trial);
        let error = run_with(&trial, Bodies::Mixed(bodies)).unwrap_err();
        assert!(matches!(error, LoadError::Setting(_)), "{error}");
    };
    let both = || vec![of_reads(), of_writes()];
    refused(|trial| trial.mix[0].weight = 0, both());
    refused(|trial| trial.mix[0].weight = 1_001, both());
    refused(|trial| trial.timing = Timing::Stages, both());
    refused(|_| (), vec![of_reads()]);
    refused(|_| (), vec![of_reads(), MixBodies::Prepared(Vec::new())]);
}
