//! Writes each second's latencies as an HdrHistogram interval log (`.hlog`).

use std::io::{self, Write};
use std::time::{Duration, Instant, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriter, IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use rpcgauge_load::Histogram;

use super::sampler::Snapshot;

/// Histograms are in ns. The maximum in each line of the log, which is for people, is in ms.
const NS_PER_MS: f64 = 1e6;

/// Writes an interval log, version 1.3.
pub(super) struct IntervalLog<'a, W: Write> {
    writer: IntervalLogWriter<'a, 'a, W, V2DeflateSerializer>,
    /// Time 0 of the log.
    began: Instant,
}

impl<'a, W: Write> IntervalLog<'a, W> {
    pub(super) fn begin(
        file: &'a mut W,
        serializer: &'a mut V2DeflateSerializer,
    ) -> io::Result<Self> {
        let writer = IntervalLogWriterBuilder::new()
            .add_comment(concat!(
                "[Logged with rpcgauge ",
                env!("CARGO_PKG_VERSION"),
                "]"
            ))
            .add_comment("[Histogram log format version 1.3]")
            .with_start_time(SystemTime::now())
            .with_max_value_divisor(NS_PER_MS)
            .begin_log_with(file, serializer)?;
        Ok(Self {
            writer,
            began: Instant::now(),
        })
    }

    /// Writes an interval: one line for successful calls, and one for failed calls, if any.
    /// `variant` is the tag if there are several variants.
    pub(super) fn write(&mut self, snapshot: &Snapshot, variant: Option<&str>) -> io::Result<()> {
        let ended = snapshot.at.saturating_duration_since(self.began);
        let (interval, times) = (snapshot.progress.interval, &snapshot.progress.times);
        let start = ended.saturating_sub(interval);
        let failed = match variant {
            Some(variant) => format!("{variant}-failed"),
            None => "failed".to_owned(),
        };
        self.line(&times.latency, start, interval, variant)?;
        if times.failed_latency.is_empty() {
            return Ok(());
        }
        self.line(&times.failed_latency, start, interval, Some(&failed))
    }

    fn line(
        &mut self,
        times: &Histogram,
        start: Duration,
        length: Duration,
        tag: Option<&str>,
    ) -> io::Result<()> {
        let written = self
            .writer
            .write_histogram(times, start, length, tag.and_then(Tag::new));
        written.map_err(|error| match error {
            IntervalLogWriterError::IoError(error) => error,
            IntervalLogWriterError::SerializeError(error) => io::Error::other(error),
        })
    }
}
