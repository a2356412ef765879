//! What a server did, in its own words: the truth that is measured, beside the one that is meant.

use std::fmt::Write as _;

use crate::clock::Nanos;

/// The percentiles that are told, in tenths of a per cent.
const PERCENTILES: [usize; 5] = [500, 950, 990, 999, 1000];

/// What happened until now.
#[derive(Debug, Default)]
pub struct Record {
    /// Calls that were answered with the message.
    pub answered: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// Bytes read from all connections.
    pub read_bytes: u64,
    /// Bytes written to all connections.
    pub written_bytes: u64,
    /// From reading a call to having written its answer; empty where the server is not asked to
    /// tell, since this is one number a call.
    delays: Vec<Nanos>,
    /// From the time that was meant to having written the answer.
    lateness: Vec<Nanos>,
}

impl Record {
    /// Adds an answer that was written at `now`.
    pub(crate) fn written(&mut self, now: Nanos, came: Nanos, due: Nanos) {
        self.delays.push(now.saturating_sub(came));
        self.lateness.push(now.saturating_sub(due));
    }

    /// One line of JSON.
    pub fn to_json(mut self) -> String {
        let mut json = format!(
            r#"{{"answered":{},"refused":{},"read_bytes":{},"written_bytes":{}"#,
            self.answered, self.refused, self.read_bytes, self.written_bytes
        );
        for (name, values) in [
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
}

/// The percentiles of sorted values by nearest rank, as a JSON object; `null` without any.
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
}
