//! Formats numbers for people: three significant digits, a fitting unit, separated thousands.

use std::time::{Duration, UNIX_EPOCH};

use rpcgauge_study::clock::Utc;

/// The units of time, each with its length in nanoseconds.
const TIME_UNITS: Units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// The units of size, each with its number of bytes. They are decimal, as in networks and protocols.
const SIZE_UNITS: Units = [("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)];

/// The text in place of a figure that was not measured.
pub const NONE: &str = "–";

pub(crate) fn none() -> String {
    NONE.to_owned()
}

/// Four units in ascending order, each with its size.
type Units = [(&'static str, f64); 4];

/// A number with three significant digits in the fitting unit.
fn in_unit(units: &Units, value: f64) -> String {
    let (unit, size) = fitting(units, value);
    let decimals = match size {
        // Nanoseconds and bytes are measured, and therefore shown, as whole numbers.
        1.0 => 0,
        size => decimals(value / size),
    };
    format!("{} {unit}", fixed(value / size, decimals))
}

/// The fitting unit for a value, and its size.
fn fitting(units: &Units, value: f64) -> (&'static str, f64) {
    // Three digits are shown, so 999.5 of a unit is shown as 1.00 of the next one.
    let fits = |(_, size): &&(&str, f64)| value >= size * 0.9995;
    *units.iter().rev().find(fits).unwrap_or(&units[0])
}

/// A time with its unit. Below 100 ns, a fraction shows that it is a mean.
pub fn time(ns: f64) -> String {
    if ns < 99.95 && ns.fract() != 0.0 {
        return format!("{} ns", fixed(ns, decimals(ns)));
    }
    in_unit(&TIME_UNITS, ns)
}

/// A time of whole nanoseconds.
pub(crate) fn ns(ns: u64) -> String {
    time(ns as f64)
}

/// A round time, without needless digits: `20 µs`, `1.5 ms`.
pub(crate) fn round_time(ns: f64) -> String {
    round_in_unit(&TIME_UNITS, ns)
}

/// A round size, without needless digits: `20 kB`, `1.5 MB`.
pub(crate) fn round_size(bytes: f64) -> String {
    round_in_unit(&SIZE_UNITS, bytes)
}

fn round_in_unit(units: &Units, value: f64) -> String {
    let fits = |(_, size): &&(&str, f64)| value >= *size;
    let &(unit, size) = units.iter().rev().find(fits).unwrap_or(&units[0]);
    let value = (value / size * 100.0).round() / 100.0;
    format!("{value} {unit}")
}

/// A size with its unit. Below 100 B, a fraction shows that it is a mean.
pub fn size(bytes: f64) -> String {
    let tenths = (bytes * 10.0).round();
    if bytes < 100.0 && tenths % 10.0 != 0.0 {
        return format!("{} B", fixed(bytes, 1));
    }
    in_unit(&SIZE_UNITS, bytes)
}

/// A target rate, per second: `500`, `0.5`, `1,414.2`. It has at least five significant digits, since a search
/// computes its rates.
pub fn rate(per_second: f64) -> String {
    let decimals = (4.0 - per_second.abs().log10().floor()).clamp(0.0, 12.0);
    let text = fixed(per_second, decimals as usize);
    without_zeros(text)
}

/// A number without trailing zeros in its decimals.
fn without_zeros(text: String) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A number with three significant digits: `0.42`, `76.4`, `16,600`.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() < 1_000.0 {
        return fixed(value, decimals(value));
    }
    let step = 10_f64.powf(value.abs().log10().floor() - 2.0);
    fixed((value / step).round() * step, 0)
}

/// A number with three significant digits, however small it is: `0.00213`, `76.4`.
pub(crate) fn precise(value: f64) -> String {
    const MAX_DECIMALS: i32 = 12;
    if value == 0.0 || value.abs() >= 1.0 {
        return number(value);
    }
    let first = value.abs().log10().floor() as i32;
    fixed(value, (2 - first).min(MAX_DECIMALS) as usize)
}

/// A time with enough digits to tell it from another.
pub(crate) fn time_beside(ns: f64, other: f64) -> String {
    let (unit, size) = fitting(&TIME_UNITS, other);
    format!("{} {unit}", number_beside(ns / size, other / size))
}

/// A share in per cent, with enough digits to tell it from another.
pub(crate) fn percent_beside(share: f64, other: f64) -> String {
    format!("{}%", number_beside(share * 100.0, other * 100.0))
}

/// A number with enough digits to tell it from another.
pub(crate) fn number_beside(value: f64, other: f64) -> String {
    const MAX_DIGITS: i32 = 15;
    let whole = value.abs().max(other.abs()).log10().floor() as i32;
    let shown =
        |value: f64, digits: i32| fixed(value, (digits - 1 - whole).clamp(0, MAX_DIGITS) as usize);
    let text = (2..MAX_DIGITS)
        .map(|digits| (shown(value, digits), shown(other, digits)))
        .find(|(value, other)| value != other)
        .map_or_else(|| shown(value, MAX_DIGITS), |(value, _)| value);
    without_zeros(text)
}

/// An estimated or rounded number: whole, or with one decimal below 10.
pub(crate) fn about(size: f64) -> String {
    match size {
        size if size < 9.95 => fixed(size, usize::from(size.fract() != 0.0)),
        size if size < 1_000.0 => fixed(size, 0),
        size => number(size),
    }
}

/// The size of a difference: per cent below a factor of 2 (`23%`), otherwise a factor (`4.00×`). The smallest
/// difference shown is 0.1%: sentences about the differences below it would mean nothing with 0.0%.
pub(crate) fn difference(factor: f64) -> String {
    if factor < 2.0 {
        percent((factor - 1.0).max(0.001))
    } else {
        format!("{}×", number(factor))
    }
}

/// A whole number with separated thousands.
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A number of things, given the singular: `1 block`, `1,200 blocks`.
pub fn counted(number: u64, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", count(number))
}

/// A share, in per cent.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.1 => "< 0.1%".to_owned(),
        // One decimal near 100%, so that nearly all does not look like all.
        percent if percent < 9.95 || (99.5..99.95).contains(&percent) => format!("{percent:.1}%"),
        percent if (99.95..100.0).contains(&percent) => "> 99.9%".to_owned(),
        percent => format!("{percent:.0}%"),
    }
}

/// The number of decimals of a ratio: a small difference from 1 must be visible.
pub(crate) fn ratio_decimals(ratio: f64) -> usize {
    match ratio.abs() {
        r if r < 1.1 => 3,
        r if r < 10.0 => 2,
        r if r < 100.0 => 1,
        _ => 0,
    }
}

/// A ratio as a number with [`ratio_decimals`] decimals.
pub(crate) fn ratio(ratio: f64) -> String {
    fixed(ratio, ratio_decimals(ratio))
}

/// An end of an interval beyond this is shown without its value, which would be meaningless.
pub(crate) const MAX_RATIO: f64 = 1_000.0;

/// Two ratios with at most `decimals` decimals; large ratios have fewer.
pub(crate) fn ratios(ratios: [f64; 2], decimals: usize) -> (String, String) {
    let [first, second] = ratios.map(|ratio| end(ratio, decimals.min(ratio_decimals(ratio))));
    (first, second)
}

/// An interval of ratios, with the same number of decimals at both ends.
pub(crate) fn interval([low, high]: [f64; 2], decimals: usize) -> String {
    format!("[{}, {}]", end(low, decimals), end(high, decimals))
}

/// An end of an interval; beyond [`MAX_RATIO`], only `over 1,000` or `under 1/1,000`.
fn end(ratio: f64, decimals: usize) -> String {
    if ratio > MAX_RATIO {
        return format!("over {}", fixed(MAX_RATIO, 0));
    }
    if ratio < 1.0 / MAX_RATIO {
        return format!("under 1/{}", fixed(MAX_RATIO, 0));
    }
    fixed(ratio, decimals)
}

/// A wall-clock time, UTC: `2026-11-20 10:15`.
pub(crate) fn wall_clock(ms: u64) -> String {
    Utc::from(UNIX_EPOCH + Duration::from_millis(ms)).to_minute()
}

/// A wall-clock time to the millisecond, UTC: `10:15:00.250`.
pub(crate) fn wall_clock_to_ms(ms: u64) -> String {
    let (s, ms) = (ms / 1_000, ms % 1_000);
    let (h, min, s) = (s / 3_600 % 24, s / 60 % 60, s % 60);
    format!("{h:02}:{min:02}:{s:02}.{ms:03}")
}

fn decimals(value: f64) -> usize {
    match value.abs() {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    }
}

fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", grouped(whole)),
        None => grouped(&text),
    }
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_keep_their_digits() {
        let texts = [0.0, 0.000_803_4, -0.0214, 0.5, 2.107, 1_642.3].map(precise);
        assert_eq!(
            texts,
            ["0", "0.000803", "-0.0214", "0.500", "2.11", "1,640"]
        );
        assert_eq!(precise(1e-20), "0.000000000000");
    }

    #[test]
    fn times_get_a_unit_that_fits() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (6.0, "6 ns"),
            (6.667, "6.67 ns"),
            (45.31, "45.3 ns"),
            (99.97, "100 ns"),
            (999.0, "999 ns"),
            (1_000.0, "1.00 µs"),
            (7_125.0, "7.12 µs"),
            (84_500.0, "84.5 µs"),
            (845_000.0, "845 µs"),
            (1_924_000.0, "1.92 ms"),
            (61.3e9, "61.3 s"),
            (86_400e9, "86,400 s"),
        ] {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn each_figure_has_three_digits_in_its_own_unit() {
        assert_eq!(time(3_211_500.0), "3.21 ms");
        assert_eq!(time(64_193_000.0), "64.2 ms");
        assert_eq!(time(999_499.0), "999 µs");
        assert_eq!(time(999_501.0), "1.00 ms");
        assert_eq!(size(701.0), "701 B");
        assert_eq!(size(29.7067), "29.7 B");
        assert_eq!(size(30.04), "30 B");
        assert_eq!(size(97_452.0), "97.5 kB");
        assert_eq!(size(1_900_000.0), "1.90 MB");
        assert_eq!(number(0.0), "0");
        assert_eq!(number(69.04), "69.0");
        assert_eq!(number(999.6), "1,000");
        assert_eq!(number(16_632.0), "16,600");
    }

    #[test]
    fn a_rate_has_no_needless_digits() {
        for (per_second, text) in [
            (0.0, "0"),
            (0.1, "0.1"),
            (50.0 / 3.0, "16.667"),
            (500.0, "500"),
            (2e6_f64.sqrt(), "1,414.2"),
            (123_456.4, "123,456"),
            (1e9, "1,000,000,000"),
            (f64::NAN, NONE),
        ] {
            assert_eq!(rate(per_second), text);
        }
    }

    #[test]
    fn a_difference_is_per_cent_or_a_factor() {
        assert_eq!(difference(1.23), "23%");
        assert_eq!(difference(1.038), "3.8%");
        assert_eq!(difference(1.0), "0.1%");
        assert_eq!(difference(4.0), "4.00×");
    }

    #[test]
    fn ratios_show_small_differences() {
        assert_eq!(ratio(1.004), "1.004");
        assert_eq!(ratio(2.314), "2.31");
        assert_eq!(ratio(45.67), "45.7");
        assert_eq!(ratio(1_234.5), "1,234");
        assert_eq!(interval([0.99, 1.021], 3), "[0.990, 1.021]");
        assert_eq!(ratio(f64::NAN), NONE);
    }

    #[test]
    fn shares_are_per_cent() {
        assert_eq!(percent(0.0), "0.0%");
        assert_eq!(percent(0.0001), "< 0.1%");
        assert_eq!(percent(0.034), "3.4%");
        assert_eq!(percent(0.81), "81%");
        assert_eq!(percent(896.0 / 900.0), "99.6%");
        assert_eq!(percent(0.99999), "> 99.9%");
        assert_eq!(percent(1.0), "100%");
    }
}
