//! The text format of OpenMetrics 1.0.

use std::fmt::{Display, Write as _};

use rpcgauge_load::ByteCount;

use super::buckets::{Buckets, bounds};
use super::{Counts, Target};

/// What a family of metrics is.
#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
    Info,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }
}

/// A family's name, its help, and where its value is found.
type Family<From, To> = (&'static str, &'static str, fn(&From) -> To);

/// Where a histogram is found.
type OfTarget = fn(&Target) -> &Buckets;

/// The figures of all targets.
pub(super) fn text(targets: &[Target]) -> String {
    let mut page = Page::default();
    page.family(Kind::Info, "rpcgauge_build", "", "The program.");
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    page.sample("rpcgauge_build_info", &version, 1);
    page.family(Kind::Info, "rpcgauge_load_target", "", "What is called.");
    for target in targets {
        let labels = [("target", target.name.as_str()), ("called", &target.called)];
        page.sample("rpcgauge_load_target_info", &labels, 1);
    }
    calls(&mut page, targets);
    bytes(&mut page, targets);
    times(&mut page, targets);
    page.text.push_str("# EOF\n");
    page.text
}

fn calls(page: &mut Page, targets: &[Target]) {
    let counters: [Family<Counts, u64>; 4] = [
        ("rpcgauge_load_calls_started", "Calls that were due.", |c| {
            c.started
        }),
        (
            "rpcgauge_load_calls_sent",
            "Calls given to the transport.",
            |c| c.sent,
        ),
        (
            "rpcgauge_load_calls_answered",
            "Calls that succeeded.",
            |c| c.answered,
        ),
        (
            "rpcgauge_load_calls_retried",
            "Sends of calls beyond their first.",
            |c| c.retried,
        ),
    ];
    for (name, help, count) in counters {
        page.family(Kind::Counter, name, "", help);
        for target in targets {
            let labels = [("target", target.name.as_str())];
            page.sample(&format!("{name}_total"), &labels, count(&target.counts()));
        }
    }
    let name = "rpcgauge_load_calls_failed";
    page.family(Kind::Counter, name, "", "Calls that failed, by kind.");
    for target in targets {
        for (kind, count) in target.counts().failed {
            let labels = [("target", target.name.as_str()), ("kind", &kind)];
            page.sample("rpcgauge_load_calls_failed_total", &labels, count);
        }
    }
    let name = "rpcgauge_load_calls_in_flight";
    let help = "Calls that were begun and have not ended.";
    page.family(Kind::Gauge, name, "", help);
    for target in targets {
        page.sample(name, &[("target", &target.name)], target.in_flight);
    }
}

fn bytes(page: &mut Page, targets: &[Target]) {
    let directions: [Family<Counts, ByteCount>; 2] = [
        ("rpcgauge_load_sent_bytes", "Bytes sent, by class.", |c| {
            c.traffic.sent
        }),
        (
            "rpcgauge_load_received_bytes",
            "Bytes received, by class.",
            |c| c.traffic.received,
        ),
    ];
    for (name, help, of) in directions {
        page.family(Kind::Counter, name, "bytes", help);
        for target in targets {
            let count = of(&target.counts());
            let classes = [
                ("headers", count.header + count.marks),
                ("bodies", count.body),
                ("overhead", count.overhead),
            ];
            for (class, bytes) in classes {
                let labels = [("target", target.name.as_str()), ("class", class)];
                page.sample(&format!("{name}_total"), &labels, bytes);
            }
        }
    }
}

fn times(page: &mut Page, targets: &[Target]) {
    let histograms: [(&str, &str, OfTarget); 3] = [
        (
            "rpcgauge_load_latency_seconds",
            "Latency of the calls that succeeded, from when they were due.",
            |target| &target.latency,
        ),
        (
            "rpcgauge_load_failed_latency_seconds",
            "Latency of the calls that failed, from when they were due.",
            |target| &target.failed_latency,
        ),
        (
            "rpcgauge_load_send_delay_seconds",
            "How long after they were due calls were begun.",
            |target| &target.send_delay,
        ),
    ];
    for (name, help, of) in histograms {
        page.family(Kind::Histogram, name, "seconds", help);
        for target in targets {
            page.histogram(name, &target.name, of(target));
        }
    }
}

/// The text as far as it is written.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    /// Begins a family. The name of one that has a unit ends in it.
    fn family(&mut self, kind: Kind, name: &str, unit: &str, help: &str) {
        let _ = writeln!(self.text, "# TYPE {name} {}", kind.word());
        if !unit.is_empty() {
            let _ = writeln!(self.text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.text, "# HELP {name} {}", escaped(help));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let _ = writeln!(self.text, "{name}{{{}}} {value}", labels.join(","));
    }

    fn histogram(&mut self, name: &str, target: &str, buckets: &Buckets) {
        let bucket = format!("{name}_bucket");
        let bounds = bounds().map(bound).into_iter();
        let mut all = 0;
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(buckets.cumulative()) {
            self.sample(&bucket, &[("target", target), ("le", &bound)], count);
            all = count;
        }
        let labels = [("target", target)];
        self.sample(&format!("{name}_count"), &labels, all);
        let sum = format!("{:?}", buckets.sum_s());
        self.sample(&format!("{name}_sum"), &labels, sum);
    }
}

/// A bound in seconds, in the canonical form of numbers: `1e-05`, `0.001`, `1.0`.
fn bound(ns: u64) -> String {
    let text = format!("{:?}", ns as f64 / 1e9);
    match text.split_once("e-") {
        Some((mantissa, exponent)) => format!("{mantissa}e-{exponent:0>2}"),
        None => text,
    }
}

/// A text without what would end it.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_canonical_numbers() {
        let shown = [10_000, 15_000, 100_000, 150_000, 1_000_000, 1_000_000_000].map(bound);
        assert_eq!(
            shown,
            ["1e-05", "1.5e-05", "0.0001", "0.00015", "0.001", "1.0"]
        );
    }

    #[test]
    fn labels_hold_anything() {
        assert_eq!(escaped("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
    }
}
