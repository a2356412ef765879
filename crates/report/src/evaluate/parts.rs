//! Splits the time of a call between kernel, client, codec and server (docs/method.md).

use rpcgauge_study::plan::{Plan, Variant};
use rpcgauge_study::record::Stage;
use rpcgauge_study::settings::{Operation, Placement, Sample, SubjectCall, Target, Timing};

use crate::findings::{BytesPerCall, Figures, Part, Parts, VariantFindings, named};

/// The client's stages that its codec accounts for.
const CODEC: [Stage; 4] = [
    Stage::Encode,
    Stage::Compress,
    Stage::Decompress,
    Stage::Decode,
];

/// A codec's time for one side of a call.
#[derive(Default)]
struct OfSide {
    /// `None` if the codec was not measured.
    ns: Option<f64>,
    /// The variants that measured the codec.
    variants: Vec<String>,
}

/// Fills in the parts of every variant that has one call in flight and a floor.
pub(super) fn fill(plan: &Plan, variants: &mut [VariantFindings]) {
    let mut found = Vec::new();
    let all = Measured { plan, variants };
    for (index, variant) in plan.variants.iter().enumerate() {
        for (place, cell) in variants[index].cells.iter().enumerate() {
            let parts = all.parts(variant, cell.placement);
            found.extend(parts.map(|parts| (index, place, parts)));
        }
    }
    for (variant, cell, parts) in found {
        variants[variant].cells[cell].parts = Some(parts);
    }
}

/// A plan and its variants' findings.
struct Measured<'a> {
    plan: &'a Plan,
    variants: &'a [VariantFindings],
}

impl Measured<'_> {
    fn parts(&self, variant: &Variant, placement: Placement) -> Option<Parts> {
        let call = call(variant)?;
        if call.timing() != Timing::Stages {
            return None;
        }
        let figures = self.figures(variant, placement)?;
        match &call.client {
            None => self.by_engine(call, figures, placement),
            Some(client) => self.by_stack(call, &client.stack, figures, placement),
        }
    }

    /// The parts of a call by the engine. The engine has one thread, so all its CPU time is part of the call.
    fn by_engine(
        &self,
        call: &SubjectCall,
        figures: &Figures,
        placement: Placement,
    ) -> Option<Parts> {
        let floor = figures.floor.as_ref()?;
        let stages = figures
            .stages
            .iter()
            .filter(|found| CODEC.contains(&found.stage));
        let own: f64 = stages.map(|found| found.per_call_ns).sum();
        let cpu = figures.cpu.client.map(|cpu| cpu.total_ns);
        let server = self
            .codec_of(call, &call.server, Side::Server, placement)
            .unwrap_or_default();
        // A variant may share a floor whose messages have another size. Therefore the network's part is computed from
        // the call's own bytes, and the kernel's part is the floor minus the network's part of the floor.
        let least = |sent, received| {
            let link = call.link.as_ref();
            link.map(|link| link.terms.least(sent, received).as_nanos() as f64)
        };
        let of_floor = least(floor.request_bytes, floor.response_bytes);
        let network = match &figures.bytes {
            Some(BytesPerCall { sent, received }) => {
                let [sent, received] = [sent, received].map(|way| way.carried().ceil() as u64);
                least(sent, received)
            }
            None => of_floor,
        };
        let mut left = Left::of(figures)?;
        // Each part takes from what the earlier ones left.
        Some(Parts {
            call_ns: left.call_ns,
            network: network.map(|ns| left.take(ns)),
            kernel: left.take(floor.mean_ns - of_floor.unwrap_or(0.0)),
            codec: left.take(own + server.ns.unwrap_or(0.0)),
            client: cpu.map(|cpu| left.take(cpu - floor.client_cpu_ns.unwrap_or(0.0) - own)),
            server: left.rest(),
            codec_of_client_ns: Some(own),
            codec_of_server_ns: server.ns,
            codecs: server.variants,
        })
    }

    /// The parts of a call by a stack's client. Kernel and server are copied from the engine's call to the same server:
    /// the client's bytes are not counted, and its CPU time need not all be part of the call.
    fn by_stack(
        &self,
        by_client: &SubjectCall,
        client: &str,
        figures: &Figures,
        placement: Placement,
    ) -> Option<Parts> {
        let by_engine = SubjectCall {
            client: None,
            ..by_client.clone()
        };
        let mut all = self.plan.variants.iter();
        let beside = all.find(|other| call(other) == Some(&by_engine))?;
        let other = self.by_engine(&by_engine, self.figures(beside, placement)?, placement)?;
        // Without the engine's CPU time, as over a link, the engine's part is included in the server's.
        other.client?;
        let own = self
            .codec_of(&by_engine, client, Side::Client, placement)
            .unwrap_or_default();
        let server = self
            .codec_of(&by_engine, &by_engine.server, Side::Server, placement)
            .unwrap_or_default();
        let mut left = Left::of(figures)?;
        Some(Parts {
            call_ns: left.call_ns,
            network: None,
            kernel: left.take(other.kernel.ns),
            codec: left.take(own.ns.unwrap_or(0.0) + server.ns.unwrap_or(0.0)),
            server: left.take(other.server.ns),
            client: Some(left.rest()),
            codec_of_client_ns: own.ns,
            codec_of_server_ns: server.ns,
            codecs: [own.variants, server.variants].concat(),
        })
    }

    /// The mean time that the codec of a stack takes for its side of a call.
    fn codec_of(
        &self,
        call: &SubjectCall,
        stack: &str,
        side: Side,
        placement: Placement,
    ) -> Option<OfSide> {
        let encoding = call.wire.encoding();
        let codec = self.plan.codecs.get(stack)?.get(&encoding)?;
        let [first, second] = side.does().map(|(operation, sample)| {
            let compression = match sample {
                Sample::Request => call.options.request_compression,
                Sample::Response => call.options.response_compression,
            };
            let does = |target: &Target| match target {
                Target::Codec(work) => {
                    (&work.codec, work.operation, work.sample) == (codec, operation, sample)
                        && (work.encoding, work.compression) == (encoding, compression)
                        && work.workload == call.workload
                }
                Target::Call(_) | Target::Live(_) => false,
            };
            let mut all = self.plan.variants.iter();
            let variant = all.find(|v| v.repeats.is_none() && does(&v.settings.target))?;
            let latency = self.figures(variant, placement)?.latency.as_ref()?;
            Some((latency.mean_ns, variant.name.clone()))
        });
        let ((first, one), (second, other)) = (first?, second?);
        Some(OfSide {
            ns: Some(first + second),
            variants: vec![one, other],
        })
    }

    fn figures(&self, variant: &Variant, placement: Placement) -> Option<&Figures> {
        named(self.variants, &variant.name)?.figures(placement)
    }
}

/// A side of a call.
#[derive(Clone, Copy)]
enum Side {
    Client,
    Server,
}

impl Side {
    /// The operations of the codec on this side.
    fn does(self) -> [(Operation, Sample); 2] {
        match self {
            Self::Client => [
                (Operation::Encode, Sample::Request),
                (Operation::Decode, Sample::Response),
            ],
            Self::Server => [
                (Operation::Decode, Sample::Request),
                (Operation::Encode, Sample::Response),
            ],
        }
    }
}

/// A variant's call to a subject; `None` for a control and other targets.
fn call(variant: &Variant) -> Option<&SubjectCall> {
    match &variant.settings.target {
        Target::Call(call) if variant.repeats.is_none() => Some(call),
        Target::Call(_) | Target::Codec(_) | Target::Live(_) => None,
    }
}

/// The time of the mean call that is not yet assigned to a part. It ensures that the parts add up.
struct Left {
    call_ns: f64,
    ns: f64,
}

impl Left {
    fn of(figures: &Figures) -> Option<Self> {
        let call_ns = figures.latency.as_ref()?.mean_ns;
        (call_ns > 0.0).then_some(Self {
            call_ns,
            ns: call_ns,
        })
    }

    /// Takes a part of this size, or what is left if that is less.
    fn take(&mut self, ns: f64) -> Part {
        let ns = ns.clamp(0.0, self.ns);
        self.ns -= ns;
        Part {
            ns,
            share: ns / self.call_ns,
        }
    }

    fn rest(&mut self) -> Part {
        self.take(self.ns)
    }
}
