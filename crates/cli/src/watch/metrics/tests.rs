use std::collections::BTreeMap;

use rpcgauge_trial::FailureKind;

use super::*;
use crate::watch::sampler::example;

fn metrics() -> Metrics {
    Metrics::new([
        ("a".to_owned(), "http://x/\"q\"".to_owned()),
        ("b".to_owned(), "http://y/".to_owned()),
    ])
}

/// The value of the only sample whose line starts with `sample`.
#[track_caller]
fn value(text: &str, sample: &str) -> f64 {
    let mut found = text.lines().filter_map(|line| line.strip_prefix(sample));
    let value = found.next().expect("the sample");
    assert_eq!(found.next(), None, "one {sample}");
    value.trim().parse().expect("a number")
}

#[test]
fn counts_go_on_from_trial_to_trial_and_never_shrink() {
    let metrics = metrics();
    let sent = |bytes| {
        let mut progress = example([20, 30, 5_000]);
        progress.traffic.sent.header = bytes;
        progress
    };
    metrics.begin("a");
    metrics.update("a", &sent(900));
    metrics.update("a", &sent(880));
    let name = "rpcgauge_load_sent_bytes_total{target=\"a\",class=\"headers\"}";
    assert_eq!(value(&metrics.text(), name), 900.0);
    metrics.begin("a");
    metrics.update("a", &sent(100));
    assert_eq!(value(&metrics.text(), name), 1_000.0);
    let started = "rpcgauge_load_calls_started_total{target=\"a\"}";
    assert_eq!(value(&metrics.text(), started), 2.0 * 1_504.0);
    let answered = "rpcgauge_load_latency_seconds_count{target=\"a\"}";
    assert_eq!(value(&metrics.text(), answered), 9.0, "of three snapshots");
    let others = "rpcgauge_load_calls_started_total{target=\"b\"}";
    assert_eq!(value(&metrics.text(), others), 0.0);
}

#[test]
fn failures_have_their_kind_as_a_label() {
    let metrics = metrics();
    let mut progress = example([]);
    progress.failed = BTreeMap::from([
        (FailureKind::Deadline, 2),
        (FailureKind::HttpStatus(503), 7),
    ]);
    metrics.update("b", &progress);
    let of = |kind| format!("rpcgauge_load_calls_failed_total{{target=\"b\",kind=\"{kind}\"}}");
    let text = metrics.text();
    assert_eq!(value(&text, &of("http-503")), 7.0);
    assert_eq!(value(&text, &of("deadline")), 2.0);
}

/// The samples of a family come in any order, so lines are sorted. One bucket per histogram is
/// enough.
#[test]
fn every_family_has_its_name_its_type_and_its_unit() {
    let metrics = Metrics::new([("a".to_owned(), "http://x/\"q\"\\".to_owned())]);
    metrics.update("a", &example([20, 30, 5_000]));
    let text = metrics.text();
    let shown = text
        .lines()
        .filter(|line| !line.contains("le=") || line.contains("=\"0.0015\""));
    let mut lines: Vec<&str> = shown.collect();
    lines.sort_unstable();
    insta::assert_snapshot!(lines.join("\n"));
}
