//! The requests of Prometheus remote write 1.0: protobuf, compressed with Snappy.

use std::collections::HashSet;

use prost::Message;
use rpcgauge_lab::app::samples;

/// `prometheus.WriteRequest`, with the fields that are used here.
#[derive(Clone, PartialEq, Message)]
pub(super) struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    series: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    /// Sorted by name, as receivers require.
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Eq, Hash, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    /// Time since the epoch.
    #[prost(int64, tag = "2")]
    ms: i64,
}

impl WriteRequest {
    pub(super) fn compressed(&self) -> Result<Vec<u8>, snap::Error> {
        snap::raw::Encoder::new().compress_vec(&self.encode_to_vec())
    }
}

/// The series that the receiver may have.
pub(super) struct Sent {
    series: HashSet<Vec<Label>>,
    /// The time of the last request that may have arrived; at first, of the start.
    ms: i64,
}

impl Sent {
    pub(super) fn nothing(start_ms: i64) -> Self {
        Self {
            series: HashSet::new(),
            ms: start_ms,
        }
    }

    /// The request with all samples of a text of metrics, each with these labels in addition to its own.
    ///
    /// A count that the receiver does not have yet begins with 0, at most `max_gap_ms` before. Without that, the
    /// receiver's rate would leave out the failures counted before the first request that contains their kind.
    pub(super) fn request(
        &self,
        text: &str,
        more: &[(&str, String)],
        ms: i64,
        max_gap_ms: i64,
    ) -> WriteRequest {
        let series = samples(text).map(|sample| {
            let label = |name: &str, value: &str| Label {
                name: name.to_owned(),
                value: value.to_owned(),
            };
            let own = sample.labels.iter();
            let own = own.map(|(name, value)| label(name, value));
            let more = more.iter().map(|(name, value)| label(name, value));
            let mut labels: Vec<Label> = own.chain(more).collect();
            labels.push(label("__name__", sample.name));
            labels.sort_by(|one, other| one.name.cmp(&other.name));
            let is_new = is_count(sample.name) && !self.series.contains(&labels);
            let zero = (is_new && sample.value > 0.0).then(|| Sample {
                value: 0.0,
                ms: self.ms.max(ms - max_gap_ms),
            });
            let value = sample.value;
            let samples = zero.into_iter().chain([Sample { value, ms }]).collect();
            TimeSeries { labels, samples }
        });
        WriteRequest {
            series: series.collect(),
        }
    }

    /// Adds the series of a request that may have arrived. A later 0 would look like a restart of the count.
    pub(super) fn add(&mut self, request: WriteRequest, ms: i64) {
        let labels = request.series.into_iter().map(|series| series.labels);
        self.series.extend(labels);
        self.ms = ms;
    }
}

/// Whether a sample counts from 0.
fn is_count(name: &str) -> bool {
    let endings = ["_total", "_bucket", "_count", "_sum"];
    endings.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line for each series of a request.
    fn shown(request: &WriteRequest) -> String {
        let lines = request.series.iter().map(|series| {
            let labels = series.labels.iter();
            let labels: Vec<String> = labels
                .map(|label| format!("{}={}", label.name, label.value))
                .collect();
            let samples = series.samples.iter();
            let samples: Vec<String> = samples
                .map(|sample| format!("{} at {}", sample.value, sample.ms))
                .collect();
            format!("{}: {}", labels.join(" "), samples.join(", "))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    const TEXT: &str = "# TYPE calls counter\n\
        calls_failed_total{target=\"a\",kind=\"deadline\"} 7\n\
        calls_total{target=\"a\"} 0\n\
        calls_in_flight{target=\"a\"} 3\n\
        # EOF\n";

    #[test]
    fn a_count_that_is_new_to_the_receiver_begins_with_0() {
        let more = [("job", "rpcgauge".to_owned())];
        let mut sent = Sent::nothing(1_000);
        let first = sent.request(TEXT, &more, 3_000, 5_000);
        insta::assert_snapshot!(shown(&first), @r"
        __name__=calls_failed_total job=rpcgauge kind=deadline target=a: 0 at 1000, 7 at 3000
        __name__=calls_total job=rpcgauge target=a: 0 at 3000
        __name__=calls_in_flight job=rpcgauge target=a: 3 at 3000
        ");
        // Nobody listened, and the next one comes late.
        let second = sent.request(TEXT, &more, 9_000, 5_000);
        let line = shown(&second);
        assert!(
            line.contains("deadline target=a: 0 at 4000, 7 at 9000"),
            "{line}"
        );
        sent.add(second, 9_000);
        let third = shown(&sent.request(TEXT, &more, 10_000, 5_000));
        assert!(third.contains("deadline target=a: 7 at 10000"), "{third}");
    }

    #[test]
    fn a_request_is_decompressed_to_the_same_series() {
        let request = Sent::nothing(0).request(TEXT, &[], 1, 1);
        let bytes = request.compressed().expect("it is short");
        let plain = snap::raw::Decoder::new().decompress_vec(&bytes);
        let read = WriteRequest::decode(&*plain.expect("Snappy"));
        assert_eq!(read.expect("protobuf"), request);
    }
}
