//! The search for the highest rate that meets the objectives. A rate "holds" if every objective is
//! met; otherwise, it "misses".
//!
//! ```text
//! start ─► grow (or shrink) until one rate held and a higher one missed
//!       ─► halve the bracket until it is as narrow as asked for
//!       ─► repeat both ends until each is sure; an end that turns out wrong moves, and the
//!          bracket is halved again
//! ```
//!
//! [`CapacitySearch::next`] is a pure function of the trials so far, so a search can be run,
//! replayed from its records, and tested with simulated servers. It assumes that if a rate misses,
//! every higher rate misses too. If a trial contradicts this, the lower rate is tried again.

use serde::Serialize;

use crate::error::{StatsError, check_setting};

/// How many trials at a rate must hold before the rate counts as held.
const HOLDS_NEEDED: u32 = 3;
/// How many trials at a rate must miss before the rate counts as missed. A rate that counts as held
/// may have missed one time fewer, so that a single hiccup of the machine does not decide.
const MISSES_NEEDED: u32 = 2;

/// The factor by which rates grow or shrink from trial to trial.
const GROWTH: f64 = 2.0;
/// The default maximum rate: one call per nanosecond, the clock's resolution.
const HIGHEST: f64 = 1e9;
/// Significant digits of a rate: easy to read, and much finer than the precision.
const DIGITS: i32 = 4;

/// The bounds of a search. Rates are in calls per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacitySearch {
    start: f64,
    lowest: f64,
    highest: f64,
    precision: f64,
    max_trials: usize,
}

/// One trial at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// The rate in calls per second.
    pub rate: f64,
    /// Whether every objective was met.
    pub held: bool,
}

/// The next step of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchStep {
    /// Run a trial at this rate.
    Try(f64),
    /// The search is over.
    Done(SearchEnd),
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SearchEnd {
    /// Both ends of the bracket are sure, and it is as narrow as requested.
    Found,
    /// The highest allowed rate holds.
    Ceiling,
    /// Not even the lowest allowed rate holds.
    NoneHeld,
    /// The maximum number of trials was reached before both ends were sure. The service or the
    /// machine is too unsteady.
    TooUnsteady,
    /// The search was interrupted. Only the caller sets this.
    Stopped,
}

/// The result of the trials so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bracket {
    /// The highest rate that held.
    pub held: Option<Bound>,
    /// The lowest rate above it that missed.
    pub missed: Option<Bound>,
}

/// One end of a bracket.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bound {
    /// The rate in calls per second.
    pub rate: f64,
    /// The number of trials in which it held.
    pub holds: u32,
    /// The number of trials in which it missed.
    pub misses: u32,
    /// Whether these trials suffice to count it as held or missed.
    pub is_sure: bool,
}

impl Bound {
    /// Whether it holds according to its trials so far. A tie counts as missed until the next trial
    /// decides.
    fn is_held(&self) -> bool {
        self.misses < MISSES_NEEDED && self.holds > self.misses
    }
}

impl CapacitySearch {
    /// Creates a search that starts at `start` and stays between `lowest` and `highest`. It ends
    /// when the rate that misses is at most `precision` (0.05 for 5%) above the rate that holds,
    /// and gives up after `max_trials`. Twelve doublings, narrowing to 1%, and repeats take about
    /// 30 trials.
    ///
    /// # Errors
    /// [`StatsError::Setting`] unless `0 < lowest <= start <= highest`, `highest` is finite and
    /// `0.001 <= precision <= 1`.
    pub fn new(
        start: f64,
        lowest: f64,
        highest: Option<f64>,
        precision: f64,
        max_trials: usize,
    ) -> Result<Self, StatsError> {
        let highest = highest.unwrap_or(HIGHEST);
        let bounded = lowest > 0.0 && highest.is_finite();
        let allowed = "above 0, and the highest rate must be finite";
        check_setting("the lowest rate", lowest, bounded, allowed)?;
        let between = (lowest..=highest).contains(&start);
        let allowed = "between the lowest and the highest rate";
        check_setting("the first rate", start, between, allowed)?;
        let useful = (0.001..=1.0).contains(&precision);
        check_setting("the precision", precision, useful, "0.001 to 1")?;
        Ok(Self {
            start,
            lowest,
            highest,
            precision,
            max_trials,
        })
    }

    /// Returns the next step after these trials.
    pub fn next(&self, tried: &[Tried]) -> SearchStep {
        let Bracket { held, missed } = bracket(tried);
        let step = match (held, missed) {
            (None, None) => SearchStep::Try(self.start),
            (Some(held), None) if held.rate < self.highest => {
                SearchStep::Try(rounded(held.rate * GROWTH).min(self.highest))
            }
            (Some(held), None) if held.is_sure => SearchStep::Done(SearchEnd::Ceiling),
            (Some(held), None) => SearchStep::Try(held.rate),
            (None, Some(missed)) if missed.rate > self.lowest => {
                SearchStep::Try(rounded(missed.rate / GROWTH).max(self.lowest))
            }
            (None, Some(missed)) if missed.is_sure => SearchStep::Done(SearchEnd::NoneHeld),
            (None, Some(missed)) => SearchStep::Try(missed.rate),
            (Some(held), Some(missed)) => self.narrow(&held, &missed),
        };
        match step {
            SearchStep::Try(_) if tried.len() >= self.max_trials => {
                SearchStep::Done(SearchEnd::TooUnsteady)
            }
            step => step,
        }
    }

    fn narrow(&self, held: &Bound, missed: &Bound) -> SearchStep {
        if missed.rate > held.rate * (1.0 + self.precision) {
            let middle = (held.rate * missed.rate).sqrt();
            let between = |rate: &f64| held.rate < *rate && *rate < missed.rate;
            return SearchStep::Try(Some(rounded(middle)).filter(between).unwrap_or(middle));
        }
        match [held, missed].into_iter().find(|bound| !bound.is_sure) {
            Some(bound) => SearchStep::Try(bound.rate),
            None => SearchStep::Done(SearchEnd::Found),
        }
    }
}

/// Returns the bracket after these trials: the lowest rate that missed, and the highest rate below
/// it that held. Rates above one that missed are ignored until that one is found to hold.
pub fn bracket(tried: &[Tried]) -> Bracket {
    let mut rates: Vec<Bound> = Vec::new();
    for trial in tried {
        let place = rates.iter().position(|bound| bound.rate == trial.rate);
        let place = place.unwrap_or_else(|| {
            rates.push(Bound {
                rate: trial.rate,
                holds: 0,
                misses: 0,
                is_sure: false,
            });
            rates.len() - 1
        });
        let bound = &mut rates[place];
        if trial.held {
            bound.holds += 1
        } else {
            bound.misses += 1
        }
        bound.is_sure = bound.misses >= MISSES_NEEDED || bound.holds >= HOLDS_NEEDED;
    }
    rates.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let missed = rates.iter().position(|bound| !bound.is_held());
    let below = &rates[..missed.unwrap_or(rates.len())];
    Bracket {
        held: below.last().copied(),
        missed: missed.map(|place| rates[place]),
    }
}

/// Rounds a rate to [`DIGITS`] significant digits.
fn rounded(rate: f64) -> f64 {
    let step = 10_f64.powi(rate.log10().floor() as i32 + 1 - DIGITS);
    // Dividing by an integer keeps decimals short; multiplying by 0.1 would not.
    if step >= 1.0 {
        (rate / step).round() * step
    } else {
        (rate * (1.0 / step).round()).round() / (1.0 / step).round()
    }
}

#[cfg(test)]
mod tests;
