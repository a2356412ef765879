//! Tests of advice: what is chosen by each criterion, what it saves, and what is said about it.

use rpcgauge_stats::Unresolved;
use rpcgauge_study::record::TrialOutcome;

use super::*;
use crate::findings::decision::Prices;
use crate::findings::verdict::{Outcome, Withheld};
use crate::fixture::{Sample, call, findings, two};
use crate::terminal::Style;

const CPU_ONLY: Criterion = Criterion::Price(Prices {
    core_hour: 0.04,
    gigabyte: 0.0,
});

fn advised(sample: &Sample, criterion: Criterion) -> Advised {
    let settings = |stack: &mut AdvisedStack| {
        stack.recommended = vec!["one channel for all calls".to_owned()];
        stack.snippet = Some(Snippet {
            file: "client.go".to_owned(),
            code: "conn, err := grpc.NewClient(address)\n\treturn conn\n".to_owned(),
        });
    };
    let findings = findings(sample);
    Advised::from_findings(findings, &sample.plan, (criterion, 1_000.0), settings).unwrap()
}

fn choice(sample: &Sample, criterion: Criterion) -> Option<String> {
    let advised = advised(sample, criterion);
    let [advice] = &advised.advice[..] else {
        panic!("{:?}", advised.advice);
    };
    advice.decision.choice().map(str::to_owned)
}

/// gRPC is twice as fast and takes far more CPU. Both are called on stacks.
fn fast_but_expensive() -> Sample {
    let mut sample = two(2.0).build().with_server_cpu("grpc", 20);
    for variant in &mut sample.plan.variants {
        call(variant).server = "go/grpc-go".to_owned();
    }
    sample
}

#[test]
fn the_choice_depends_on_the_criterion() {
    let sample = fast_but_expensive();
    let by = |criterion| choice(&sample, criterion);
    assert_eq!(by(Criterion::LatencyAndCpu), None);
    assert_eq!(by(Criterion::Latency).as_deref(), Some("grpc"));
    assert_eq!(by(Criterion::Cpu).as_deref(), Some("rest"));
    assert_eq!(by(CPU_ONLY).as_deref(), Some("rest"));
}

#[test]
fn advice_says_what_the_choice_saves_with_which_settings() {
    let advised = advised(&fast_but_expensive(), CPU_ONLY);
    insta::assert_snapshot!(
        advised
            .document()
            .terminal(Style::new(false, None, Some(120)))
    );
}

#[test]
fn settings_are_advised_only_if_the_data_resolve_a_choice() {
    let stacks = |sample: &Sample, criterion| {
        let advised = advised(sample, criterion);
        advised.advice[0].stacks.len()
    };
    let sample = fast_but_expensive();
    assert_eq!(stacks(&sample, Criterion::Cpu), 1);
    assert_eq!(stacks(&sample, Criterion::LatencyAndCpu), 0);
    let alike = two(1.0).build();
    let by_latency = advised(&alike, Criterion::Latency);
    let decision = &by_latency.advice[0].decision;
    assert_eq!(decision.placements[0].alike.len(), 1);
    assert_eq!(by_latency.advice[0].stacks, []);
    let text = by_latency
        .document()
        .terminal(Style::new(false, None, Some(120)));
    assert!(text.contains("No difference in latency is shown"), "{text}");
}

#[test]
fn what_is_saved_has_the_sign_and_the_range_of_the_ratio() {
    let advised = advised(&fast_but_expensive(), CPU_ONLY);
    let [saved] = &advised.advice[0].savings[..] else {
        panic!("one other variant");
    };
    let amount = |amount: Option<Amount>| {
        let amount = amount.unwrap();
        let [low, high] = amount.range.unwrap();
        assert!(low <= amount.value && amount.value <= high, "{amount:?}");
        assert!(amount.resolved, "{amount:?}");
        amount.value
    };
    assert_eq!(saved.against, "grpc");
    assert!(amount(saved.latency_ns) < 0.0, "{saved:?}");
    let million = amount(saved.per_million.core_hours);
    let month = amount(saved.per_month.core_hours);
    assert!(million > 0.0, "{saved:?}");
    // 1,000 calls per second for 730 hours.
    assert!((month / million / 2_628.0 - 1.0).abs() < 1e-9, "{saved:?}");
    let price = amount(saved.per_month.price);
    assert!((price / month / 0.04 - 1.0).abs() < 1e-9, "{saved:?}");
}

#[test]
fn a_price_that_differs_by_less_than_the_margin_decides_nothing() {
    // 1% less CPU on the server: the interval excludes 1, but lies within the margin.
    let mut sample = two(1.0).build();
    for record in &mut sample.trials {
        if let TrialOutcome::Measured(measured) = &mut record.outcome {
            let server = measured.cpu.server.as_mut().expect("the server's CPU");
            let factor = if record.variant.starts_with("grpc") {
                99
            } else {
                100
            };
            server.total_ns = 100_000 * factor;
            measured
                .cpu
                .client
                .as_mut()
                .expect("the client's CPU")
                .total_ns = 0;
        }
    }
    let by_price = advised(&sample, CPU_ONLY);
    let own = &by_price.advice[0].decision.placements[0];
    assert_eq!(own.alike.len(), 1, "{own:?}");
    sample.plan.margin = 0.001;
    assert_eq!(choice(&sample, CPU_ONLY).as_deref(), Some("grpc"));
}

#[test]
fn an_unresolved_amount_may_be_nothing() {
    let verdict = |outcome, interval| {
        let advised = advised(&fast_but_expensive(), Criterion::Latency);
        let decision = &advised.advice[0].decision;
        let saving = decision.placements[0].saving.clone().expect("verdicts");
        let mut verdict = saving.verdicts[0].verdict.clone();
        (verdict.of_value, verdict.against_value) = (Some(80.0), Some(100.0));
        verdict.outcome = outcome;
        let estimate = verdict.estimate.as_mut().expect("an estimate");
        estimate.interval = interval;
        Amount::saved(&verdict)
    };
    let saved = verdict(Outcome::Faster, Some([0.75, 0.875])).unwrap();
    assert_eq!((saved.value, saved.resolved), (20.0, true));
    let [low, high] = saved.range.unwrap();
    assert!((low - 12.5).abs() < 1e-9 && (high - 25.0).abs() < 1e-9);
    let not_resolved = Outcome::NotResolved {
        reason: Unresolved::NotBeyondAa,
        more: None,
    };
    let open = verdict(not_resolved, Some([0.75, 0.875])).unwrap();
    let [low, high] = open.range.unwrap();
    assert!(low <= -25.0 && high >= 25.0 && !open.resolved, "{open:?}");
    let reason = Withheld::NotMeasured;
    assert_eq!(verdict(Outcome::NoVerdict { reason }, None), None);

    // Bytes that are not resolved do not hide CPU that is.
    let prices = Prices {
        core_hour: 3.6e12,
        gigabyte: 1e9,
    };
    let few = open.map(|value| value / 100.0);
    let price = prices.saved(Some(saved), Some(few)).unwrap();
    assert!(price.resolved && price.range.unwrap()[0] > 0.0, "{price:?}");
    // Nor do a few bytes that are resolved decide for CPU that is not.
    let few = saved.map(|value| value / 100.0);
    let price = prices.saved(Some(open), Some(few)).unwrap();
    assert!(!price.resolved, "{price:?}");
    assert_eq!(prices.saved(Some(saved), None), None);
    let opposite = Amount {
        value: -20.0,
        range: Some([-25.0, -12.5]),
        resolved: true,
    };
    let balanced = prices.saved(Some(saved), Some(opposite)).unwrap();
    assert!(!balanced.resolved, "{balanced:?}");
    let of_cpu = Prices {
        gigabyte: 0.0,
        ..prices
    };
    assert_eq!(of_cpu.saved(Some(saved), None).unwrap().range, saved.range);
}

#[test]
fn what_cannot_be_decided_has_a_reason() {
    let mut sample = two(2.0).build();
    for record in &mut sample.trials {
        if let TrialOutcome::Measured(measured) = &mut record.outcome {
            (measured.cpu.client, measured.cpu.server) = (None, None);
        }
    }
    let why = |sample: &Sample, criterion| advised(sample, criterion).no_advice();
    let no_cpu = why(&sample, Criterion::Cpu).unwrap();
    assert!(
        no_cpu.contains("the CPU of some variants was not measured"),
        "{no_cpu}"
    );
    assert_eq!(why(&sample, CPU_ONLY).as_deref(), Some(&*no_cpu));
    assert_eq!(why(&sample, Criterion::Latency), None);
    sample.trials.clear();
    let nothing = why(&sample, Criterion::Latency).unwrap();
    assert!(
        nothing.contains("fewer than two variants have a latency"),
        "{nothing}"
    );
    sample.plan.pairs.clear();
    let nothing = why(&sample, Criterion::Latency).unwrap();
    assert!(nothing.contains("no two of its variants"), "{nothing}");
}

#[test]
fn settings_that_snippets_do_not_have_are_named() {
    let mut sample = fast_but_expensive();
    for variant in &mut sample.plan.variants {
        let call = call(variant);
        (call.tls, call.transport) = (true, Transport::Unix);
    }
    let advised = advised(&sample, Criterion::Cpu);
    let [stack] = &advised.advice[0].stacks[..] else {
        panic!("{:?}", advised.advice[0].stacks);
    };
    assert_eq!(stack.without_snippet, ["TLS", "a Unix socket"]);
    assert_eq!(stack.snippet, None);
    let text = advised
        .document()
        .terminal(Style::new(false, None, Some(120)));
    assert!(
        text.contains("no code is available with TLS, a Unix socket"),
        "{text}"
    );
}
