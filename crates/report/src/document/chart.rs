//! Charts: bars of sized parts, and lines with positions on axes.

use std::borrow::Cow;

/// A chart, or several about one subject.
pub(crate) struct Chart {
    pub(crate) weight: Weight,
    pub(crate) title: String,
    /// How to read the chart.
    pub(crate) intro: String,
    pub(crate) bars: Option<Bars>,
    pub(crate) plots: Vec<Plot>,
}

impl Chart {
    /// A chart of bars or plots; `None` without any.
    pub(crate) fn new(
        weight: Weight,
        title: &str,
        intro: impl Into<String>,
        bars: Option<Bars>,
        plots: Vec<Plot>,
    ) -> Option<Self> {
        (bars.is_some() || !plots.is_empty()).then(|| Self {
            weight,
            title: title.to_owned(),
            intro: intro.into(),
            bars,
            plots,
        })
    }
}

/// The order in which charts are dropped from a page that would be too large: the highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    Bars,
    Curves,
    Timelines,
    /// Any chart of a placement other than the study's own.
    Further,
}

/// Stacked bars and the key of their colours.
pub(crate) struct Bars {
    /// The class and name of every part that occurs in a bar.
    pub(crate) key: Vec<Named>,
    pub(crate) scales: Vec<Scale>,
}

/// A part's class and name.
pub(crate) type Named = (&'static str, Cow<'static, str>);

/// A part whose name is always the same.
pub(crate) const fn named(class: &'static str, name: &'static str) -> Named {
    (class, Cow::Borrowed(name))
}

/// Bars on one scale.
pub(crate) struct Scale {
    /// The title of the variants' group, if the study has groups.
    pub(crate) title: Option<String>,
    /// The value that the full width stands for.
    pub(crate) full: f64,
    /// The text of this value, with its unit.
    pub(crate) width: String,
    pub(crate) bars: Vec<Bar>,
}

/// One variant's bar.
#[derive(Default)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) cautions: String,
    pub(crate) parts: Vec<Part>,
    /// The spans of a second, thinner bar. They overlap the parts of the first.
    pub(crate) spans: Vec<Part>,
    /// The text of the whole bar's value.
    pub(crate) total: String,
    /// The text below the bar.
    pub(crate) detail: String,
    /// The value of the floor, which is marked on the bar.
    pub(crate) floor: Option<f64>,
}

impl Bar {
    /// The length of the whole bar.
    pub(crate) fn length(&self) -> f64 {
        self.parts.iter().map(|part| part.size).sum()
    }
}

/// A part of a bar.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) named: Named,
    pub(crate) size: f64,
    pub(crate) value: String,
    /// The text inside the part, if there is room.
    pub(crate) label: String,
}

/// Lines over two axes. Positions are 0 to 1, upwards and to the right.
#[derive(Default)]
pub(crate) struct Plot {
    pub(crate) title: String,
    /// A description for screen readers.
    pub(crate) label: String,
    pub(crate) size: Size,
    pub(crate) x: Vec<Tick>,
    pub(crate) y: Vec<Tick>,
    /// Filled areas: the class and name of each shade, with its areas.
    pub(crate) shades: Vec<(Named, Vec<Area>)>,
    /// Texts that a pointer shows in these areas.
    pub(crate) hints: Vec<(Area, String)>,
    pub(crate) lines: Vec<Line>,
    /// The positions of trials' starts.
    pub(crate) trials: Vec<f64>,
    /// The positions of spikes.
    pub(crate) spikes: Vec<f64>,
    /// Runtime events: for each kind, the start and end of each event.
    pub(crate) marks: Vec<(Named, Vec<[f64; 2]>)>,
    /// Single figures, by kind.
    pub(crate) points: Vec<Marks>,
    /// The positions at which two lines cross, each with its interval.
    pub(crate) crossings: Vec<(f64, [f64; 2])>,
    /// The heads of the legend's columns after the line's name; without heads, the named lines have a key.
    pub(crate) heads: Vec<&'static str>,
    pub(crate) below: String,
    /// A folded table at the end, with its name.
    pub(crate) table: Option<(&'static str, super::Table)>,
}

/// A rectangle: its ends on both axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) x: [f64; 2],
    pub(crate) y: [f64; 2],
}

/// The width of a plot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Size {
    /// A third of the page's width.
    Small,
    /// Half of the page's width.
    #[default]
    Half,
    /// The page's whole width.
    Whole,
    /// The page's whole width, but low, above another plot with the same time axis.
    Strip,
}

/// A line of a plot.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) class: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
    /// The line's figures in the legend, one for each of the plot's heads.
    pub(crate) figures: Vec<String>,
}

impl Line {
    /// A line in several parts, of which only the first has the name; no lines without points.
    pub(crate) fn parts(
        (class, name): &Named,
        parts: impl IntoIterator<Item = Vec<(f64, f64)>>,
    ) -> Vec<Self> {
        let names = std::iter::once(&**name).chain(std::iter::repeat(""));
        let parts = parts.into_iter().filter(|points| !points.is_empty());
        let line = |(points, name): (Vec<(f64, f64)>, &str)| Self {
            name: name.to_owned(),
            class,
            points,
            figures: Vec::new(),
        };
        parts.zip(names).map(line).collect()
    }
}

/// Figures of one kind, with their mark.
pub(crate) struct Marks {
    pub(crate) mark: Mark,
    /// The meaning of the mark in the key; empty without a meaning.
    pub(crate) name: &'static str,
    /// The class of each figure's line, and its position.
    pub(crate) at: Vec<(&'static str, (f64, f64))>,
}

/// The shape of a figure's mark, so that kinds do not differ only in colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Dot,
    Cross,
    Ring,
}

/// A label on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    pub(crate) label: String,
}

/// Maps values to positions between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Axis {
    Linear { high: f64 },
    Log { low: f64, high: f64 },
}

/// Values that differ by more than this factor are shown on a logarithmic axis.
const LOG_FROM: f64 = 8.0;

impl Axis {
    /// An axis for values from `low` to `high`: logarithmic if they are far apart, otherwise linear
    /// from 0.
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

    /// The position of a value on the axis, from 0 to 1.
    pub(crate) fn place(self, value: f64) -> f64 {
        let place = match self {
            Self::Linear { high } => value / high,
            Self::Log { low, high } => (value.max(low) / low).ln() / (high / low).ln(),
        };
        place.clamp(0.0, 1.0)
    }

    /// Round values on the axis, usually up to six.
    fn round_values(self) -> Vec<f64> {
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

    /// A logarithmic axis from one value to another, with a little room at both ends.
    pub(crate) fn log(low: f64, high: f64) -> Self {
        Self::Log {
            low: low / 1.15,
            high: high * 1.15,
        }
    }

    /// Labels of an axis of times, each with its unit.
    pub(crate) fn times(self) -> Vec<Tick> {
        self.labels(|ns| match ns {
            0.0 => "0".to_owned(),
            ns => crate::units::round_time(ns),
        })
    }

    /// Labels of an axis at its round values.
    pub(crate) fn labels(self, label: impl Fn(f64) -> String) -> Vec<Tick> {
        let tick = |value: f64| Tick {
            at: self.place(value),
            label: label(value),
        };
        self.round_values().into_iter().map(tick).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_values_stand_on_a_linear_axis_from_0() {
        let axis = Axis::over(50.0, 90.0);
        assert_eq!(axis, Axis::Linear { high: 97.2 });
        assert_eq!(axis.round_values(), [0.0, 50.0]);
        assert_eq!(axis.place(0.0), 0.0);
    }

    #[test]
    fn far_values_stand_on_a_logarithmic_axis() {
        let axis = Axis::over(1_000.0, 1_000_000.0);
        assert!(axis.place(31_622.8) > 0.49 && axis.place(31_622.8) < 0.51);
        assert_eq!(axis.round_values(), [1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6]);
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
