//! Tests of the findings and reports of runs with known content.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rpcgauge_study::app::{
    AppBlock, AppClaim, AppLoad, AppMetric, AppPair, AppPlan, AppRun, AppVariant, AtRate,
    Configuration, JvmRecord, Metric, MetricUnit, ProcessRecord, RequestRecord, SliceFigures,
    SliceOutcome, SliceRecord, SumCount,
};
use rpcgauge_study::histogram::{Times, Unit};
use rpcgauge_study::record::Fault;
use rpcgauge_study::run::{RunInfo, RunKind};

use super::{AppFindings, of_rate};
use crate::findings::verdict::{Outcome, Withheld};
use crate::terminal::Style;

/// Blocks in each invocation.
const BLOCKS: u32 = 4;

/// Requests of a slice.
const REQUESTS: u64 = 200;

fn metric(name: &str, part_of: Option<&str>) -> Metric {
    Metric {
        name: name.to_owned(),
        title: format!("the {name}"),
        service: "gateway".to_owned(),
        metric: format!("{name}_seconds"),
        labels: BTreeMap::new(),
        unit: MetricUnit::Seconds,
        more_is_better: false,
        optional: false,
        wait: false,
        requests: vec!["search".to_owned()],
        part_of: part_of.map(str::to_owned).into_iter().collect(),
    }
}

pub(super) fn plan(invocations: u32) -> AppPlan {
    let variant = |name: &str, repeats: Option<&str>| AppVariant {
        name: name.to_owned(),
        configuration: Configuration::default(),
        repeats: repeats.map(str::to_owned),
    };
    let blocks = (0..invocations).flat_map(|invocation| {
        (0..BLOCKS).map(move |block| AppBlock {
            invocation,
            block,
            order: vec![0, 1, 2],
        })
    });
    AppPlan {
        name: "campus".to_owned(),
        question: "What do users gain?".to_owned(),
        seed: 1,
        margin: 0.03,
        confidence: 0.95,
        app: "campus".to_owned(),
        description: "a community".to_owned(),
        folder: None,
        load: AppLoad::Users {
            users: 10,
            spawn_rate: 10.0,
            tags: Vec::new(),
        },
        warm_up_ms: 1,
        settle_ms: 1,
        slice_ms: 1_000,
        variants: vec![
            variant("grpc", None),
            variant("rest", None),
            variant("rest-again", Some("rest")),
        ],
        blocks: blocks.collect(),
        metrics: vec![metric("handler", None), metric("call", Some("handler"))],
        pairs: vec![AppPair {
            of: "grpc".to_owned(),
            against: "rest".to_owned(),
            question: None,
            requests: Vec::new(),
            metrics: vec![
                AppMetric::ResponseMean,
                AppMetric::Inside("call".to_owned()),
            ],
        }],
        claims: Vec::new(),
    }
}

/// A slice whose requests take `time_ms`; the handler takes 4 ms less, and the call half of the handler.
pub(super) fn slice(time_ms: f64, failures: u64) -> SliceFigures {
    let mut times = Times::new(Unit::Ns);
    (0..REQUESTS).for_each(|_| times.add_each((1e6 * time_ms) as u64, 1));
    let all = |ms: f64| SumCount {
        sum: ms / 1e3 * REQUESTS as f64,
        count: REQUESTS as f64,
    };
    SliceFigures {
        seconds: 1.0,
        requests: vec![RequestRecord {
            name: "search".to_owned(),
            method: "GET".to_owned(),
            times: times.counts().clone().into(),
            sum_us: 1e3 * time_ms * REQUESTS as f64,
            failures,
            error: "HTTPError('500')".to_owned(),
        }],
        metrics: [
            ("handler".to_owned(), all(time_ms - 4.0)),
            ("call".to_owned(), all((time_ms - 4.0) / 2.0)),
        ]
        .into(),
        processes: vec![ProcessRecord {
            name: "gateway".to_owned(),
            is_shared: false,
            cpu_ns: Some(500_000_000),
            memory_bytes: Some(1 << 20),
            jvm: Some(JvmRecord::default()),
        }],
        load_generator_cpu_seconds: 0.1,
        task_errors: 0,
        task_error: String::new(),
        at_rate: None,
    }
}

/// A run with the slices that `of` returns for each variant, invocation and block.
pub(super) fn run(invocations: u32, mut of: impl FnMut(&str, u32, u32) -> SliceFigures) -> AppRun {
    let plan = plan(invocations);
    let mut slices = Vec::new();
    for block in &plan.blocks {
        for variant in &plan.variants {
            let figures = of(&variant.name, block.invocation, block.block);
            slices.push(SliceRecord {
                invocation: block.invocation,
                block: block.block,
                variant: variant.name.clone(),
                started_at_ms: 0,
                outcome: SliceOutcome::Measured(Box::new(figures)),
            });
        }
    }
    AppRun {
        directory: PathBuf::new(),
        info: RunInfo {
            schema: 5,
            rpcgauge: "0.1.0".to_owned(),
            created_at: "2026-11-26T08:00:00Z".to_owned(),
            study: plan.name.clone(),
            seed: plan.seed,
            kind: RunKind::App,
        },
        study: None,
        plan,
        environment: None,
        starts: Vec::new(),
        slices,
        warnings: Vec::new(),
        whole_bytes: 0,
    }
}

/// A pseudorandom factor that differs from 1 by up to 2.5%.
pub(super) fn noise(seed: &mut u64) -> f64 {
    noise_of(0.025, seed)
}

/// A pseudorandom factor that differs from 1 by up to `share`.
fn noise_of(share: f64, seed: &mut u64) -> f64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    1.0 + share * ((*seed >> 39) as f64 / f64::from(1 << 24) - 1.0)
}

#[test]
fn a_faster_configuration_is_told_by_its_ratio() {
    let mut seed = 1;
    let run = run(4, |variant, _, _| {
        let time = if variant == "grpc" { 20.0 } else { 30.0 };
        slice(time * noise(&mut seed), 0)
    });
    let findings = AppFindings::from_run(&run);
    let mean = &findings.comparisons[0];
    assert_eq!(mean.metric, AppMetric::ResponseMean);
    assert_eq!(mean.verdict.outcome, Outcome::Faster);
    let estimate = mean.verdict.estimate.unwrap();
    assert!((estimate.ratio - 2.0 / 3.0).abs() < 0.03, "{estimate:?}");
    assert_eq!((estimate.invocations, estimate.blocks), (4, 16));
    // The call takes 8 ms against 13 ms.
    let call = &findings.comparisons[1];
    assert_eq!(call.verdict.outcome, Outcome::Faster);
    let ratio = call.verdict.estimate.unwrap().ratio;
    assert!((ratio - 8.0 / 13.0).abs() < 0.03, "{ratio}");
    let text = findings.document().terminal(Style::new(false, None, None));
    assert!(text.contains("the call"), "{text}");
}

#[test]
fn a_request_s_time_is_all_in_its_parts() {
    let run = run(2, |variant, _, _| {
        slice(if variant == "grpc" { 20.0 } else { 30.0 }, 0)
    });
    let findings = AppFindings::from_run(&run);
    let bar = &findings.variants[0].bars[0];
    assert_eq!(bar.request, "search");
    let parts: Vec<(usize, f64, f64)> = bar
        .parts
        .iter()
        .map(|part| {
            (
                part.depth,
                (part.ns / 1e6).round(),
                (part.own_ns / 1e6).round(),
            )
        })
        .collect();
    // The rest of 20 ms, the handler, its self time, and the call within it.
    assert_eq!(
        parts,
        [(0, 4.0, 4.0), (0, 16.0, 0.0), (1, 8.0, 8.0), (1, 8.0, 8.0)]
    );
    let all: f64 = bar.parts.iter().map(|part| part.own_ns).sum();
    assert!((all / bar.mean_ns - 1.0).abs() < 1e-9);
}

#[test]
fn parts_that_run_at_the_same_time_are_told_wherever_the_table_is() {
    let run = run(2, |variant, _, _| {
        let mut slice = slice(20.0, 0);
        if variant == "grpc" {
            // Three concurrent calls of 8 ms each, in a handler of 16 ms.
            slice.metrics.get_mut("call").unwrap().sum *= 3.0;
        }
        slice
    });
    let findings = AppFindings::from_run(&run);
    let wide = Style::new(false, None, Some(200));
    let told = "Some parts of grpc run at the same time: together they take 28.0 ms";
    for text in [
        findings.document().terminal(wide),
        findings.document().markdown(),
        findings.document().html(),
    ] {
        assert_eq!(text.matches(told).count(), 1, "{text}");
        assert!(!text.contains("Some parts of rest"), "{text}");
    }
}

#[test]
fn a_metric_of_two_requests_is_within_another_one_in_each() {
    let mut run = run(2, |_, _, _| {
        let mut slice = slice(20.0, 0);
        let of_feed = RequestRecord {
            name: "feed".to_owned(),
            ..slice.requests[0].clone()
        };
        slice.requests.push(of_feed);
        let handler = slice.metrics["handler"];
        slice.metrics.insert("feed-handler".to_owned(), handler);
        // 2 ms in each of the two requests.
        let query = SumCount {
            sum: 2e-3 * 2.0 * REQUESTS as f64,
            count: 2.0 * REQUESTS as f64,
        };
        slice.metrics.insert("query".to_owned(), query);
        slice
    });
    run.plan.metrics.push(Metric {
        requests: vec!["feed".to_owned()],
        ..metric("feed-handler", None)
    });
    run.plan.metrics.push(Metric {
        requests: vec!["search".to_owned(), "feed".to_owned()],
        part_of: vec!["call".to_owned(), "feed-handler".to_owned()],
        ..metric("query", None)
    });
    let findings = AppFindings::from_run(&run);
    let bars = &findings.variants[0].bars;
    let parts = |at: usize| -> Vec<(usize, Option<&str>, f64)> {
        let parts = bars[at].parts.iter();
        let parts = parts.map(|part| (part.depth, part.metric.as_deref(), (part.ns / 1e6).round()));
        parts.collect()
    };
    assert_eq!((&*bars[0].request, &*bars[1].request), ("feed", "search"));
    assert_eq!(
        parts(0),
        [
            (0, None, 4.0),
            (0, Some("feed-handler"), 16.0),
            (1, None, 14.0),
            (1, Some("query"), 2.0)
        ]
    );
    assert_eq!(
        parts(1),
        [
            (0, None, 4.0),
            (0, Some("handler"), 16.0),
            (1, None, 8.0),
            (1, Some("call"), 8.0),
            (2, None, 6.0),
            (2, Some("query"), 2.0)
        ]
    );
    let text = findings.document().markdown();
    assert!(text.contains("a mean over all of them"), "{text}");
}

#[test]
fn what_is_better_when_it_is_more_is_told_in_its_own_words() {
    let mut seed = 1;
    let mut run = run(4, |variant, _, _| {
        let mut slice = slice(20.0, 0);
        let hits = if variant == "grpc" { 12.0 } else { 8.0 };
        let hits = SumCount {
            sum: hits * noise(&mut seed) * REQUESTS as f64,
            count: REQUESTS as f64,
        };
        slice.metrics.insert("hits".to_owned(), hits);
        slice
    });
    run.plan.metrics.push(Metric {
        unit: MetricUnit::Number,
        more_is_better: true,
        ..metric("hits", None)
    });
    run.plan.pairs[0].metrics = vec![AppMetric::Inside("hits".to_owned())];
    let findings = AppFindings::from_run(&run);
    assert_eq!(findings.comparisons[0].verdict.outcome, Outcome::Faster);
    let text = findings.document().terminal(Style {
        verbose: true,
        ..Style::new(false, None, Some(200))
    });
    let line = text.lines().find(|line| line.contains("grpc is 1.5"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("× larger than rest"), "{line}");
    assert!(text.contains("12.0 against 7.99 on average"), "{text}");
    // A number is not a part of a time.
    let bar = &findings.variants[0].bars[0];
    let mut parts = bar.parts.iter();
    assert!(parts.all(|part| part.metric.as_deref() != Some("hits")));
}

#[test]
fn response_times_of_requests_that_fail_have_no_verdict() {
    let run = run(2, |variant, _, _| match variant {
        "grpc" => slice(1.0 + 4.0, REQUESTS / 2),
        _ => slice(30.0, 0),
    });
    let findings = AppFindings::from_run(&run);
    let withheld = Outcome::NoVerdict {
        reason: Withheld::Unanswered,
    };
    assert_eq!(findings.comparisons[0].verdict.outcome, withheld);
    let caution = &findings.warnings[0];
    assert!(
        caution.contains("requests \"search\" failed, the first with HTTPError('500')"),
        "{caution}"
    );
}

#[test]
fn a_load_generator_at_its_limit_withholds_what_users_saw() {
    let run = run(2, |_, _, _| SliceFigures {
        load_generator_cpu_seconds: 0.95,
        ..slice(20.0, 0)
    });
    let findings = AppFindings::from_run(&run);
    let withheld = Outcome::NoVerdict {
        reason: Withheld::ClientBound,
    };
    assert_eq!(findings.comparisons[0].verdict.outcome, withheld);
    assert_ne!(findings.comparisons[1].verdict.outcome, withheld);
}

#[test]
fn a_jvm_that_stops_or_compiles_for_long_is_told() {
    let of_jvm = |jvm: JvmRecord| {
        let run = run(2, |_, _, _| {
            let mut slice = slice(20.0, 0);
            slice.processes[0].jvm = Some(jvm);
            slice
        });
        AppFindings::from_run(&run)
    };
    let jvm = JvmRecord {
        collections: 2,
        collecting_ns: 30_000_000,
        stopped_ns: 40_000_000,
        compilations: 7,
        compiling_ns: 190_000_000,
        heap_bytes: 3 << 20,
    };
    let quiet = of_jvm(jvm);
    assert_eq!(quiet.warnings, [""; 0]);
    // The sum over all slices of a variant, but the maximum of the heap.
    let all = quiet.variants[0].processes[0].jvm.unwrap();
    assert_eq!((all.collections, all.heap_bytes), (2 * 8, 3 << 20));
    let shown = quiet.document().markdown();
    assert!(
        shown.contains("| gateway | 16 | 3.0% | 4.0% | 56 | 19% |"),
        "{shown}"
    );
    let stopped = of_jvm(JvmRecord {
        stopped_ns: 90_000_000,
        ..jvm
    });
    let told =
        "grpc: the JVM of gateway was stopped for 9% of the time, for 3% by garbage collections";
    assert!(
        stopped.warnings[0].starts_with(told),
        "{:?}",
        stopped.warnings
    );
    let cold = of_jvm(JvmRecord {
        compiling_ns: 400_000_000,
        ..jvm
    });
    let [caution] = &cold.warnings[..] else {
        panic!("one for all JVMs: {:?}", cold.warnings);
    };
    assert!(
        caution.contains(
            "time: grpc (gateway 40%), rest (gateway 40%), rest-again (gateway 40%); use"
        ),
        "{caution}"
    );
}

/// The studies have three starts, and the noise of `campus` on a machine with two cores: the mean response times of two
/// equal sets differ by 16% from slice to slice (standard deviation), and by 4% from start to start.
#[test]
fn two_equal_sets_are_told_apart_in_at_most_one_study_of_twenty() {
    const STUDIES: usize = 40;
    let mut seed = 7;
    let told_apart = (0..STUDIES).filter(|_| {
        let mut starts = BTreeMap::new();
        let run = run(3, |variant, invocation, _| {
            let start = (variant.to_owned(), invocation);
            let start = starts.entry(start);
            let start = *start.or_insert_with(|| noise_of(0.05, &mut seed));
            slice(200.0 * start * noise_of(0.2, &mut seed), 0)
        });
        let verdict = AppFindings::from_run(&run).comparisons[0].verdict.outcome;
        matches!(verdict, Outcome::Faster | Outcome::Slower)
    });
    let told_apart = told_apart.count();
    assert!(told_apart * 20 <= STUDIES, "{told_apart} of {STUDIES}");
}

/// A run of two requests with everything that a report can contain: bytes, a wait, a metric without observations,
/// claims, a machine, a failed slice.
fn campus() -> AppRun {
    let mut seed = 3;
    let mut run = run(3, |variant, _, _| {
        let of = if variant == "grpc" { 20.0 } else { 30.0 };
        let (time, other) = (of * noise(&mut seed), of * 1.4 * noise(&mut seed));
        let mut both = slice(time, 0);
        let feed = slice(other, 2).requests;
        let feed = feed.into_iter().map(|one| RequestRecord {
            name: "feed".to_owned(),
            ..one
        });
        both.requests.extend(feed);
        let bytes = if variant == "grpc" { 28.4 } else { 67.3 };
        let of_each = |value: f64| SumCount {
            sum: value * REQUESTS as f64,
            count: REQUESTS as f64,
        };
        both.metrics.insert("payload".to_owned(), of_each(bytes));
        both.metrics.insert("wait".to_owned(), of_each(time / 5e3));
        both.processes.push(ProcessRecord {
            name: "postgres".to_owned(),
            is_shared: true,
            cpu_ns: Some(1_300_000_000),
            memory_bytes: Some(3 << 20),
            jvm: None,
        });
        both
    });
    let other = |name: &str, title: &str, unit| Metric {
        title: title.to_owned(),
        requests: Vec::new(),
        unit,
        ..metric(name, None)
    };
    let more = [
        other("payload", "payload of a profile", MetricUnit::Bytes),
        other(
            "wait",
            "waiting for a connection to PostgreSQL",
            MetricUnit::Seconds,
        ),
        other("thread", "waiting for a thread", MetricUnit::Seconds),
    ];
    run.plan.metrics.extend(more.map(|metric| Metric {
        wait: metric.unit == MetricUnit::Seconds,
        ..metric
    }));
    run.plan.pairs[0].metrics = AppMetric::all(&run.plan.metrics);
    let claim = |metric: &str, request: Option<&str>, ratio| AppClaim {
        of: "grpc".to_owned(),
        against: "rest".to_owned(),
        metric: AppMetric::from(metric.to_owned()),
        request: request.map(str::to_owned),
        ratio,
        source: "A students' community, 2024".to_owned(),
    };
    run.plan.claims = vec![
        claim("response-mean", Some("search"), 0.72),
        claim("call", None, 0.325),
        claim("payload", None, 0.418),
    ];
    run.environment = Some(crate::fixture::environment());
    run.slices.last_mut().unwrap().outcome = SliceOutcome::Failed {
        reason: "post ended with exit code 137".to_owned(),
        fault: Fault::Subject,
        log: "java.lang.OutOfMemoryError".to_owned(),
    };
    run
}

#[test]
fn in_the_terminal() {
    let text = AppFindings::from_run(&campus())
        .document()
        .terminal(Style::new(false, None, None));
    insta::assert_snapshot!(text);
}

#[test]
fn ranges_are_explained_where_there_are_any() {
    let text = |starts| {
        AppFindings::from_run(&run(starts, |_, _, _| slice(20.0, 0)))
            .document()
            .markdown()
    };
    let told = "Ranges are 95% intervals, over";
    assert!(text(2).contains(told), "{}", text(2));
    assert!(!text(1).contains(told), "{}", text(1));
}

#[test]
fn in_markdown() {
    insta::assert_snapshot!(AppFindings::from_run(&campus()).document().markdown());
}

/// On the page, each part of a bar has a number, which is repeated in the table, and a name for screen readers.
#[test]
fn the_bars_of_the_page() {
    let page = AppFindings::from_run(&campus()).document().html();
    let (_, section) = page.split_once("<section id=\"parts\">").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    insta::assert_snapshot!(section);
}

#[test]
fn a_wait_is_held_against_the_requests_that_it_is_in() {
    let told = |request: &str, wait| {
        let mut run = run(2, |_, _, _| {
            // Feeds take 200 ms and searches 20 ms.
            let mut slice = slice(20.0, 0);
            slice.requests.push(RequestRecord {
                name: "feed".to_owned(),
                ..self::slice(200.0, 0).requests[0].clone()
            });
            let sum = 2e-3 * REQUESTS as f64;
            let count = REQUESTS as f64;
            slice
                .metrics
                .insert("pool".to_owned(), SumCount { sum, count });
            slice
        });
        run.plan.metrics.push(Metric {
            wait,
            requests: vec![request.to_owned()],
            ..metric("pool", None)
        });
        let text = AppFindings::from_run(&run).document().markdown();
        text.contains("the pool: grpc 2.00 ms, rest 2.00 ms each time")
    };
    assert!(told("search", true));
    assert!(!told("search", false));
    assert!(!told("feed", true));
}

/// A slice of a second at a rate, in which `answered` requests succeeded.
fn at_rate(answered: u64, delay_ms: u64) -> SliceFigures {
    let mut delays = Times::new(Unit::Ns);
    (0..REQUESTS).for_each(|_| delays.add_each(1_000_000 * delay_ms, 1));
    SliceFigures {
        at_rate: Some(Box::new(AtRate {
            answered,
            spent_seconds: 2.0,
            send_delay: delays.into(),
            stalled: 0,
        })),
        ..slice(20.0, 0)
    }
}

#[test]
fn requests_per_second_at_a_rate_are_those_that_were_answered_in_time() {
    let run = run(2, |variant, _, _| {
        at_rate(if variant == "grpc" { 200 } else { 150 }, 0)
    });
    let findings = AppFindings::from_run(&run);
    let [grpc, rest] = [&findings.variants[0], &findings.variants[1]];
    assert_eq!(
        [grpc, rest].map(|one| one.requests[0].per_second),
        [200.0, 150.0]
    );
    assert_eq!(rest.requests[1].succeeded, 8 * REQUESTS);
    // Metrics and CPU time cover twice the time.
    assert_eq!(rest.processes[0].cores, Some(0.25));
    assert_eq!(rest.cpu_per_request_ns, Some(2.5e6));
    insta::assert_snapshot!(findings.warnings[0], @"rest: 200 requests per second were due and 150 succeeded: the service did not keep up, so response times grow with the length of a slice; lower the rate");
    assert_eq!(findings.warnings.len(), 2, "of the second set, too");
}

#[test]
fn a_tail_that_is_the_wait_to_be_sent_is_said() {
    let said = |delay| of_rate(&[&at_rate(REQUESTS, delay)]);
    assert_eq!(said(9), [""; 0]);
    insta::assert_snapshot!(said(15).join("\n"), @"p99 is mostly send delay (15.0 ms of 20.0 ms): calls waited for a connection or for this client, so it says little about the service");
    assert_eq!(of_rate(&[&slice(20.0, 0)]), [""; 0]);
}
