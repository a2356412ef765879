//! Tests of the parts of a call: kernel, client, codec and server.

use rpcgauge_message::Encoding;
use rpcgauge_study::settings::{Client, CodecWork, Operation, Sample as Message, Style, Target};

use super::*;
use crate::document::Document;
use crate::findings::Parts;
use crate::fixture::{Spec, call};

/// A stack that is called by the engine and by its own client, whose latency is `by_client_ns`. `codecs` is the number
/// of measured operations of its codec: 2 for the server's side only, 4 for both sides.
fn sample(by_client_ns: f64, codecs: usize) -> Sample {
    const CODECS: [(&str, f64, Operation, Message); 4] = [
        (
            "decode-request",
            1_000.0,
            Operation::Decode,
            Message::Request,
        ),
        (
            "encode-response",
            4_000.0,
            Operation::Encode,
            Message::Response,
        ),
        (
            "encode-request",
            2_000.0,
            Operation::Encode,
            Message::Request,
        ),
        (
            "decode-response",
            7_000.0,
            Operation::Decode,
            Message::Response,
        ),
    ];
    let mut builder = Builder {
        noise: (0.0, 0.0),
        ..two(1.0)
    }
    .spec(Spec::new("by-client", by_client_ns));
    for &(name, ns, ..) in &CODECS[..codecs] {
        builder = builder.spec(Spec::new(name, ns));
    }
    let mut sample = builder.build();
    let (go, codec) = ("go/grpc-go".to_owned(), "go/protobuf".to_owned());
    sample.plan.codecs = [(go.clone(), [(Encoding::Protobuf, codec.clone())].into())].into();
    for variant in &mut sample.plan.variants {
        let (name, call) = (variant.name.clone(), call(variant));
        match CODECS.iter().find(|(codec, ..)| *codec == name) {
            Some((_, _, operation, message)) => {
                let (workload, encoding) = (call.workload.clone(), call.wire.encoding());
                variant.settings.target = Target::from(CodecWork {
                    operation: *operation,
                    sample: *message,
                    ..CodecWork::new(codec.clone(), workload, encoding)
                });
            }
            None if name == "rest" => {}
            None => {
                call.server.clone_from(&go);
                call.client = (name == "by-client").then(|| Client {
                    stack: go.clone(),
                    style: Style::Blocking,
                });
            }
        }
    }
    sample
}

fn parts<'a>(findings: &'a Findings, variant: &str) -> &'a Parts {
    let cell = &findings.variant(variant).expect("it is there").cells[0];
    cell.parts.as_ref().expect("it has parts")
}

/// The times of kernel, client, codec and server.
fn times(parts: &Parts) -> [f64; 4] {
    let client = parts.client.map_or(0.0, |part| part.ns);
    [parts.kernel.ns, client, parts.codec.ns, parts.server.ns]
}

fn is_near(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 0.01
}

#[test]
fn the_parts_of_a_call_add_up_to_it() {
    let findings = findings(&sample(150_000.0, 4));
    for variant in ["grpc", "by-client", "rest"] {
        let parts = parts(&findings, variant);
        let sum: f64 = times(parts).iter().sum();
        assert!((sum - parts.call_ns).abs() < 1.0, "{variant}: {parts:?}");
        let shares = [parts.kernel, parts.codec, parts.server].map(|part| part.share);
        let shares = shares.iter().sum::<f64>() + parts.client.expect("known").share;
        assert!((shares - 1.0).abs() < 1e-9, "{variant}: {parts:?}");
    }
    let figures = findings.figures("grpc", Placement::TwoCores).unwrap();
    let (grpc, floor) = (parts(&findings, "grpc"), figures.floor.as_ref().unwrap());
    // The fixture's client encodes for 5% of a call and decodes for 8%.
    let own = grpc.codec_of_client_ns.unwrap();
    assert!(is_near(own, 0.13 * grpc.call_ns), "{grpc:?}");
    let of_server = grpc.codec_of_server_ns.unwrap();
    assert!(is_near(grpc.codec.ns, own + of_server), "{grpc:?}");
    let cpu = figures.cpu.client.unwrap().total_ns;
    assert!(
        is_near(
            grpc.client.unwrap().ns,
            cpu - floor.client_cpu_ns.unwrap() - own
        ),
        "{grpc:?}"
    );
    assert_eq!(grpc.kernel.ns, floor.mean_ns);
    assert_eq!(grpc.codecs, ["decode-request", "encode-response"]);
    assert!(
        findings.variant("grpc-again").unwrap().cells[0]
            .parts
            .is_none()
    );
}

#[test]
fn over_a_link_the_network_has_a_part_and_the_client_is_within_the_server() {
    let mut sample = sample(150_000.0, 4);
    let mut link = rpcgauge_study::link::named("lan-1g").unwrap().unwrap();
    (link.terms.up.delay_ns, link.terms.down.delay_ns) = (1_000, 2_000);
    for variant in &mut sample.plan.variants {
        if let Target::Call(call) = &mut variant.settings.target {
            call.link = Some(link.clone());
        }
    }
    for trial in &mut sample.trials {
        if let TrialOutcome::Measured(measured) = &mut trial.outcome {
            measured.link = Some(Default::default());
        }
    }
    for floor in &mut sample.floors {
        (floor.request_bytes, floor.response_bytes) = (10, 10);
        floor.link = Some(link.name.clone());
    }
    let findings = findings(&sample);
    let grpc = parts(&findings, "grpc");
    let figures = findings.figures("grpc", Placement::TwoCores).unwrap();
    // The time of the call's packets, one in each direction, at 125 bytes/µs.
    let sending = |bytes: f64| 3_000.0 + (bytes + 2.0 * (52.0 + 38.0)) * 8.0;
    let bytes = figures.bytes.unwrap();
    let own = bytes.sent.carried() + bytes.received.carried();
    let network = grpc.network.expect("a link").ns;
    assert!(
        own > 20.0 && (network - sending(own)).abs() < 20.0,
        "{grpc:?}"
    );
    let floor = figures.floor.as_ref().unwrap().mean_ns - sending(20.0);
    assert!((grpc.kernel.ns - floor).abs() < 1.0, "{grpc:?}");
    assert_eq!(grpc.client, None);
    let sum: f64 = times(grpc).iter().sum();
    assert!((sum + network - grpc.call_ns).abs() < 1.0, "{grpc:?}");
    let by_client = &findings.variant("by-client").unwrap().cells[0];
    assert_eq!(by_client.parts, None);
}

#[test]
fn a_stacks_client_has_what_its_call_takes_beyond_the_engines() {
    let findings = findings(&sample(150_000.0, 4));
    let (engine, client) = (parts(&findings, "grpc"), parts(&findings, "by-client"));
    assert_eq!(
        (client.kernel.ns, client.server.ns),
        (engine.kernel.ns, engine.server.ns)
    );
    assert_eq!(client.codec_of_server_ns, engine.codec_of_server_ns);
    assert_eq!(client.codecs.len(), 4);
    let [kernel, own, codec, server] = times(client);
    assert!((own - (client.call_ns - kernel - codec - server)).abs() < 1.0);
    // A client that is faster than the engine leaves less time for the server.
    let findings = super::findings(&sample(60_000.0, 4));
    let faster = parts(&findings, "by-client");
    assert_eq!(faster.client.unwrap().ns, 0.0);
    assert!(faster.server.ns < parts(&findings, "grpc").server.ns);
}

#[test]
fn what_is_not_known_of_a_call_is_said() {
    let without = |codecs: usize| findings(&sample(150_000.0, codecs));
    let (none, server, both) = (without(0), without(2), without(4));
    let codec = |findings: &Findings, variant: &str| {
        let parts = parts(findings, variant);
        [parts.codec_of_client_ns, parts.codec_of_server_ns].map(|ns| ns.is_some())
    };
    assert_eq!(codec(&none, "grpc"), [true, false]);
    assert_eq!(codec(&server, "by-client"), [false, true]);
    assert_eq!(codec(&both, "by-client"), [true, true]);
    assert_eq!(codec(&both, "rest"), [true, false], "the reference server");
    let shown = |findings: &Findings| {
        let mut sections = Document::of(findings).sections.into_iter();
        sections.any(|section| section.id == "parts")
    };
    assert!(!shown(&none) && shown(&server));
    assert!(server.is_part(server.variant("decode-request").unwrap()));
    let style = crate::terminal::Style {
        color: false,
        width: 100,
        verbose: false,
    };
    let terminal = crate::terminal::render(&server, style);
    let (_, table) = terminal
        .split_once("Where a call's time goes")
        .expect("the table");
    insta::assert_snapshot!(table.split("\n\n").next().unwrap());
    assert!(!terminal.contains("decode-request"), "{terminal}");
}

#[test]
fn a_call_without_a_floor_has_no_parts() {
    let mut sample = sample(150_000.0, 4);
    sample.floors.clear();
    let findings = findings(&sample);
    let mut cells = findings.variants.iter().flat_map(|variant| &variant.cells);
    assert!(cells.all(|cell| cell.parts.is_none()));
}
