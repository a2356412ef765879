//! Tests of sweeps: the sizes at which another variant becomes the better one.

use rpcgauge_message::workload::{OwnWorkload, WorkloadSpec};
use rpcgauge_study::plan::Metric;

use super::super::sweep::{Swept, SweptOutcome};
use super::*;
use crate::advice::Advised;
use crate::findings::decision::Criterion;
use crate::fixture::{Spec, call};
use crate::terminal::Style;

const SIZES: [u32; 4] = [10, 100, 300, 500];
const NAMES: [[&str; 4]; 3] = [
    [
        "list-grpc-n=10",
        "list-grpc-n=100",
        "list-grpc-n=300",
        "list-grpc-n=500",
    ],
    [
        "list-json-n=10",
        "list-json-n=100",
        "list-json-n=300",
        "list-json-n=500",
    ],
    [
        "list-hybrid-n=10",
        "list-hybrid-n=100",
        "list-hybrid-n=300",
        "list-hybrid-n=500",
    ],
];

/// Three ways to call at four sizes, each with a cost per call and per item, µs. The first two are compared, with a
/// question that names the size.
fn sized(costs: [(f64, f64); 3]) -> Builder {
    let mut builder = Builder {
        invocations: 8,
        blocks: 2,
        noise: (0.002, 0.002),
        ..Builder::new("sized")
    };
    for (names, (call, item)) in NAMES.iter().zip(costs) {
        for (name, n) in names.iter().zip(SIZES) {
            let ns = 1_000.0 * (call + item * f64::from(n));
            builder = builder.spec(Spec {
                group: Some("list"),
                workload: WorkloadSpec::List { n },
                encoding: match names {
                    names if names == &NAMES[0] => rpcgauge_message::Encoding::Protobuf,
                    names if names == &NAMES[1] => rpcgauge_message::Encoding::Json,
                    _ => rpcgauge_message::Encoding::Hybrid,
                },
                ..Spec::new(name, ns)
            });
        }
    }
    let again = Spec {
        repeats: Some(NAMES[0][0]),
        group: Some("list"),
        workload: WorkloadSpec::List { n: SIZES[0] },
        ..Spec::new(
            "list-grpc-n=10-again",
            1_000.0 * (costs[0].0 + costs[0].1 * 10.0),
        )
    };
    builder = builder.spec(again);
    for place in 0..SIZES.len() {
        let question = format!("Is a call faster by gRPC? (n={})", SIZES[place]);
        let metric = Metric::LatencyP50;
        builder = builder.pair(&question, NAMES[0][place], NAMES[1][place], metric);
    }
    builder.a_a("list-grpc-n=10-again", NAMES[0][0])
}

/// The findings about the first two ways, and their sentence.
fn swept(costs: [(f64, f64); 2]) -> (Swept, String) {
    let findings = findings(&sized([costs[0], costs[1], (90.0, 3.0)]).build());
    let sweep = &findings.sweeps[0];
    let crossing = &sweep.crossings[0];
    assert_eq!((findings.sweeps.len(), sweep.crossings.len()), (1, 1));
    let said = words::crossing_lines(&findings, sweep, crossing);
    (crossing.placements[0].clone(), said.join("|"))
}

#[test]
fn costs_that_cross_are_said_to_with_where() {
    let (found, said) = swept([(20.0, 0.6), (25.0, 0.5)]);
    assert_eq!(found.outcome, SweptOutcome::Crosses);
    let [turn] = found.turns[..] else {
        panic!("one")
    };
    assert!(
        turn.interval[0] < 50.0 && 50.0 < turn.interval[1],
        "{turn:?}"
    );
    assert_eq!(turn.between, [10, 100]);
    assert!(said.starts_with("By n: grpc is faster up to n≈"), "{said}");
    assert!(said.ends_with("], json from there on"), "{said}");
}

#[test]
fn costs_that_do_not_cross_have_one_ahead_throughout() {
    let (found, said) = swept([(40.0, 0.6), (25.0, 0.5)]);
    assert_eq!(found.outcome, SweptOutcome::NoCrossing);
    assert_eq!(
        said,
        "By n: no crossing up to n=500: json is faster throughout"
    );
    let (_, said) = swept([(25.0, 0.5), (25.0, 0.5)]);
    assert_eq!(
        said,
        "By n: no crossing up to n=500: no difference throughout"
    );
}

#[test]
fn sizes_that_are_not_resolved_are_named() {
    let mut sample = sized([(20.0, 0.3), (25.0, 0.5), (90.0, 3.0)]).build();
    for trial in &mut sample.trials {
        // The largest size is measured in one invocation only, so it has no interval.
        if trial.variant.ends_with("n=500") && trial.trial.invocation > 0 {
            trial.outcome = TrialOutcome::Failed {
                reason: "it was in use".to_owned(),
                fault: rpcgauge_study::record::Fault::Machine,
                requests_sent: None,
                log: String::new(),
            };
        }
    }
    let findings = findings(&sample);
    let sweep = &findings.sweeps[0];
    let crossing = &sweep.crossings[0];
    assert_eq!(crossing.placements[0].outcome, SweptOutcome::NotResolved);
    let said = words::crossing(&findings, sweep, crossing);
    assert_eq!(
        said,
        "By n: a crossing is not resolved: grpc is faster at n=10 to 300, not resolved at n=500."
    );
}

#[test]
fn every_line_of_the_group_is_drawn_and_every_report_says_where_they_cross() {
    let findings = findings(&sized([(20.0, 0.6), (25.0, 0.5), (90.0, 3.0)]).build());
    let names: Vec<&str> = findings.sweeps[0].series.iter().map(|s| &*s.name).collect();
    assert_eq!(names, ["list-grpc", "list-json", "list-hybrid"]);
    let style = crate::Style::new(false, None, Some(100));
    for text in [
        crate::html::render(&findings),
        crate::markdown::render(&findings),
        crate::terminal::render(&findings, style),
        crate::json::render(&findings).unwrap(),
    ] {
        assert!(text.contains("rpc is faster up to n≈"), "{text}");
    }
    let page = crate::html::render(&findings);
    assert!(page.contains("<figcaption>P50 latency by n</figcaption>"));
    assert_eq!(page.matches("class=\"cross at\"").count(), 1);
}

#[test]
fn a_sweep_of_ones_own_message_is_by_its_scale_over_groups() {
    let mut sample = sized([(20.0, 0.6), (25.0, 0.5), (90.0, 3.0)]).build();
    let renamed = |name: &str| {
        let (way, n) = name.split_once("-n=").unwrap();
        let (n, again) = n.split_once('-').map_or((n, ""), |_| ("10", "-again"));
        format!("scale={n}-{}{again}", way.trim_start_matches("list-"))
    };
    for variant in &mut sample.plan.variants {
        variant.name = renamed(&variant.name);
        variant.repeats = variant.repeats.take().map(|name| renamed(&name));
        variant.group = variant
            .name
            .split_once('-')
            .map(|(group, _)| group.to_owned());
        let size: u32 = variant.group.as_ref().unwrap()["scale=".len()..]
            .parse()
            .unwrap();
        variant.scale = Some(size);
        let own = OwnWorkload {
            descriptor_set: String::new(),
            method: "shop.Orders/Get".to_owned(),
            request: serde_json::Value::Null,
            response: serde_json::Value::from(size),
        };
        call(variant).workload = WorkloadSpec::Own(Box::new(own));
    }
    for pair in &mut sample.plan.pairs {
        (pair.of, pair.against) = (renamed(&pair.of), renamed(&pair.against));
        pair.question = "Is a call faster with grpc than with json?".to_owned();
    }
    for trial in &mut sample.trials {
        trial.variant = renamed(&trial.variant);
    }
    sample.floors.clear();
    let findings = findings(&sample);
    let sweep = &findings.sweeps[0];
    let said = words::crossing_lines(&findings, sweep, &sweep.crossings[0]).join("|");
    assert!(
        said.starts_with("By scale: grpc is faster up to scale≈"),
        "{said}"
    );
}

#[test]
fn advice_says_at_which_sizes_verdicts_turn() {
    let sample = sized([(100.0, 0.5), (60.0, 0.9), (90.0, 3.0)]).build();
    let rate = (Criterion::Latency, 1_000.0);
    let advised = Advised::from_findings(findings(&sample), &sample.plan, rate, |_| {}).unwrap();
    let text = advised
        .document()
        .terminal(Style::new(false, None, Some(120)));
    assert_eq!(advised.advice.len(), SIZES.len(), "one for each size");
    let turns = "list-grpc against list-json, p50 latency. By n: json is faster up to";
    assert_eq!(text.matches(turns).count(), 1, "{text}");
    assert!(!text.contains("list-hybrid against"), "{text}");
}
