//! Detects the end of a trial's warm-up: latency has stopped drifting.
//!
//! A trial is split into slices, and the median latency of each slice is passed to
//! [`WarmUp::push`]. The last 20 medians are tested for a trend. The Mann-Kendall test detects a
//! trend (Mann 1945; Kendall 1975), and the Theil-Sen slope (Sen 1968) shows whether it is large
//! enough to matter. Both are based on ranks and medians, so a single spike, such as a garbage
//! collection, does not look like drift.
//!
//! A rise and a fall that cancel out within a window go undetected. An oscillation with a period of
//! more than about 120 slices looks settled at its crest.

use crate::error::StatsError;
use crate::quantile::median_in_place;

/// How many slices are tested together. With fewer than 8, the test cannot detect a trend reliably.
const WINDOW: usize = 20;

/// How many consecutive windows, each one slice later, must show no drift.
const IN_A_ROW: usize = 10;

/// The maximum drift over a window that does not matter, as a fraction of the window's median.
const TOLERANCE: f64 = 0.02;

/// The number of slices after which a trial counts as never settled.
const LIMIT: usize = 200;

/// The Mann-Kendall statistic above which there is a trend: a two-sided test at the 5% level.
const SIGNIFICANT: f64 = 1.959_964;

/// Whether latency has settled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Settling {
    /// Not yet: continue.
    #[default]
    NotYet,
    /// Latency has settled: the warm-up is over.
    Settled {
        /// The number of slices that it took.
        slices: usize,
    },
    /// Latency was still drifting when the limit was reached. Measure anyway, and report it.
    NeverSettled,
}

/// Tracks a trial's latency, slice by slice. Once the state is settled or never settled, it is
/// final.
#[derive(Debug, Clone, Default)]
pub struct WarmUp {
    slices: Vec<f64>,
    calm_windows: usize,
    state: Settling,
}

impl WarmUp {
    /// Adds the median latency of the next slice, in any unit, and returns the state of the
    /// warm-up.
    ///
    /// # Errors
    /// [`StatsError::NotFinite`] if it is not a finite number; the slice is then ignored.
    pub fn push(&mut self, slice_median: f64) -> Result<Settling, StatsError> {
        if !slice_median.is_finite() {
            return Err(StatsError::NotFinite {
                index: self.slices.len(),
                value: slice_median,
            });
        }
        if self.state == Settling::NotYet {
            self.slices.push(slice_median);
            self.state = self.judge();
        }
        Ok(self.state)
    }

    fn judge(&mut self) -> Settling {
        let slices = self.slices.len();
        if let Some(start) = slices.checked_sub(WINDOW) {
            let calm = !drifts(&self.slices[start..]);
            self.calm_windows = if calm { self.calm_windows + 1 } else { 0 };
        }
        if self.calm_windows >= IN_A_ROW {
            Settling::Settled { slices }
        } else if slices >= LIMIT {
            Settling::NeverSettled
        } else {
            Settling::NotYet
        }
    }
}

/// Whether a window has a trend that is both significant and large enough to matter.
fn drifts(window: &[f64]) -> bool {
    if mann_kendall(window).abs() <= SIGNIFICANT {
        return false;
    }
    let drift = theil_sen_slope(window).abs() * (window.len() - 1) as f64;
    let level = median_in_place(&mut window.to_vec()).abs();
    drift > TOLERANCE * level
}

/// The Mann-Kendall statistic in standard deviations, corrected for ties and continuity.
fn mann_kendall(window: &[f64]) -> f64 {
    let sign =
        |(_, earlier, later)| f64::from(i8::from(later > earlier) - i8::from(later < earlier));
    let score: f64 = pairs(window).map(sign).sum();
    let spread = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let ordered = crate::quantile::sorted(window);
    let ties: f64 = ordered
        .chunk_by(|a, b| a == b)
        .map(|group| spread(group.len() as f64))
        .sum();
    let variance = (spread(window.len() as f64) - ties) / 18.0;
    if variance <= 0.0 || score == 0.0 {
        return 0.0;
    }
    (score - score.signum()) / variance.sqrt()
}

/// The median of the slopes between any two slices, in latency per slice.
fn theil_sen_slope(window: &[f64]) -> f64 {
    let mut slopes: Vec<f64> = pairs(window)
        .map(|(apart, earlier, later)| (later - earlier) / apart)
        .collect();
    median_in_place(&mut slopes)
}

/// Every pair of values in a window: (distance in slices, earlier value, later value).
fn pairs(window: &[f64]) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
    (1..).zip(window).flat_map(|(next, &earlier)| {
        let later = (1..).zip(&window[next..]);
        later.map(move |(apart, &later)| (f64::from(apart), earlier, later))
    })
}

#[cfg(test)]
mod tests;
