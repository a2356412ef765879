//! Calls with known distributions, as records that the lab would write.

use hdrhistogram::Histogram as Hdr;

use super::*;

impl Builder {
    pub(super) fn trial(
        &self,
        spec: &Spec,
        trial: &TrialSpec,
        speed: f64,
        rng: &mut SplitMix64,
    ) -> TrialRecord {
        let outcome = match spec.cannot_run {
            Some(reason) => TrialOutcome::Failed {
                reason: reason.to_owned(),
                fault: Fault::Subject,
                requests_sent: None,
                log: "starting\nreading settings\nopening files\nwarming up\nbinding\nlistening on 127.0.0.1:0\n<b>error</b>: no such stack"
                    .to_owned(),
            },
            None => {
                TrialOutcome::Measured(Box::new(self.measured(spec, trial.placement, speed, rng)))
            }
        };
        TrialRecord {
            trial: trial.clone(),
            variant: spec.name.to_owned(),
            timing: spec.call().timing(),
            idle: Idle::Held,
            started_at_ms: 1_795_169_700_000 + u64::from(trial.index) * 900,
            rate: None,
            outcome,
        }
    }

    fn measured(
        &self,
        spec: &Spec,
        placement: Placement,
        speed: f64,
        rng: &mut SplitMix64,
    ) -> TrialFigures {
        let place = if placement == Placement::OneCore {
            spec.one_core
        } else {
            1.0
        };
        let centre = spec.latency_ns * place * speed;
        let mut calls = Calls {
            started: self.calls + spec.never_begun,
            abandoned: spec.never_begun,
            never_begun: spec.never_begun,
            never_sent: spec.never_begun,
            retried: spec.retried,
            ..Calls::default()
        };
        let (mut latency, mut failed, mut delay) = (histogram(), histogram(), histogram());
        let mut stages: BTreeMap<Stage, Hdr<u64>> = BTreeMap::new();
        let mut slices = vec![TimelineSlice::default(); 100];
        let mut total = 0_u64;
        let stage_timed = spec.in_flight == 1;
        for call in 0..self.calls {
            let tail = if rng.unit() < 0.02 {
                1.0 + 2.0 * rng.unit()
            } else {
                1.0
            };
            let spiky = spec.spike_every > 0 && call % spec.spike_every == spec.spike_every / 2;
            let factor = if spiky { 12.0 } else { tail };
            let ns = (centre * factor * (spec.spread * rng.normal()).exp()).max(100.0);
            let slice = &mut slices[(call * 100 / self.calls) as usize];
            total += ns as u64;
            record(&mut delay, 80.0 + 60.0 * rng.unit());
            if let Some((kind, _, every)) = spec.failing.filter(|(_, _, every)| call % every == 0) {
                let _ = every;
                *calls.failed.entry(kind).or_default() += 1;
                slice.failed += 1;
                record(&mut failed, ns * 3.0);
                continue;
            }
            calls.answered += 1;
            slice.answered += 1;
            slice.latency_sum_ns += ns as u64;
            slice.latency_max_ns = slice.latency_max_ns.max(ns as u64);
            record(&mut latency, ns);
            if stage_timed {
                for (stage, part) in parts(spec) {
                    record(stages.entry(stage).or_insert_with(histogram), ns * part);
                }
            }
        }
        let elapsed_ns = (total / u64::from(spec.in_flight)).max(1);
        let ended = calls.answered + calls.failed_total();
        let cpu = |part: f64| {
            let total_ns = (centre * part * ended as f64 / f64::from(spec.in_flight)) as u64;
            Cpu {
                total_ns,
                user_ns: Some(total_ns * 6 / 10),
                system_ns: Some(total_ns - total_ns * 6 / 10),
            }
        };
        let (request, answer) = spec.bytes;
        let overhead = if spec.protocol == Protocol::Grpc {
            23
        } else {
            2
        };
        let headers = if spec.protocol == Protocol::Grpc {
            14
        } else {
            118
        };
        let error_samples = spec.failing.iter().map(|(kind, text, _)| ErrorSample {
            kind: *kind,
            text: (*text).to_owned(),
            count: calls.failed_total(),
        });
        TrialFigures {
            error_samples: error_samples.collect(),
            warmup: Warmup {
                calls: 400,
                failed: 0,
                elapsed_ns: 120_000_000,
                settled: !spec.unsettled,
            },
            elapsed_ns,
            latency: Histogram::from(latency),
            failed_latency: (!failed.is_empty()).then_some(Histogram::from(failed)),
            send_delay: Histogram::from(delay),
            stages: stages
                .into_iter()
                .map(|(stage, h)| (stage, Histogram::from(h)))
                .collect(),
            timeline: Timeline {
                slice_ns: (elapsed_ns / 100).max(1),
                slices,
            },
            slices: (spec.left_out_failed > 0).then_some(Slices {
                count: 20,
                each: Slice {
                    skip_calls: 4,
                    skip_us: 200,
                    least_calls: 4,
                    time_us: 2_000,
                },
                skipped: 80,
                skipped_failed: spec.left_out_failed,
                skipped_never_sent: 0,
            }),
            connections_reopened: spec.reopened,
            bytes: Some(Bytes {
                sent: BytesByClass {
                    headers: headers * ended,
                    bodies: request * ended,
                    overhead: overhead * ended,
                    marks: 0,
                },
                received: BytesByClass {
                    headers: headers * ended / 2,
                    bodies: answer * ended,
                    overhead: overhead * ended,
                    marks: if stage_timed { 76 * ended } else { 0 },
                },
            }),
            payload: Payload {
                request: Some(request as f64),
                request_compressed: Some(request as f64),
                response: Some(match spec.compression {
                    Compression::None => answer as f64,
                    _ => answer as f64 * 4.1,
                }),
                response_compressed: Some(answer as f64),
            },
            cpu: CpuTimes {
                client: Some(cpu(0.35)),
                server: Some(cpu(0.45)),
            },
            memory: Memory {
                client_peak: 31_400_000,
                server_peak: Some(18_200_000),
            },
            threads: Threads {
                client: 1,
                server: Some(3),
            },
            startup: Startup {
                client_ns: None,
                server_ns: Some(20_000_000),
                cold: None,
            },
            client_share: Some(spec.client_share),
            code: Some(spec.code),
            connections_at_start: Some(u64::from(spec.call().options.connections)),
            connects_failed: spec.failed_connects,
            uncompressed_responses: spec.uncompressed,
            bodies_late: spec.bodies_late,
            most_in_flight: spec.most_in_flight.or(Some(u64::from(spec.in_flight))),
            connections_opened: Some(match spec.connection {
                ConnectionUse::Reuse => 0,
                ConnectionUse::PerCall => calls.started,
            }),
            calls,
            ..TrialFigures::default()
        }
    }

    pub(super) fn floors(&self, rng: &mut SplitMix64) -> Vec<FloorRecord> {
        let mut floors = Vec::new();
        let blocks = (0..self.invocations).flat_map(|i| (0..self.blocks).map(move |b| (i, b)));
        let places = blocks.flat_map(|block| self.placements.iter().map(move |p| (block, *p)));
        for ((invocation, block), placement) in places {
            for spec in &self.specs {
                let base = match (spec.transport, placement) {
                    (Transport::Tcp, Placement::OneCore) => 7_000.0,
                    (Transport::Unix, Placement::OneCore) => 5_000.0,
                    (Transport::Tcp, _) => 10_000.0,
                    (Transport::Unix, _) => 26_000.0,
                };
                let centre = base + (spec.bytes.0 + spec.bytes.1) as f64 * 0.25;
                let mut latency = histogram();
                for _ in 0..200 {
                    record(&mut latency, centre * (0.06 * rng.normal()).exp());
                }
                floors.push(FloorRecord {
                    invocation,
                    block,
                    placement,
                    idle: Idle::Held,
                    transport: spec.transport,
                    link: None,
                    request_bytes: spec.bytes.0,
                    response_bytes: spec.bytes.1,
                    latency: Histogram::from(latency),
                    client_cpu_ns: centre * 0.5,
                    variants: vec![spec.name.to_owned()],
                });
            }
        }
        floors
    }
}

/// The share of a call's time in each stage.
fn parts(spec: &Spec) -> Vec<(Stage, f64)> {
    let (encode, decode) = spec.codec;
    let compressed = if spec.compression == Compression::None {
        0.0
    } else {
        0.1
    };
    let connect = if spec.connection == ConnectionUse::PerCall {
        0.35
    } else {
        0.0
    };
    let (send, receive) = (0.12, 0.06);
    let wait = 0.99 - encode - decode - compressed - connect - send - receive;
    let all = [
        (Stage::Connect, connect),
        (Stage::Encode, encode),
        (Stage::Send, send),
        (Stage::Wait, wait),
        (Stage::Receive, receive),
        (Stage::Decompress, compressed),
        (Stage::Decode, decode),
        (Stage::RequestTime, connect + encode + send + wait * 0.45),
        (Stage::HandlerTime, wait * 0.08),
        (
            Stage::ResponseTime,
            wait * 0.4 + receive + compressed + decode,
        ),
    ];
    all.into_iter().filter(|(_, part)| *part > 0.0).collect()
}

fn histogram() -> Hdr<u64> {
    Hdr::new(3).expect("three digits are allowed")
}

fn record(histogram: &mut Hdr<u64>, ns: f64) {
    histogram.record(ns as u64).expect("it resizes itself");
}
