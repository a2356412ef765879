//! The server's own record: actual times, as opposed to the intended ones.

use std::fmt::Write as _;

use crate::clock::{Nanos, SECOND};

/// The percentiles to report, in tenths of a percent.
const PERCENTILES: [usize; 5] = [500, 950, 990, 999, 1000];

/// A call, or a message of a stream, whose response is being written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    /// When its last byte arrived. For a message that is sent unasked, when the one before it was due.
    pub(crate) came: Nanos,
    /// When the response was due.
    pub(crate) due: Nanos,
}

/// What the server has done so far.
#[derive(Debug, Default)]
pub struct Record {
    /// Connections that were accepted.
    pub connections: u64,
    /// Calls that arrived.
    pub calls: u64,
    /// Calls that were answered with the message, or with all messages of a stream.
    pub answered: u64,
    /// Messages of streams that were sent.
    pub messages: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// Bytes read from all connections.
    pub read_bytes: u64,
    /// Bytes written to all connections.
    pub written_bytes: u64,
    /// The number of arrivals still to be excluded from the values below. Calls arrive; if clients
    /// stream, their messages do.
    unrecorded: u64,
    /// When the first and the last recorded arrival was.
    arrivals: Option<(Nanos, Nanos)>,
    arrived: u64,
    /// From an arrival to the due time of its response. Empty if the server does not record times, because
    /// every call adds a value.
    meant: Vec<Nanos>,
    /// From an arrival until its response was written.
    delays: Vec<Nanos>,
    /// From the due time until the response was written.
    lateness: Vec<Nanos>,
}

impl Record {
    /// Creates a record that excludes the times of the first `unrecorded` arrivals, with which a load generator
    /// may test the server before its load.
    pub fn without_first(unrecorded: u64) -> Self {
        Self {
            unrecorded,
            ..Self::default()
        }
    }

    /// Adds a call that arrived at `came`. Returns whether to record its response.
    pub(crate) fn came(&mut self, came: Nanos) -> bool {
        self.calls += 1;
        self.arrived(came)
    }

    /// Adds an arrival. Returns whether to record its response.
    pub(crate) fn arrived(&mut self, came: Nanos) -> bool {
        if self.unrecorded > 0 {
            self.unrecorded -= 1;
            return false;
        }
        self.arrived += 1;
        let (first, last) = self.arrivals.get_or_insert((came, came));
        (*first, *last) = ((*first).min(came), (*last).max(came));
        true
    }

    /// Adds a response that was written at `now`.
    pub(crate) fn written(&mut self, now: Nanos, call: Answered) {
        self.meant.push(call.due.saturating_sub(call.came));
        self.delays.push(now.saturating_sub(call.came));
        self.lateness.push(now.saturating_sub(call.due));
    }

    /// The counts so far, as one line of JSON.
    pub fn counts(&self) -> String {
        format!("{{{}}}", self.count_fields())
    }

    /// The whole record, as one line of JSON.
    pub fn to_json(mut self) -> String {
        let mut json = format!("{{{}", self.count_fields());
        let _ = match self.arrivals {
            Some((first, last)) if last > first => {
                let per_second = (self.arrived - 1) as f64 * SECOND as f64 / (last - first) as f64;
                write!(json, r#","arrived_per_second":{per_second}"#)
            }
            _ => write!(json, r#","arrived_per_second":null"#),
        };
        for (name, values) in [
            ("meant", &mut self.meant),
            ("delay", &mut self.delays),
            ("lateness", &mut self.lateness),
        ] {
            values.sort_unstable();
            let _ = write!(json, r#","{name}_ns":"#);
            json.push_str(&percentiles(values));
        }
        json.push('}');
        json
    }

    fn count_fields(&self) -> String {
        let counts = [
            ("connections", self.connections),
            ("calls", self.calls),
            ("answered", self.answered),
            ("messages", self.messages),
            ("refused", self.refused),
            ("read_bytes", self.read_bytes),
            ("written_bytes", self.written_bytes),
        ];
        counts
            .map(|(name, count)| format!(r#""{name}":{count}"#))
            .join(",")
    }
}

/// The nearest-rank percentiles of sorted values as a JSON object, or `null` if there are no values.
fn percentiles(sorted: &[Nanos]) -> String {
    if sorted.is_empty() {
        return "null".to_owned();
    }
    let at = |tenths: usize| {
        let rank = (tenths * sorted.len()).div_ceil(1000).max(1);
        format!(r#""{}":{}"#, tenths as f64 / 10.0, sorted[rank - 1])
    };
    format!("{{{}}}", PERCENTILES.map(at).join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let values: Vec<Nanos> = (1..=1000).collect();
        let wanted = r#"{"50":500,"95":950,"99":990,"99.9":999,"100":1000}"#;
        assert_eq!(percentiles(&values), wanted);
        assert_eq!(
            percentiles(&[7]),
            r#"{"50":7,"95":7,"99":7,"99.9":7,"100":7}"#
        );
        assert_eq!(percentiles(&[]), "null");
    }

    #[test]
    fn the_times_do_not_include_the_first_calls() {
        let mut record = Record::without_first(1);
        assert!(!record.came(1));
        let calls = [5 * SECOND, 6 * SECOND, 7 * SECOND];
        for came in calls {
            assert!(record.came(came));
            let due = came + 10;
            record.written(due + 3, Answered { came, due });
        }
        let json = record.to_json();
        for wanted in [
            r#""calls":4"#,
            r#""arrived_per_second":1,"#,
            r#""meant_ns":{"50":10"#,
            r#""delay_ns":{"50":13"#,
            r#""lateness_ns":{"50":3"#,
        ] {
            assert!(json.contains(wanted), "{wanted} in {json}");
        }
    }
}
