//! Responses are verified: the first ones of the warm-up, and samples of the measured part.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rpcgauge_load::{
    Bodies, Body, Checked, Codec, CodecError, Hooks, LoadError, ResponseCheck, Session, ToCheck,
    Trial,
};
use rpcgauge_trial::{Address, FailureKind, Schedule, Slice, Stop, TrialFigures};
use support::{
    assert_sums_hold, constant_rate, hooks, measure_with, ok, respond_with, run_with, serve, trial,
    warmup,
};

const MESSAGES: [&str; 2] = ["call 0", "call 1"];

/// Expects each response to repeat its request. Requests alternate between two messages.
#[derive(Default)]
struct InTurn {
    verified: Vec<u64>,
    decoded: String,
    decodes: u64,
}

impl Codec for InTurn {
    fn encode(&mut self, call: u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(MESSAGES[call as usize % 2].as_bytes());
        Ok(())
    }

    fn decompress(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), CodecError> {
        Err(CodecError("nothing is compressed here".to_owned()))
    }

    fn decode(&mut self, plain: &[u8]) -> Result<(), CodecError> {
        self.decodes += 1;
        self.decoded = String::from_utf8_lossy(plain).into_owned();
        if self.decoded.starts_with("call ") {
            Ok(())
        } else {
            Err(CodecError(format!("{:?} is not a call", self.decoded)))
        }
    }

    fn verify(&mut self, call: u64, _: u64) -> Result<(), CodecError> {
        self.verified.push(call);
        let right = MESSAGES[call as usize % 2];
        if self.decoded == right {
            Ok(())
        } else {
            Err(CodecError(format!("{:?}, not {right:?}", self.decoded)))
        }
    }
}

fn prepared(codec: &mut InTurn) -> Bodies<'_> {
    let body = |text: &str| Body {
        bytes: text.as_bytes().to_vec(),
        compressed: false,
        plain_len: text.len() as u64,
        fields: Vec::new(),
    };
    Bodies::Prepared {
        bodies: MESSAGES.map(body).to_vec(),
        verifier: Some(codec),
    }
}

/// A server that echoes the first `calls` requests, and answers later ones with `later`.
fn right_for(calls: u64, later: &'static str) -> Address {
    let made = Arc::new(AtomicU64::new(0));
    serve(respond_with(move |body| {
        if made.fetch_add(1, Ordering::SeqCst) < calls {
            ok(body)
        } else {
            ok(later.as_bytes())
        }
    }))
}

fn at_a_rate(address: Address, calls: u64) -> Trial {
    Trial {
        schedule: constant_rate(5_000.0),
        connections: 4,
        warmup: Some(warmup(10)),
        stop: Stop {
            calls: Some(calls),
            time_ms: None,
        },
        ..trial(address)
    }
}

fn in_slices(trial: &Trial, slices: u32, bodies: Bodies<'_>) -> Result<TrialFigures, LoadError> {
    let slice = Slice {
        skip_calls: 3,
        skip_us: 0,
        least_calls: 10,
        time_us: 0,
    };
    let stop = AtomicBool::new(false);
    let mut session = Session::open(trial, bodies, hooks(), &stop)?;
    while !session.warm_up_turn(&stop)? {}
    for _ in 0..slices {
        session.slice(&slice, 10, &stop)?;
    }
    Ok(session.finish()?.figures)
}

fn wrong_call(result: Result<TrialFigures, LoadError>) -> (u64, String) {
    match result {
        Err(error @ LoadError::WrongResponse { call, .. }) => (call, error.to_string()),
        Err(error) => panic!("{error}"),
        Ok(measurement) => panic!("it was measured: {:?}", measurement.calls),
    }
}

#[test]
fn the_first_responses_of_the_warm_up_are_verified_at_once() {
    let mut trial = trial(right_for(u64::MAX, ""));
    trial.warmup = Some(warmup(10));
    let mut codec = InTurn::default();
    assert_sums_hold(&run_with(&trial, prepared(&mut codec)).unwrap());
    assert_eq!(codec.verified[..2], [0, 1], "once for each body");

    trial.endpoint.address = right_for(1, "call 7");
    let mut codec = InTurn::default();
    let (call, said) = wrong_call(run_with(&trial, prepared(&mut codec)));
    assert_eq!((call, codec.verified.len()), (1, 2));
    assert!(said.contains(r#""call 7", not "call 1""#), "{said}");
}

#[test]
fn a_server_that_turns_wrong_while_it_is_measured_at_a_rate_fails_the_trial() {
    for (later, says) in [
        ("call 7", r#""call 7", not "call "#),
        ("nonsense", r#""nonsense" is not a call"#),
    ] {
        // On one connection, the server counts calls in the order in which they are sent.
        let mut trial = at_a_rate(right_for(300, later), 600);
        trial.connections = 1;
        let mut codec = InTurn::default();
        let (call, said) = wrong_call(run_with(&trial, prepared(&mut codec)));
        assert!((300..610).contains(&call), "{said}");
        assert!(said.contains(&format!("call {call} is wrong")), "{said}");
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn a_server_that_turns_wrong_while_it_is_measured_in_slices_fails_the_trial() {
    // Of several connections, one may be slow: the 61st call that the server answers is then one
    // that was sent earlier, in any slice.
    for (in_flight, earliest) in [(1, 60), (4, 10)] {
        let mut trial = trial(right_for(60, "call 7"));
        trial.schedule = Schedule::Closed { in_flight };
        trial.connections = in_flight;
        trial.warmup = Some(warmup(10));
        let mut codec = InTurn::default();
        let (call, said) = wrong_call(in_slices(&trial, 20, prepared(&mut codec)));
        let wrong = earliest..100;
        assert!(wrong.contains(&call), "{in_flight} in flight: {said}");
    }
}

#[test]
fn a_server_that_turns_wrong_where_each_response_is_decoded_fails_the_trial() {
    let mut trial = trial(right_for(60, "call 7"));
    trial.warmup = Some(warmup(10));
    let mut codec = InTurn::default();
    let (call, said) = wrong_call(in_slices(&trial, 20, Bodies::PerCall(&mut codec)));
    assert!((60..90).contains(&call), "{said}");

    trial.endpoint.address = right_for(60, "call 7");
    let mut codec = InTurn::default();
    let (call, said) = wrong_call(run_with(&trial, Bodies::PerCall(&mut codec)));
    assert!(call >= 60, "the last one: {said}");
}

#[test]
fn samples_are_verified_at_the_end_and_the_rest_is_not_decoded() {
    let mut trial = trial(right_for(u64::MAX, ""));
    trial.warmup = Some(warmup(10));
    let mut codec = InTurn::default();
    let measurement = in_slices(&trial, 7, prepared(&mut codec)).unwrap();
    assert_eq!(codec.verified.len(), 2 + 7, "{:?}", codec.verified);
    assert_eq!(codec.decodes, 2 + 7);
    // Each sample is one of the calls that a slice skips.
    assert_eq!(measurement.calls.answered, 70);
    let samples = codec.verified[2..].windows(2);
    assert!(samples.into_iter().all(|pair| pair[1] - pair[0] == 13));

    let mut codec = InTurn::default();
    let trial = at_a_rate(right_for(u64::MAX, ""), 2_000);
    assert_sums_hold(&run_with(&trial, prepared(&mut codec)).unwrap());
    let samples = &codec.verified[2..];
    assert!((16..=32).contains(&samples.len()), "{samples:?}");
    assert!(samples[samples.len() - 1] > 1_800, "{samples:?}");
}

/// Measures 40 calls whose responses are checked to begin with "call".
fn checked(address: Address) -> TrialFigures {
    let mut trial = trial(address);
    trial.stop.calls = Some(40);
    let check = |response: ToCheck<'_>| {
        if response.carried.starts_with(b"call") {
            Ok(())
        } else {
            let error = CodecError("it is not a call".to_owned());
            Err((FailureKind::Check, error))
        }
    };
    let hooks = Hooks {
        checks: vec![Some(ResponseCheck {
            of: Checked::All,
            check: Box::new(check),
        })],
        ..hooks()
    };
    let body = Body {
        bytes: b"call".to_vec(),
        compressed: false,
        plain_len: 4,
        fields: Vec::new(),
    };
    let bodies = Bodies::Prepared {
        bodies: vec![body],
        verifier: None,
    };
    let measurement = measure_with(&trial, bodies, hooks, &AtomicBool::new(false)).unwrap();
    assert_sums_hold(&measurement);
    measurement
}

#[test]
fn a_response_that_a_check_refuses_fails_its_call() {
    let right = checked(right_for(u64::MAX, ""));
    assert_eq!(right.calls.answered, 40);
    assert!((1..=40).contains(&right.checked_responses.unwrap()));
    // The first response is checked. Once one was wrong, all are checked, even those without a body.
    for wrong in ["nobody", ""] {
        let measurement = checked(right_for(0, wrong));
        assert_eq!(measurement.calls.failed[&FailureKind::Check], 40);
        assert_eq!(measurement.error_samples[0].text, "it is not a call");
        assert_eq!(measurement.checked_responses, Some(40));
    }
}
