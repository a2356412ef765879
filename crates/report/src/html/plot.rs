//! Scales and paths of the page's plots.
//!
//! A plot is an SVG that stretches with the page (`preserveAspectRatio="none"`, strokes that do not
//! scale), and beside it axis labels in HTML, placed in per cent: so they stay readable at every
//! width. The SVG holds numbers and class names only, never a text.

use serde::Serialize;

/// Width and height of a plot's own coordinates.
pub(crate) const WIDTH: f64 = 1_000.0;
pub(crate) const HEIGHT: f64 = 300.0;

/// A label on an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Tick {
    /// Where, in per cent of the axis.
    pub(crate) at: f64,
    /// What it says.
    pub(crate) label: String,
}

/// From values to a place between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Axis {
    Linear { high: f64 },
    Log { low: f64, high: f64 },
}

/// Values that differ by more than this factor stand on a logarithmic axis.
const LOG_FROM: f64 = 8.0;

impl Axis {
    /// An axis that shows values from `low` to `high`: logarithmic where they are far apart,
    /// otherwise linear from 0.
    pub(crate) fn over(low: f64, high: f64) -> Self {
        let (low, high) = (low.max(1.0), high.max(1.0));
        if high / low > LOG_FROM {
            Self::Log {
                low: low / 1.25,
                high: high * 1.25,
            }
        } else {
            Self::Linear { high: high * 1.08 }
        }
    }

    /// Where a value stands, 0 to 1.
    pub(crate) fn place(self, value: f64) -> f64 {
        let place = match self {
            Self::Linear { high } => value / high,
            Self::Log { low, high } => (value.max(low) / low).ln() / (high / low).ln(),
        };
        place.clamp(0.0, 1.0)
    }

    /// Round values on the axis, at most about six.
    pub(crate) fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { high } => {
                let step = round_step(high / 4.0);
                (0..)
                    .map(|n| f64::from(n) * step)
                    .take_while(|v| *v <= high)
                    .collect()
            }
            Self::Log { low, high } => {
                let decades = (high / low).log10();
                let digits: &[f64] = match decades {
                    d if d < 1.2 => &[1.0, 2.0, 3.0, 5.0, 7.0],
                    d if d < 2.2 => &[1.0, 2.0, 5.0],
                    d if d < 3.2 => &[1.0, 3.0],
                    _ => &[1.0],
                };
                let first = low.log10().floor() as i32;
                let last = high.log10().ceil() as i32;
                (first..=last)
                    .flat_map(|power| digits.iter().map(move |d| d * 10_f64.powi(power)))
                    .filter(|v| (low..=high).contains(v))
                    .collect()
            }
        }
    }
}

/// The round number (1, 2 or 5 times a power of ten) at or above a step.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let digit = step / power;
    let round = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|r| digit <= *r)
        .unwrap_or(10.0);
    round * power
}

/// A line through points in the plot's coordinates: whole ones, each told from the one before,
/// since less cannot be seen and a page holds tens of thousands of them.
pub(crate) fn path(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    let mut last: Option<(i64, i64)> = None;
    for (x, y) in points {
        let (x, y) = (x.round() as i64, y.round() as i64);
        match last {
            None => path = format!("M{x} {y}"),
            Some(last) if last == (x, y) => continue,
            Some((last_x, last_y)) => {
                let (across, down) = (x - last_x, y - last_y);
                let gap = if down < 0 { "" } else { " " };
                path += &format!("l{across}{gap}{down}");
            }
        }
        last = Some((x, y));
    }
    path
}

/// Upright strokes at places (0 to 1), each from one height to another in the plot's coordinates.
pub(crate) fn uprights(places: impl IntoIterator<Item = f64>, from: f64, to: f64) -> String {
    let length = to - from;
    let stroke = |place: f64| format!("M{} {from}v{length}", (place * WIDTH).round());
    places.into_iter().map(stroke).collect()
}

/// The point of two places (0 to 1, y upwards) in the plot's coordinates.
pub(crate) fn point(x: f64, y: f64) -> (f64, f64) {
    (x * WIDTH, (1.0 - y) * HEIGHT)
}

/// A place as per cent, for a style or a label.
pub(crate) fn per_cent(place: f64) -> f64 {
    (place * 10_000.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_values_stand_on_a_linear_axis_from_0() {
        let axis = Axis::over(50.0, 90.0);
        assert_eq!(axis, Axis::Linear { high: 97.2 });
        assert_eq!(axis.ticks(), [0.0, 50.0]);
        assert_eq!(axis.place(0.0), 0.0);
    }

    #[test]
    fn far_values_stand_on_a_logarithmic_axis() {
        let axis = Axis::over(1_000.0, 1_000_000.0);
        assert!(axis.place(31_622.8) > 0.49 && axis.place(31_622.8) < 0.51);
        assert_eq!(axis.ticks(), [1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6]);
    }

    #[test]
    fn a_path_tells_each_point_from_the_one_before() {
        let points = [(0.0, 300.0), (0.3, 300.2), (4.6, 290.0), (9.0, 300.0)];
        assert_eq!(path(points), "M0 300l5-10l4 10");
        assert_eq!(path([]), "");
        assert_eq!(uprights([0.0, 0.5], 300.0, 0.0), "M0 300v-300M500 300v-300");
    }

    #[test]
    fn nothing_leaves_the_plot() {
        for axis in [
            Axis::over(0.0, 0.0),
            Axis::over(1.0, 1e12),
            Axis::over(5.0, 6.0),
        ] {
            for value in [0.0, 1.0, 1e300] {
                let place = axis.place(value);
                assert!((0.0..=1.0).contains(&place), "{axis:?} {value}");
            }
        }
    }
}
