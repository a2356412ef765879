//! Synthetic runs of known distributions, for tests and for `examples/sample_report.rs`.
//!
//! Every figure passes through the same records and HDR histograms that the lab writes. Only the clock is replaced by a
//! seeded generator.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "several test programs share this fixture, and each uses only a part of it"
)]

mod live_service;
pub mod quickstart;
mod records;

use std::collections::BTreeMap;

use rpcgauge_message::workload::WorkloadSpec;
use rpcgauge_message::{Compression, Encoding, Limits};
use rpcgauge_stats::SplitMix64;
use rpcgauge_study::plan::{Claim, Metric, Pair, Plan, Published, Slice, TrialSpec, Variant};
use rpcgauge_study::record::*;
use rpcgauge_study::settings::*;

#[allow(
    unused_imports,
    reason = "not every program uses samples of live services"
)]
pub use live_service::{capacity, live, live_schedule, mixed, ramp, versus, versus_ramp};

/// The content of a run directory.
#[derive(Clone)]
pub struct Sample {
    pub plan: Plan,
    pub environment: Environment,
    pub trials: Vec<TrialRecord>,
    pub floors: Vec<FloorRecord>,
}

impl Sample {
    /// The same sample with the server's CPU time of a variant, and of its control, multiplied.
    pub fn with_server_cpu(mut self, variant: &str, factor: u64) -> Self {
        let of_variant = |record: &&mut TrialRecord| record.variant.starts_with(variant);
        for record in self.trials.iter_mut().filter(of_variant) {
            if let TrialOutcome::Measured(measured) = &mut record.outcome
                && let Some(server) = &mut measured.cpu.server
            {
                server.total_ns *= factor;
            }
        }
        self
    }
}

/// A variant and how its calls behave.
#[derive(Clone)]
pub struct Spec {
    pub name: &'static str,
    pub group: Option<&'static str>,
    pub repeats: Option<&'static str>,
    pub protocol: Protocol,
    pub encoding: Encoding,
    pub compression: Compression,
    pub transport: Transport,
    pub connection: ConnectionUse,
    pub workload: WorkloadSpec,
    pub in_flight: u32,
    /// Median latency on two cores, ns.
    pub latency_ns: f64,
    /// Standard deviation of the logarithm of the latency.
    pub spread: f64,
    /// The factor of the latency on one core.
    pub one_core: f64,
    /// The shares of the call spent on encoding and decoding.
    pub codec: (f64, f64),
    /// The sizes of request and response, bytes.
    pub bytes: (u64, u64),
    pub client_share: f64,
    pub code: CodeKind,
    pub unsettled: bool,
    /// One call in this many takes twelve times as long; 0 for none.
    pub spike_every: u64,
    /// A kind of failure, its text, and `n` if one call in `n` fails.
    pub failing: Option<(FailureKind, &'static str, u64)>,
    /// Responses of each trial that were uncompressed although compression was requested.
    pub uncompressed: u64,
    /// Failed attempts to open a connection in each trial.
    pub failed_connects: u64,
    /// Additional calls of each trial that were due but never begun.
    pub never_begun: u64,
    /// Retries of each trial's calls.
    pub retried: u64,
    /// The maximum number of calls in flight in each trial; `None` if it is the requested number.
    pub most_in_flight: Option<u64>,
    /// Calls of each trial whose body was built late.
    pub bodies_late: u64,
    /// How many of each trial's 80 calls that slices leave out failed.
    pub left_out_failed: u64,
    /// Connections that the server closed between a trial's slices.
    pub reopened: u64,
    /// Why none of the variant's trials can be measured.
    pub cannot_run: Option<&'static str>,
    /// Whether the variant is measured under every placement instead of only the first.
    pub everywhere: bool,
}

impl Spec {
    pub fn new(name: &'static str, latency_ns: f64) -> Self {
        Self {
            name,
            group: None,
            repeats: None,
            protocol: Protocol::Grpc,
            encoding: Encoding::Protobuf,
            compression: Compression::None,
            transport: Transport::Tcp,
            connection: ConnectionUse::Reuse,
            workload: WorkloadSpec::Hello {},
            in_flight: 1,
            latency_ns,
            spread: 0.12,
            one_core: 0.8,
            codec: (0.05, 0.08),
            bytes: (12, 24),
            client_share: 0.42,
            code: CodeKind::Generated,
            unsettled: false,
            spike_every: 0,
            failing: None,
            uncompressed: 0,
            failed_connects: 0,
            never_begun: 0,
            retried: 0,
            most_in_flight: None,
            bodies_late: 0,
            left_out_failed: 0,
            reopened: 0,
            cannot_run: None,
            everywhere: false,
        }
    }

    pub fn rest(mut self) -> Self {
        self.protocol = Protocol::Rest;
        self.encoding = Encoding::Json;
        self
    }

    fn call(&self) -> SubjectCall {
        SubjectCall {
            wire: Wire::default_for(self.protocol).encoded(self.encoding),
            transport: self.transport,
            options: CallOptions {
                response_compression: self.compression,
                connection: self.connection,
                connections: self.in_flight.div_ceil(16),
                schedule: Schedule::Closed {
                    in_flight: self.in_flight,
                },
                ..CallOptions::default()
            },
            ..SubjectCall::new(self.workload.clone(), self.protocol)
        }
    }
}

/// A variant's call to a subject.
pub fn call(variant: &mut Variant) -> &mut SubjectCall {
    match &mut variant.settings.target {
        Target::Call(call) => call,
        other => panic!("{other:?}"),
    }
}

/// Builds a run.
#[derive(Clone)]
pub struct Builder {
    pub name: &'static str,
    pub question: &'static str,
    pub specs: Vec<Spec>,
    pub pairs: Vec<Pair>,
    pub claims: Vec<Claim>,
    pub invocations: u32,
    pub blocks: u32,
    pub placements: Vec<Placement>,
    /// The standard deviations of the logarithm between invocations and between blocks.
    pub noise: (f64, f64),
    pub calls: u64,
    pub seed: u64,
}

impl Builder {
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            question: "How should these two services call each other?",
            specs: Vec::new(),
            pairs: Vec::new(),
            claims: Vec::new(),
            invocations: 4,
            blocks: 3,
            placements: vec![Placement::TwoCores],
            noise: (0.008, 0.006),
            calls: 1_000,
            seed: 7,
        }
    }

    pub fn spec(mut self, spec: Spec) -> Self {
        self.specs.push(spec);
        self
    }

    pub fn pair(self, question: &str, of: &str, against: &str, metric: Metric) -> Self {
        self.push_pair(question, of, against, metric, false)
    }

    pub fn a_a(self, again: &str, of: &str) -> Self {
        self.push_pair(
            "Does measuring the same thing twice show a difference?",
            again,
            of,
            Metric::LatencyP50,
            true,
        )
    }

    fn push_pair(
        mut self,
        question: &str,
        of: &str,
        against: &str,
        metric: Metric,
        a_a: bool,
    ) -> Self {
        self.pairs.push(Pair {
            name: format!("{of} / {against} {}", self.pairs.len()),
            question: question.to_owned(),
            of: of.to_owned(),
            against: against.to_owned(),
            metric,
            headline: self.specs.iter().any(|s| s.name == of && s.everywhere),
            a_a,
        });
        self
    }

    pub fn claim(
        mut self,
        name: &str,
        (of, against): (&str, &str),
        metric: Metric,
        (published_of, published_against, unit): (f64, f64, &str),
    ) -> Self {
        self.claims.push(Claim {
            name: name.to_owned(),
            source: "a measurement published in 2018".to_owned(),
            says: format!("{of} needs less than {against}"),
            of: of.to_owned(),
            against: against.to_owned(),
            metric,
            published: Published {
                of: published_of,
                against: published_against,
                unit: unit.to_owned(),
            },
            stacks: Vec::new(),
        });
        self
    }

    pub fn build(&self) -> Sample {
        let plan = self.plan();
        let mut rng = SplitMix64::new(self.seed);
        let speeds: Vec<f64> = (0..self.invocations * plan.variants.len() as u32)
            .map(|_| (self.noise.0 * rng.normal()).exp())
            .collect();
        let trials = plan
            .trials
            .iter()
            .map(|spec| {
                let variant = &self.specs[spec.variant as usize];
                let place = spec.invocation * plan.variants.len() as u32 + spec.variant;
                let speed = speeds[place as usize] * (self.noise.1 * rng.normal()).exp();
                self.trial(variant, spec, speed, &mut rng)
            })
            .collect();
        let floors = self.floors(&mut rng);
        Sample {
            plan,
            environment: environment(),
            trials,
            floors,
        }
    }

    fn plan(&self) -> Plan {
        let mut trials = Vec::new();
        let mut rng = SplitMix64::new(self.seed ^ 0xb10c);
        for invocation in 0..self.invocations {
            for block in 0..self.blocks {
                for (position, &placement) in self.placements.iter().enumerate() {
                    let mut order: Vec<u32> = (0..self.specs.len() as u32)
                        .filter(|v| position == 0 || self.specs[*v as usize].everywhere)
                        .collect();
                    for last in (1..order.len()).rev() {
                        order.swap(last, rng.index(last + 1));
                    }
                    for variant in order {
                        let index = trials.len() as u32;
                        trials.push(TrialSpec {
                            index,
                            invocation,
                            block,
                            variant,
                            placement,
                            rotation: 0,
                        });
                    }
                }
            }
        }
        Plan {
            name: self.name.to_owned(),
            question: self.question.to_owned(),
            seed: self.seed,
            variants: self
                .specs
                .iter()
                .map(|spec| Variant {
                    name: spec.name.to_owned(),
                    group: spec.group.map(str::to_owned),
                    repeats: spec.repeats.map(str::to_owned),
                    scale: None,
                    warm_up: None,
                    settings: Settings {
                        target: spec.call().into(),
                        stop: Stop {
                            calls: Some(1_000),
                            time_ms: None,
                        },
                    },
                })
                .collect(),
            shared_processes: Vec::new(),
            own_processes: BTreeMap::new(),
            pairs: self.pairs.clone(),
            claims: self.claims.clone(),
            objectives: Vec::new(),
            codecs: BTreeMap::new(),
            capacity: None,
            invocations: self.invocations,
            blocks: self.blocks,
            placements: self.placements.clone(),
            idle: Idle::Held,
            margin: 0.03,
            confidence: 0.95,
            warmup: Stop {
                calls: None,
                time_ms: Some(500),
            },
            stack_needs: BTreeMap::new(),
            slice_us: rpcgauge_study::plan::SLICE_US,
            limits: Limits::DEFAULT,
            trials,
        }
    }
}

pub fn environment() -> Environment {
    Environment {
        rpcgauge: "0.1.0".to_owned(),
        executable: None,
        machine_id: None,
        system: "Linux 6.12.9 x86_64".to_owned(),
        processor: "Example Processor 2.60 GHz".to_owned(),
        cores: 2,
        memory_bytes: 8_330_000_000,
        virtualization: Some("kvm".to_owned()),
        governor: None,
        idle: IdleOutcome {
            asked: Idle::Held,
            got: Idle::Held,
            reason: None,
        },
        subjects: BTreeMap::from([(
            "reference".to_owned(),
            BTreeMap::from([
                ("hyper".to_owned(), "1.12.0".to_owned()),
                ("rpcgauge".to_owned(), "0.1.0".to_owned()),
            ]),
        )]),
        disk: BTreeMap::new(),
        warnings: vec![
            "frequency scaling cannot be seen from inside this virtual machine".to_owned(),
        ],
    }
}

/// Two variants, the second of which is `ratio` times as slow, and an A/A pair.
pub fn two(ratio: f64) -> Builder {
    Builder {
        calls: 200,
        ..Builder::new("two")
    }
    .spec(Spec::new("grpc", 100_000.0))
    .spec(Spec::new("rest", 100_000.0 * ratio).rest())
    .spec(Spec {
        repeats: Some("grpc"),
        ..Spec::new("grpc-again", 100_000.0)
    })
    .pair("Which is faster?", "grpc", "rest", Metric::LatencyP50)
    .a_a("grpc-again", "grpc")
}

/// Two variants over an emulated link, which was not held in `not_held` trials of the first variant.
pub fn linked(not_held: usize) -> Sample {
    let mut sample = two(1.5).build();
    let link = rpcgauge_study::link::named("wlan").unwrap();
    for variant in &mut sample.plan.variants {
        call(variant).link.clone_from(&link);
    }
    let mut late = not_held;
    for trial in &mut sample.trials {
        if let TrialOutcome::Measured(measured) = &mut trial.outcome {
            let is_late = trial.variant == "grpc" && late > 0;
            late -= usize::from(is_late);
            measured.link = Some(link_counts(if is_late { 180_000 } else { 14_000 }));
        }
    }
    for floor in &mut sample.floors {
        floor.link = Some("wlan".to_owned());
    }
    sample
}

fn link_counts(p99_ns: u64) -> LinkCounts {
    let direction = DirectionCounts {
        packets: 400,
        bytes: 60_000,
        lost: 0,
        dropped: 2,
        queued_ns: 1_000_000,
    };
    LinkCounts {
        up: direction,
        down: DirectionCounts {
            packets: 600,
            ..direction
        },
        lateness: Lateness {
            p50_ns: 400,
            p99_ns,
            max_ns: 250_000,
        },
        foreign_drops: 0,
        retransmits: 2,
        waited_ns: 3_000_000,
        cpu_ns: 40_000_000,
        over_ns: 400_000_000,
        calibration: Calibration {
            base_up_ns: 21_000,
            base_down_ns: 25_000,
            set_ns: 1_800_000,
            median_ns: 1_802_000,
            worst_ns: 1_840_000,
        },
    }
}

/// Servers of three subjects, two of which are also called with many calls in flight.
pub fn stacks() -> Sample {
    let spec = |name, latency_ns, in_flight| Spec {
        in_flight,
        ..Spec::new(name, latency_ns)
    };
    let builder = Builder {
        blocks: 1,
        calls: 200,
        ..Builder::new("stacks")
    };
    let mut sample = builder
        .spec(spec("grpc", 40_000.0, 1))
        .spec(spec("grpc-64", 900_000.0, 64))
        .spec(spec("rest", 45_000.0, 1).rest())
        .spec(spec("rest-64", 950_000.0, 64).rest())
        .spec(spec("grpc-go", 60_000.0, 1))
        .spec(spec("grpc-go-64", 1_500_000.0, 64))
        .spec(spec("python", 700_000.0, 1).rest())
        .build();
    for variant in &mut sample.plan.variants {
        let name = match &*variant.name {
            "grpc-go" | "grpc-go-64" => "go/grpc-go",
            "python" => "python/http",
            _ => continue,
        };
        name.clone_into(&mut call(variant).server);
    }
    let disk = [("reference", 12_400_000), ("go/grpc-go", 16_300_000)];
    sample.environment.disk = disk.map(|(name, bytes)| (name.to_owned(), bytes)).into();
    sample
}

/// The findings of a sample.
pub fn findings(sample: &Sample) -> rpcgauge_report::Findings {
    rpcgauge_report::Findings::new(
        &sample.plan,
        Some(&sample.environment),
        &sample.trials,
        &sample.floors,
    )
    .expect("the sample's records fit its plan")
}
