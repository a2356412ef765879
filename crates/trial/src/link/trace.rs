//! Traces of a changing rate, in mahimahi's format.

use std::fmt;

use super::{MAX_OPPORTUNITIES, Trace};

/// Why a text is not a valid trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceError {
    /// The line, from 1; `None` if the error concerns the whole file.
    pub line: Option<usize>,
    what: &'static str,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(self.what),
        }
    }
}

impl std::error::Error for TraceError {}

impl Trace {
    /// Parses a trace: each line is a time in ms at which 1,500 bytes can be sent.
    ///
    /// # Errors
    /// If a line is not a valid time, or the file as a whole is invalid.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let mut at_ms = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let wrong = |what| TraceError {
                line: Some(line),
                what,
            };
            let ms = text.trim_ascii().parse();
            let ms = ms.map_err(|_| wrong("expected a time in whole ms, such as 12"))?;
            if at_ms.last().is_some_and(|last| *last > ms) {
                return Err(wrong(
                    "this time is earlier than the one on the previous line",
                ));
            }
            if at_ms.len() == MAX_OPPORTUNITIES {
                return Err(wrong("a trace can have at most 4,000,000 lines"));
            }
            at_ms.push(ms);
        }
        match at_ms.last() {
            None => Err("it is empty"),
            Some(0) => Err("it must last at least 1 ms"),
            Some(_) => Ok(()),
        }
        .map_err(|what| TraceError { line: None, what })?;
        Ok(Self {
            file: file.to_owned(),
            at_ms,
        })
    }
}

/// Serializes times as a single string of the gaps between them. In a list, each time would take up
/// a line of the plan.
pub(super) mod gaps {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        times: &[u32],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut last = 0;
        let gaps = times.iter().map(|time| {
            let gap = time.saturating_sub(last);
            last = *time;
            gap.to_string()
        });
        serializer.serialize_str(&gaps.collect::<Vec<_>>().join(" "))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u32>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut time = 0_u32;
        let times = text.split_ascii_whitespace().map(|gap| {
            time = time.checked_add(gap.parse().ok()?)?;
            Some(time)
        });
        let times: Option<Vec<u32>> = times.collect();
        times.ok_or_else(|| {
            D::Error::custom("a trace must be whole numbers of ms, separated by spaces")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_opportunity() {
        let trace = Trace::parse("x.down", "0\n0\r\n12 \n12\n40\n").unwrap();
        assert_eq!(trace.at_ms, [0, 0, 12, 12, 40]);
        assert_eq!(trace.file, "x.down");
    }

    #[test]
    fn an_invalid_trace_is_refused_with_its_line() {
        for (text, wrong) in [
            ("", "it is empty"),
            ("0\n0\n", "it must last at least 1 ms"),
            (
                "5\n3\n",
                "line 2: this time is earlier than the one on the previous line",
            ),
            (
                "5\n\n6\n",
                "line 2: expected a time in whole ms, such as 12",
            ),
            ("-1\n", "line 1: expected a time in whole ms, such as 12"),
            (
                "1\n2.5\n",
                "line 2: expected a time in whole ms, such as 12",
            ),
            (
                "4294967296\n",
                "line 1: expected a time in whole ms, such as 12",
            ),
        ] {
            let error = Trace::parse("x", text).unwrap_err();
            assert_eq!(error.to_string(), wrong, "{text:?}");
        }
    }
}
