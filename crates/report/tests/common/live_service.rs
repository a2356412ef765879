//! Loads on one live service: at a rate, in a ramp, and in a capacity search.

use rpcgauge_report::PlannedSearch;
use rpcgauge_study::histogram::Unpacked;
use rpcgauge_study::plan::Capacity;
use rpcgauge_study::settings::{RampPart, StreamOptions};

use super::*;

/// A load on one live service, in which a few calls failed. Only the responses of the service are known.
pub fn live() -> Sample {
    let mut sample = two(2.0).build();
    let plan = &mut sample.plan;
    plan.name = "load-localhost-50051".to_owned();
    plan.question = "grpcs://localhost:50051/shop.Orders/Get".to_owned();
    plan.variants.truncate(1);
    plan.pairs.clear();
    plan.trials.truncate(1);
    plan.trials[0].variant = 0;
    plan.placements = vec![Placement::Free];
    plan.trials[0].placement = Placement::Free;
    plan.objectives = ["p99<1s", "errors<0.1%", "p99.99<1s"]
        .map(|text| text.parse().expect("an objective"))
        .to_vec();
    plan.variants[0].settings.target = service(&plan.question, 1);
    if let Target::Live(live) = &mut plan.variants[0].settings.target {
        live.service.expect = vec!["$.paid = true".parse().expect("an expectation")];
    }
    sample.floors.clear();
    sample.trials.truncate(1);
    let record = &mut sample.trials[0];
    record.trial = plan.trials[0].clone();
    record.variant = plan.variants[0].name.clone();
    seen_from_outside(record);
    if let TrialOutcome::Measured(measured) = &mut record.outcome {
        measured.calls.started += 4;
        measured.calls.failed = [
            (FailureKind::HttpStatus(503), 3),
            (FailureKind::Deadline, 1),
        ]
        .into();
        measured.error_samples = vec![ErrorSample {
            kind: FailureKind::HttpStatus(503),
            text: "status 503".to_owned(),
            count: 3,
        }];
        measured.checked_responses = Some(150);
        measured.connections_at_start = Some(1);
        measured.connections_opened = Some(3);
        measured.tls_resumed = 2;
        // 204 calls at 500 per second.
        measured.elapsed_ns = 408_000_000;
        measured.client_share = Some(0.02);
    }
    sample
}

fn service(target: &str, connections: u32) -> Target {
    let is_grpc = target.starts_with("grpc");
    Target::from(LiveCall {
        service: LiveService {
            url: target.parse().expect("a target"),
            start: None,
            tls: target.starts_with("grpcs").then(|| TlsChoice {
                insecure: true,
                ..TlsChoice::default()
            }),
            http_method: (!is_grpc).then(|| "GET".to_owned()),
            header_names: Vec::new(),
            expect: Vec::new(),
            messages: Messages::default(),
            max_requests: None,
            stream: StreamOptions::default(),
            at_end: AtEnd::Wait,
            keepalive: None,
            lb_strategy: LbStrategy::PickFirst,
            addresses: Vec::new(),
            per_user: false,
            calls: Vec::new(),
        },
        wire: if is_grpc {
            LiveWire::Grpc
        } else {
            LiveWire::Http(HttpVersion::Http1)
        },
        options: CallOptions {
            connections,
            schedule: Schedule::Rate {
                per_second: 500.0,
                arrivals: Arrivals::Constant,
            },
            ..CallOptions::default()
        },
        threads: 1,
    })
}

/// Four reads for each write, on the same service. Only reads failed.
pub fn mixed() -> Sample {
    let mut sample = live();
    if let Target::Live(live) = &mut sample.plan.variants[0].settings.target {
        let call = |name: &str, weight, method: &str| MixCall {
            name: name.to_owned(),
            weight,
            path: format!("/shop.Orders/{method}"),
            http_method: None,
            header_names: Vec::new(),
            messages: Messages::default(),
            expect: live.service.expect.clone(),
        };
        live.service.calls = vec![call("read", 4, "Get"), call("write", 1, "Put")];
        live.service.url.path = "/".to_owned();
        live.service.expect.clear();
    }
    if let TrialOutcome::Measured(measured) = &mut sample.trials[0].outcome {
        let (answered, failed) = (measured.calls.answered, measured.calls.failed.clone());
        let call = |name: &str, answered: u64, failed: BTreeMap<FailureKind, u64>| {
            let mut latency = Unpacked::new(3).expect("three digits");
            latency.record_n(9_000_000, answered).expect("it grows");
            MixFigures {
                name: name.to_owned(),
                started: answered + failed.values().sum::<u64>(),
                never_sent: 0,
                answered,
                failed,
                latency: Histogram::from(latency),
            }
        };
        let writes = answered / 5;
        measured.mix = vec![
            call("read", answered - writes, failed),
            call("write", writes, BTreeMap::new()),
        ];
    }
    sample
}

/// The schedule of a live service's variant.
pub fn live_schedule(variant: &mut Variant) -> &mut Schedule {
    match &mut variant.settings.target {
        Target::Live(live) => &mut live.options.schedule,
        other => panic!("{other:?}"),
    }
}

/// Removes the figures that only a subject has, since only the responses of a live service are known, and adds
/// those that only a live service has.
fn seen_from_outside(record: &mut TrialRecord) {
    record.timing = Timing::Load;
    if let TrialOutcome::Measured(measured) = &mut record.outcome {
        measured.stages.clear();
        measured.cpu.server = None;
        measured.memory.server_peak = None;
        measured.code = None;
        measured.payload.response = None;
        measured.service_time = Some(measured.latency.clone());
        measured.first_byte = Some(measured.latency.clone());
        for slice in &mut measured.timeline.slices {
            let others = slice.answered.saturating_sub(1);
            let rest_ns = slice.latency_sum_ns - slice.latency_max_ns;
            if let Some(mean_ns) = rest_ns.checked_div(others) {
                slice.latencies.add(&LatencyCounts::of(mean_ns, others));
            }
            if slice.answered > 0 {
                let longest = LatencyCounts::of(slice.latency_max_ns, 1);
                slice.latencies.add(&longest);
            }
        }
    }
}

/// A gRPC service, called at a rate, against an HTTP/1.1 service that takes `ratio` times as long; `noise` is
/// the standard deviation of the logarithm between blocks.
pub fn versus(ratio: f64, noise: f64) -> Sample {
    let builder = Builder {
        noise: (0.0, noise),
        invocations: 1,
        blocks: 10,
        placements: vec![Placement::Free],
        ..two(ratio)
    };
    let mut sample = builder.build();
    sample.floors.clear();
    for variant in &mut sample.plan.variants {
        variant.settings.target = match call(variant).wire {
            Wire::Grpc { .. } => service("grpc://a:1/x.Y/Z", 1),
            Wire::Rest { .. } | Wire::Connect { .. } => service("http://b/", 64),
        };
    }
    sample.trials.iter_mut().for_each(seen_from_outside);
    sample
}

/// A step with its numbers of due, answered and failed calls, and the latency of most calls.
fn step((part, (started, answered, failed, ns)): (&RampPart, (u64, u64, u64, u64))) -> Step {
    let times = |count: u64, ns: u64| {
        let mut histogram = Unpacked::new(3).expect("three digits");
        // The slowest call takes ten times as long as the others.
        for call in 0..count {
            let slow = if call == 0 { 10 } else { 1 };
            histogram.record(ns * slow).expect("it grows");
        }
        Histogram::from(histogram)
    };
    Step {
        from: part.from,
        to: part.to,
        time_ns: part.time_ms * 1_000_000,
        started,
        never_sent: 0,
        answered,
        answered_within: answered,
        failed,
        stalled: 0,
        latency: times(answered, ns),
        send_delay: times(started, ns / 10),
    }
}

/// Two services called in the same ramp, in three blocks: alike in the first step, and after a pause the first service
/// takes twice as long.
pub fn versus_ramp() -> Sample {
    let mut sample = versus(1.0, 0.0);
    sample.plan.blocks = 3;
    sample.plan.warmup = Stop::after_ms(0);
    sample.plan.trials.retain(|trial| trial.block < 3);
    sample.trials.retain(|record| record.trial.block < 3);
    let parts = [100.0, 0.0, 400.0].map(|rate| RampPart {
        from: rate,
        to: rate,
        time_ms: 1_000,
    });
    for variant in &mut sample.plan.variants {
        *live_schedule(variant) = Schedule::Ramp {
            parts: parts.to_vec(),
            arrivals: Arrivals::Constant,
        };
    }
    for record in &mut sample.trials {
        let usual = 1_000_000 + 2_000 * u64::from(record.trial.block);
        let last = match record.variant.as_str() {
            "rest" => usual,
            _ => 2 * usual,
        };
        let became = [(100, 100, 0, usual), (0, 0, 0, 0), (400, 400, 0, last)];
        if let TrialOutcome::Measured(measured) = &mut record.outcome {
            measured.calls.started = 500;
            measured.calls.answered = 500;
            measured.elapsed_ns = 3_000_000_000;
            measured.client_share = Some(0.1);
            measured.steps = parts.iter().zip(became).map(step).collect();
        }
    }
    sample
}

/// The same service called in a ramp: two steps, a pause, and an overload that loses calls.
pub fn ramp() -> Sample {
    let mut sample = live();
    let part = |from: f64, to: f64| RampPart {
        from,
        to,
        time_ms: 2_000,
    };
    let parts = vec![
        part(50.0, 50.0),
        part(100.0, 100.0),
        part(0.0, 0.0),
        part(400.0, 400.0),
    ];
    sample.plan.objectives = ["p50<5ms", "p99<5ms", "goodput>49"]
        .map(|text| text.parse().expect("an objective"))
        .to_vec();
    // The numbers of due, answered and failed calls, and the latency of most calls.
    let became = [
        (100, 100, 0, 1_000_000),
        (200, 199, 1, 1_200_000),
        (0, 0, 0, 0),
        (800, 500, 20, 90_000_000),
    ];
    if let TrialOutcome::Measured(measured) = &mut sample.trials[0].outcome {
        measured.elapsed_ns = 8_000_000_000;
        measured.steps = parts.iter().zip(became).map(step).collect();
    }
    *live_schedule(&mut sample.plan.variants[0]) = Schedule::Ramp {
        parts,
        arrivals: Arrivals::Poisson,
    };
    sample
}

/// A capacity search on the same service, which responds in a millisecond up to 1,000 calls per second and queues
/// calls beyond that rate. The client is saturated from 2,000 calls per second on. The third trial has a hiccup.
pub fn capacity() -> Sample {
    let mut sample = live();
    sample.plan.objectives = ["p99<20ms", "errors<0.1%"]
        .map(|text| text.parse().expect("an objective"))
        .to_vec();
    sample.plan.capacity = Some(Capacity {
        start: 250.0,
        lowest: 20.0,
        highest: None,
        precision: 0.05,
        time_ms: 1_000,
        calls: 1_000,
    });
    let first = sample.trials.remove(0);
    let slots = (0..60).map(|index| TrialSpec {
        index,
        block: index,
        ..first.trial.clone()
    });
    sample.plan.trials = slots.collect();
    let mut search = PlannedSearch::of(&sample.plan).expect("a search");
    for spec in &sample.plan.trials {
        let Some(rate) = search.next_rate() else {
            break;
        };
        let mut record = first.clone();
        record.trial = spec.clone();
        record.rate = Some(rate);
        record.started_at_ms += u64::from(spec.index) * 3_000;
        let is_slow = rate > 1_000.0 || spec.index == 2;
        if let TrialOutcome::Measured(measured) = &mut record.outcome {
            let calls = rate.max(1_000.0) as u64;
            let mut latency = Unpacked::new(3).expect("three digits");
            let mut send_delay = latency.clone();
            for call in 0..calls {
                // In slow trials, one in twenty calls waits.
                let waits = is_slow && call % 20 == 0;
                let ns = if waits { 80_000_000 } else { 1_000_000 };
                latency.record(ns).expect("it grows");
                send_delay.record(ns / 100).expect("it grows");
            }
            measured.calls = Calls {
                started: calls,
                answered: calls,
                ..Calls::default()
            };
            measured.elapsed_ns = (calls as f64 / rate * 1e9) as u64;
            measured.latency = Histogram::from(latency);
            measured.send_delay = Histogram::from(send_delay);
            measured.error_samples.clear();
            measured.client_share = Some((rate / 2_400.0).min(1.0));
        }
        search.ended(&record);
        sample.trials.push(record);
    }
    sample
}
