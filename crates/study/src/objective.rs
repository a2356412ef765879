//! Objectives: what a service must achieve for a run to succeed, such as `p99<20ms`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::FormError;

/// A condition on a figure, written as measure, sign and bound: `p99<20ms`, `errors<=0.1%`, `goodput>500`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Objective {
    /// The figure that must meet the bound.
    pub measure: Measure,
    /// How it must compare with the bound.
    pub sign: Sign,
    /// The bound: ns for latency, a share for errors, calls per second for goodput.
    pub bound: f64,
    /// The objective as it was written.
    text: String,
}

/// The measure of an objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// A percentile of latency, from 0 to 100, ns.
    Percentile(f64),
    /// Mean latency, ns.
    Mean,
    /// The longest call, ns.
    Max,
    /// The share of started calls that did not succeed.
    Errors,
    /// Successful calls per second.
    Goodput,
}

/// How a figure must compare with the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// Units of time, each with its length in ns.
const TIME_UNITS: [(&str, f64); 5] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
];

impl Objective {
    /// Whether `figure`, in the unit of [`Objective::bound`], meets the objective.
    pub fn is_reached(&self, figure: f64) -> bool {
        match self.sign {
            Sign::Below => figure < self.bound,
            Sign::AtMost => figure <= self.bound,
            Sign::Above => figure > self.bound,
            Sign::AtLeast => figure >= self.bound,
        }
    }
}

impl Measure {
    /// The minimum number of calls for which the measure is defined: at least one call must lie beyond a percentile.
    pub fn min_calls(self) -> u64 {
        match self {
            Self::Percentile(percentile) if percentile < 100.0 => {
                // Rounded to six decimals before `ceil`: 100 - 99.9 is not exactly 0.1 in floating point.
                let calls = 100.0 / (100.0 - percentile);
                ((calls * 1e6).round() / 1e6).ceil() as u64
            }
            _ => 1,
        }
    }

    /// The number of calls that a trial needs for a reliable figure: ten calls beyond a percentile, or enough calls for
    /// ten failures if the share of errors is at its bound, within limits.
    pub fn reliable_calls(self, bound: f64) -> u64 {
        const MIN: u64 = 100;
        const MAX_FOR_ERRORS: f64 = 10_000.0;
        match self {
            Self::Percentile(percentile) if percentile < 100.0 => (10 * self.min_calls()).max(MIN),
            Self::Errors if bound > 0.0 => {
                ((10.0 / bound).min(MAX_FOR_ERRORS).ceil() as u64).max(MIN)
            }
            _ => MIN,
        }
    }

    fn parse(word: &str) -> Result<Self, String> {
        if let Some(number) = word.strip_prefix('p') {
            let percentile = number.parse().ok().filter(|p| (0.0..=100.0).contains(p));
            let problem = || format!("there is no percentile \"{word}\"");
            return percentile.map(Self::Percentile).ok_or_else(problem);
        }
        match word {
            "mean" => Ok(Self::Mean),
            "max" => Ok(Self::Max),
            "errors" => Ok(Self::Errors),
            "goodput" => Ok(Self::Goodput),
            _ => Err(format!(
                "there is no measure \"{word}\"; expected p50 to p100, mean, max, errors or goodput"
            )),
        }
    }

    fn bound(self, text: &str) -> Result<f64, String> {
        let digits = text
            .find(|c: char| !(c.is_ascii_digit() || ".+-eE".contains(c)))
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number = number
            .parse::<f64>()
            .ok()
            .filter(|n| n.is_finite() && *n >= 0.0);
        let number = number
            .ok_or_else(|| format!("\"{text}\" does not begin with a non-negative number"))?;
        let unit = unit.trim();
        match self {
            Self::Percentile(_) | Self::Mean | Self::Max => {
                match TIME_UNITS.iter().find(|(name, _)| *name == unit) {
                    Some((_, ns)) => Ok(number * ns),
                    None => Err("a time needs a unit: ns, us, ms or s".to_owned()),
                }
            }
            Self::Errors => match unit {
                "%" if number <= 100.0 => Ok(number / 100.0),
                // A bare 1 could mean 1% or 100%.
                "" if number < 1.0 => Ok(number),
                _ => Err(
                    "a share of errors is a percentage up to 100%, or a number below 1".to_owned(),
                ),
            },
            Self::Goodput => match unit {
                "" | "/s" => Ok(number),
                _ => Err("goodput is in calls per second, without a unit".to_owned()),
            },
        }
    }

    fn wants(self, sign: Sign) -> bool {
        let upper = matches!(sign, Sign::Below | Sign::AtMost);
        upper == !matches!(self, Self::Goodput)
    }
}

impl FromStr for Objective {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let wrong = |what: String| FormError {
            text: text.to_owned(),
            kind: "an objective",
            what,
            example: "'p99<20ms', 'errors<0.1%' or 'goodput>500'",
        };
        let at = text
            .find(['<', '>'])
            .ok_or_else(|| wrong("it has no < or >".to_owned()))?;
        let (word, rest) = text.split_at(at);
        let (sign, bound) = match rest.strip_prefix("<=").or(rest.strip_prefix(">=")) {
            Some(bound) if rest.starts_with('<') => (Sign::AtMost, bound),
            Some(bound) => (Sign::AtLeast, bound),
            None if rest.starts_with('<') => (Sign::Below, &rest[1..]),
            None => (Sign::Above, &rest[1..]),
        };
        let measure = Measure::parse(word.trim()).map_err(wrong)?;
        if !measure.wants(sign) {
            let sign = match measure {
                Measure::Goodput => ">",
                _ => "<",
            };
            return Err(wrong(format!("use {sign} with {}", word.trim())));
        }
        Ok(Self {
            measure,
            sign,
            bound: measure.bound(bound.trim()).map_err(wrong)?,
            text: text.split_whitespace().collect(),
        })
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Objective {
    type Error = FormError;

    fn try_from(text: String) -> Result<Self, FormError> {
        text.parse()
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> Self {
        objective.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> (Measure, Sign, f64) {
        let objective: Objective = text.parse().unwrap();
        (objective.measure, objective.sign, objective.bound)
    }

    #[test]
    fn objectives_are_read_in_the_units_of_their_measure() {
        let p = Measure::Percentile;
        let table = [
            ("p99<20ms", (p(99.0), Sign::Below, 20e6)),
            ("p99.9 <= 1.5 s", (p(99.9), Sign::AtMost, 1.5e9)),
            ("p50<250us", (p(50.0), Sign::Below, 250e3)),
            ("p50<250µs", (p(50.0), Sign::Below, 250e3)),
            ("max<1e3ns", (Measure::Max, Sign::Below, 1e3)),
            ("mean<1ms", (Measure::Mean, Sign::Below, 1e6)),
            ("errors<0.5%", (Measure::Errors, Sign::Below, 0.005)),
            ("errors<=0", (Measure::Errors, Sign::AtMost, 0.0)),
            ("errors<0.01", (Measure::Errors, Sign::Below, 0.01)),
            ("errors<=100%", (Measure::Errors, Sign::AtMost, 1.0)),
            ("goodput>=500", (Measure::Goodput, Sign::AtLeast, 500.0)),
            ("goodput>500/s", (Measure::Goodput, Sign::Above, 500.0)),
        ];
        for (text, expected) in table {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_objective_says_why() {
        let why = |text: &str| text.parse::<Objective>().unwrap_err().to_string();
        insta::assert_snapshot!(why("p99=20ms"), @r#""p99=20ms" is not an objective: it has no < or >; write it like 'p99<20ms', 'errors<0.1%' or 'goodput>500'"#);
        insta::assert_snapshot!(why("p101<1ms"), @r#""p101<1ms" is not an objective: there is no percentile "p101"; write it like 'p99<20ms', 'errors<0.1%' or 'goodput>500'"#);
        insta::assert_snapshot!(why("p99<20"), @r#""p99<20" is not an objective: a time needs a unit: ns, us, ms or s; write it like 'p99<20ms', 'errors<0.1%' or 'goodput>500'"#);
        insta::assert_snapshot!(why("p99>20ms"), @r#""p99>20ms" is not an objective: use < with p99; write it like 'p99<20ms', 'errors<0.1%' or 'goodput>500'"#);
        insta::assert_snapshot!(why("errors<101%"), @r#""errors<101%" is not an objective: a share of errors is a percentage up to 100%, or a number below 1; write it like 'p99<20ms', 'errors<0.1%' or 'goodput>500'"#);
        for bound in ["1", "1.0", "5", "1ms"] {
            let text = format!("errors<{bound}");
            assert_eq!(
                why(&text),
                why("errors<101%").replace("errors<101%", &text),
                "neither 1% nor 100%"
            );
        }
        insta::assert_snapshot!(why("latency<1ms"), @r#""latency<1ms" is not an objective: there is no measure "latency"; expected p50 to p100, mean, max, errors or goodput; write it like 'p99<20ms', 'errors<0.1%' or 'goodput>500'"#);
        insta::assert_snapshot!(why("mean<-1ms"), @r#""mean<-1ms" is not an objective: "-1ms" does not begin with a non-negative number; write it like 'p99<20ms', 'errors<0.1%' or 'goodput>500'"#);
    }

    #[test]
    fn the_bound_itself_is_reached_by_at_most_alone() {
        let is_reached = |text: &str, figure| text.parse::<Objective>().unwrap().is_reached(figure);
        assert!(is_reached("p99<=20ms", 20e6) && !is_reached("p99<20ms", 20e6));
        assert!(is_reached("goodput>=5", 5.0) && !is_reached("goodput>5", 5.0));
    }

    #[test]
    fn a_percentile_needs_a_call_beyond_it() {
        let table = [
            (50.0, 2),
            (99.0, 100),
            (99.9, 1000),
            (99.99, 10_000),
            (100.0, 1),
        ];
        for (percentile, calls) in table {
            let measure = Measure::Percentile(percentile);
            assert_eq!(measure.min_calls(), calls, "{percentile}");
        }
    }

    #[test]
    fn a_trial_that_decides_needs_ten_calls_beyond_its_bound() {
        let calls = |text: &str| {
            let objective: Objective = text.parse().unwrap();
            objective.measure.reliable_calls(objective.bound)
        };
        let table = [
            ("p50<1s", 100),
            ("p99<1s", 1_000),
            ("p99.9<1s", 10_000),
            ("max<1s", 100),
            ("errors<1%", 1_000),
            ("errors<0.001%", 10_000),
            ("errors<=0", 100),
        ];
        for (text, needed) in table {
            assert_eq!(calls(text), needed, "{text}");
        }
    }

    #[test]
    fn an_objective_is_kept_as_it_was_written() {
        let objective: Objective = "p99 < 20ms".parse().unwrap();
        let json = serde_json::to_string(&objective).unwrap();
        assert_eq!(json, "\"p99<20ms\"");
        assert_eq!(serde_json::from_str::<Objective>(&json).unwrap(), objective);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "[ -~µ]{0,20}") {
            let _ = text.parse::<Objective>();
        }
    }
}
