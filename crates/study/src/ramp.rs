//! Ramps: rates that change over time, as they are written and as they are told.
//!
//! ```text
//! ramp  = group *( "," group )
//! group = rates *( "," rates ) ":" TIME     each of them lasts so long
//! rates = RATE                              a level rate; 0 is a pause
//!       | RATE ".." RATE                    from one to the other, evenly
//! ```

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::settings::is_rate;
use crate::words::{LONGEST_MS, number_word, parse_time_ms, time_word};

/// A part of a ramp: a time in which the rate stays, or goes evenly from one to another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RampPart {
    /// Calls a second at its start.
    pub from: f64,
    /// Calls a second at its end.
    pub to: f64,
    /// How long it lasts, ms.
    pub time_ms: u64,
}

/// What figures are told of: a level part of a ramp, or a slice of one that is not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RampStep {
    /// Calls a second at its start.
    pub from: f64,
    /// Calls a second at its end.
    pub to: f64,
    /// How long it lasts.
    pub time: Duration,
}

/// A ramp as the command line gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ramp(pub Vec<RampPart>);

/// Why a text is no ramp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no ramp: {what}; write it like 100,200,400:10s or 0..1000:30s,1000:1m")]
pub struct RampError {
    text: String,
    what: String,
}

/// Equal slices of a part whose rate changes: one percentile over all of it would mean little.
const SLICES: u32 = 10;
/// The most steps of a ramp. Each has histograms of its own.
const MOST_STEPS: usize = 200;

impl RampPart {
    /// Whether the rate stays.
    pub fn is_level(&self) -> bool {
        self.from == self.to
    }

    /// The steps that its figures are told in.
    pub fn steps(&self) -> Vec<RampStep> {
        let slices = if self.is_level() { 1 } else { SLICES };
        // The rate at the end of a number of slices.
        let rate = |ended: u32| match ended {
            _ if ended == slices => self.to,
            _ => self.from + (self.to - self.from) * f64::from(ended) / f64::from(slices),
        };
        let step = |slice| RampStep {
            from: rate(slice),
            to: rate(slice + 1),
            time: Duration::from_millis(self.time_ms) / slices,
        };
        (0..slices).map(step).collect()
    }

    /// Calls that are due in it, on average.
    pub fn calls(&self) -> f64 {
        (self.from + self.to) / 2.0 * self.time_ms as f64 / 1_000.0
    }
}

/// The steps of all parts.
pub fn steps(parts: &[RampPart]) -> Vec<RampStep> {
    parts.iter().flat_map(RampPart::steps).collect()
}

/// How long all parts last, ms.
pub fn time_ms(parts: &[RampPart]) -> u64 {
    let times = parts.iter().map(|part| part.time_ms);
    times.fold(0, u64::saturating_add)
}

impl fmt::Display for RampPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.from)?;
        if !self.is_level() {
            write!(f, "..{}", self.to)?;
        }
        write!(f, ":{}", time_word(self.time_ms))
    }
}

/// The parts as they can be written, each with its time.
pub fn parts_word(parts: &[RampPart]) -> String {
    let words: Vec<String> = parts.iter().map(ToString::to_string).collect();
    words.join(",")
}

impl FromStr for Ramp {
    type Err = RampError;

    fn from_str(text: &str) -> Result<Self, RampError> {
        let wrong = |what: String| RampError {
            text: text.to_owned(),
            what,
        };
        let mut parts: Vec<RampPart> = Vec::new();
        // Those whose time is still to come.
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
        check(&parts).map_err(wrong)?;
        Ok(Self(parts))
    }
}

/// Holds a ramp to what can be carried out.
pub(crate) fn check(parts: &[RampPart]) -> Result<(), String> {
    for part in parts {
        check_rate(part.from)?;
        check_rate(part.to)?;
        if !(1..=LONGEST_MS).contains(&part.time_ms) {
            return Err("a part of it lasts from 1ms to 24h".to_owned());
        }
    }
    let first = parts.first().ok_or("it has no parts")?;
    if first.from == 0.0 && first.to == 0.0 {
        return Err("it begins with a pause".to_owned());
    }
    let steps = steps(parts).len();
    if steps > MOST_STEPS {
        return Err(format!(
            "it has {steps} steps, of which a rate that changes has {SLICES}; at most \
             {MOST_STEPS} can be told apart"
        ));
    }
    Ok(())
}

fn check_rate(rate: f64) -> Result<(), String> {
    match rate == 0.0 || is_rate(rate) {
        true => Ok(()),
        false => Err(format!(
            "a rate is from 0 to 1e9 calls a second, not {}",
            number_word(rate)
        )),
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
        .map_err(|_| format!("\"{text}\" is no number of calls a second"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ramp(text: &str) -> String {
        parts_word(&text.parse::<Ramp>().unwrap().0)
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
        insta::assert_snapshot!(why("100,200"), @r#""100,200" is no ramp: the last rate has no time; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
        insta::assert_snapshot!(why("100/10s"), @r#""100/10s" is no ramp: "100/10s" is no number of calls a second; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
        insta::assert_snapshot!(why("100:10s,"), @r#""100:10s," is no ramp: "" is no number of calls a second; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
        insta::assert_snapshot!(why("100:10"), @r#""100:10" is no ramp: "10" is no time; write it as 150ms, 10s or 1m30s; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
        insta::assert_snapshot!(why("-5..10:10s"), @r#""-5..10:10s" is no ramp: a rate is from 0 to 1e9 calls a second, not -5; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
        insta::assert_snapshot!(why("0:10s,100:10s"), @r#""0:10s,100:10s" is no ramp: it begins with a pause; write it like 100,200,400:10s or 0..1000:30s,1000:1m"#);
        let long = format!("{}1..2:1s", "1..2,".repeat(20));
        assert!(why(&long).contains("it has 210 steps"), "{}", why(&long));
    }

    #[test]
    fn a_rate_that_changes_is_told_in_ten_slices() {
        let part = RampPart {
            from: 100.0,
            to: 0.0,
            time_ms: 5,
        };
        let steps = part.steps();
        assert_eq!(steps.len(), 10);
        assert_eq!((steps[0].from, steps[0].to), (100.0, 90.0));
        assert_eq!((steps[9].from, steps[9].to), (10.0, 0.0));
        assert!(
            steps
                .iter()
                .all(|step| step.time == Duration::from_micros(500))
        );
        assert_eq!(part.calls(), 0.25);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "[0-9.,:smeE+ -]{0,30}|\\PC{0,12}") {
            if let Ok(Ramp(parts)) = text.parse::<Ramp>() {
                let again: Ramp = parts_word(&parts).parse().unwrap();
                prop_assert_eq!(again.0, parts);
            }
        }

        #[test]
        fn steps_go_from_end_to_end_without_a_gap(
            from in 0.0..1e6f64, to in 0.0..1e6f64, time_ms in 1..10_000_000u64,
        ) {
            let part = RampPart { from, to, time_ms };
            let steps = part.steps();
            prop_assert_eq!((steps[0].from, steps[steps.len() - 1].to), (from, to));
            prop_assert!(steps.windows(2).all(|pair| pair[0].to == pair[1].from));
            let lasts: Duration = steps.iter().map(|step| step.time).sum();
            prop_assert_eq!(lasts, Duration::from_millis(time_ms));
            let calls: f64 = steps
                .iter()
                .map(|step| (step.from + step.to) / 2.0 * step.time.as_secs_f64())
                .sum();
            prop_assert!((calls - part.calls()).abs() <= 1e-9 * part.calls().max(1.0));
        }
    }
}
