//! The written form of ramps.
//!
//! ```text
//! ramp  = group *( "," group )
//! group = rates *( "," rates ) ":" TIME     each rate lasts TIME
//! rates = RATE                              a level rate; 0 is a pause
//!       | RATE ".." RATE                    linearly from one to the other
//! ```

use std::str::FromStr;

use rpcgauge_trial::RampPart;

use crate::error::FormError;
use crate::words::{format_time, parse_time_ms};

/// A ramp as given on the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Ramp(pub Vec<RampPart>);

/// Formats the parts, each with its time, so that they can be parsed again.
pub fn format_ramp(parts: &[RampPart]) -> String {
    let word = |part: &RampPart| {
        let time = format_time(part.time_ms);
        if part.is_level() {
            format!("{}:{time}", part.from)
        } else {
            format!("{}..{}:{time}", part.from, part.to)
        }
    };
    parts.iter().map(word).collect::<Vec<_>>().join(",")
}

impl FromStr for Ramp {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let wrong = |what: String| FormError {
            text: text.to_owned(),
            kind: "a ramp",
            what,
            example: "100,200,400:10s or 0..1000:30s,1000:1m",
        };
        let mut parts: Vec<RampPart> = Vec::new();
        // The rates whose time has not been read yet.
        let mut waiting: Vec<(f64, f64)> = Vec::new();
        for word in text.split(',') {
            let (rates, time) = match word.split_once(':') {
                Some((rates, time)) => (rates, Some(time.trim())),
                None => (word, None),
            };
            waiting.push(read_rates(rates.trim()).map_err(wrong)?);
            if let Some(time) = time {
                let time_ms = parse_time_ms(time).map_err(wrong)?;
                let timed = waiting.drain(..);
                parts.extend(timed.map(|(from, to)| RampPart { from, to, time_ms }));
            }
        }
        if !waiting.is_empty() {
            return Err(wrong("the last rate has no time".to_owned()));
        }
        RampPart::check(&parts).map_err(|bounds| wrong(bounds.to_string()))?;
        Ok(Self(parts))
    }
}

fn read_rates(text: &str) -> Result<(f64, f64), String> {
    match text.split_once("..") {
        Some((from, to)) => Ok((read_rate(from)?, read_rate(to)?)),
        None => read_rate(text).map(|rate| (rate, rate)),
    }
}

fn read_rate(text: &str) -> Result<f64, String> {
    let text = text.trim();
    text.parse()
        .map_err(|_| format!("\"{text}\" is not a number of calls per second"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ramp(text: &str) -> String {
        format_ramp(&text.parse::<Ramp>().unwrap().0)
    }

    #[test]
    fn a_time_is_that_of_all_rates_since_the_one_before() {
        let table = [
            ("100:10s", "100:10s"),
            ("100,200,400:10s", "100:10s,200:10s,400:10s"),
            ("0..1000:30s,1000:1m", "0..1000:30s,1000:1m"),
            (
                "50, 100 : 5s, 0:500ms, 1e3..0.5:2s",
                "50:5s,100:5s,0:500ms,1000..0.5:2s",
            ),
            ("7..7:1s", "7:1s"),
        ];
        for (text, all) in table {
            assert_eq!(ramp(text), all, "{text}");
            assert_eq!(ramp(all), all, "what is shown can be given");
        }
    }

    #[test]
    fn what_is_no_ramp_says_why() {
        let why = |text: &str| text.parse::<Ramp>().unwrap_err().to_string();
        insta::assert_snapshot!(why("100,200"), @r#""100,200" is not a ramp: the last rate has no time; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
        insta::assert_snapshot!(why("100/10s"), @r#""100/10s" is not a ramp: "100/10s" is not a number of calls per second; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
        insta::assert_snapshot!(why("100:10s,"), @r#""100:10s," is not a ramp: "" is not a number of calls per second; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
        insta::assert_snapshot!(why("100:10"), @r#""100:10" is not a ramp: "10" is not a time; write it as 150ms, 10s or 1m30s; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
        insta::assert_snapshot!(why("-5..10:10s"), @r#""-5..10:10s" is not a ramp: each rate in a ramp must be 0 to 1e9 calls per second; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
        insta::assert_snapshot!(why("0:10s,100:10s"), @r#""0:10s,100:10s" is not a ramp: the first part of a ramp must be a step or a slope, not a pause; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
        insta::assert_snapshot!(why("1e-300..1e-200:1s"), @r#""1e-300..1e-200:1s" is not a ramp: the number of calls in a ramp must be at least 1; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
        let long = format!("{}1..2:1s", "1..2,".repeat(20));
        assert!(
            why(&long).contains("the number of steps in a ramp must be at most 200"),
            "{}",
            why(&long)
        );
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "[0-9.,:smeE+ -]{0,30}|\\PC{0,12}") {
            if let Ok(Ramp(parts)) = text.parse::<Ramp>() {
                let again: Ramp = format_ramp(&parts).parse().unwrap();
                prop_assert_eq!(again.0, parts);
            }
        }
    }
}
