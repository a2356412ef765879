//! Numbers as people read them: three significant digits, a unit that fits, thousands apart.

/// A unit of time, and how many nanoseconds it has.
const TIME_UNITS: Units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// A unit of size in bytes. Decimal, as networks and protocols count.
const SIZE_UNITS: Units = [("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)];

/// What stands where nothing was measured.
pub(crate) const NONE: &str = "–";

/// A scale that several numbers are written in together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    unit: &'static str,
    size: f64,
    decimals: usize,
    /// The units to choose from for each number alone, where the numbers are too far apart for
    /// one unit.
    each: Option<&'static Units>,
}

/// Units from small to large, each with its size.
type Units = [(&'static str, f64); 4];

/// Numbers that differ by more than this factor do not share a unit.
const ONE_UNIT_UP_TO: f64 = 300.0;

impl Scale {
    /// A scale for times (ns) that are to be compared with each other: the largest unit in which
    /// the smallest of them is still at least 1, with three significant digits of it.
    pub(crate) fn times(values: impl IntoIterator<Item = f64>) -> Self {
        Self::of(&TIME_UNITS, values)
    }

    /// A scale for sizes (bytes) that are to be compared with each other.
    pub(crate) fn sizes(values: impl IntoIterator<Item = f64>) -> Self {
        Self::of(&SIZE_UNITS, values)
    }

    fn of(units: &'static Units, values: impl IntoIterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values.into_iter().filter(|v| v.is_finite() && *v > 0.0) {
            low = low.min(value);
            high = high.max(value);
        }
        let fits = |(_, size): &&(&str, f64)| low >= *size;
        let found = if low.is_finite() {
            units.iter().rev().find(fits)
        } else {
            None
        };
        let &(unit, size) = found.unwrap_or(&units[0]);
        // Whole nanoseconds and bytes: a fraction of them was not measured.
        let decimals = if size == 1.0 { 0 } else { decimals(low / size) };
        let each = (high > low * ONE_UNIT_UP_TO).then_some(units);
        Self {
            unit,
            size,
            decimals,
            each,
        }
    }

    /// A number in this scale, with its unit.
    pub(crate) fn with_unit(&self, value: f64) -> String {
        match self.each {
            Some(units) => Self::of(units, [value]).with_unit(value),
            None => format!("{} {}", fixed(value / self.size, self.decimals), self.unit),
        }
    }
}

/// A time on its own.
pub(crate) fn time(ns: f64) -> String {
    Scale::times([ns]).with_unit(ns)
}

/// A round time, without needless digits: `20 µs`, `1.5 ms`.
pub(crate) fn round_time(ns: f64) -> String {
    let fits = |(_, size): &&(&str, f64)| ns >= *size;
    let &(unit, size) = TIME_UNITS.iter().rev().find(fits).unwrap_or(&TIME_UNITS[0]);
    let value = (ns / size * 100.0).round() / 100.0;
    format!("{value} {unit}")
}

/// A size on its own.
pub(crate) fn size(bytes: f64) -> String {
    Scale::sizes([bytes]).with_unit(bytes)
}

/// A number with three significant digits, or all digits of a larger one.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else {
        fixed(value, decimals(value))
    }
}

/// A whole number with its thousands apart.
pub(crate) fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A part of a whole, in per cent.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.1 {
        "< 0.1%".to_owned()
    } else if percent < 10.0 {
        format!("{percent:.1}%")
    } else {
        format!("{percent:.0}%")
    }
}

/// How many decimals a ratio needs: a small difference must be seen beside 1.
pub(crate) fn ratio_decimals(ratio: f64) -> usize {
    match ratio.abs() {
        r if r < 1.1 => 3,
        r if r < 10.0 => 2,
        r if r < 100.0 => 1,
        _ => 0,
    }
}

/// A ratio as a plain number.
pub(crate) fn ratio(ratio: f64) -> String {
    fixed(ratio, ratio_decimals(ratio))
}

/// An interval, its ends with the same decimals.
pub(crate) fn interval([low, high]: [f64; 2], decimals: usize) -> String {
    format!("[{}, {}]", fixed(low, decimals), fixed(high, decimals))
}

/// A time of the wall clock, UTC: `2026-11-20 10:15`.
pub(crate) fn wall_clock(ms: u64) -> String {
    let (days, minutes) = (ms / 86_400_000, ms / 60_000 % 1_440);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}",
        minutes / 60,
        minutes % 60
    )
}

/// A time of the wall clock to the millisecond, UTC: `10:15:00.250`.
pub(crate) fn wall_clock_to_ms(ms: u64) -> String {
    let (seconds, rest) = (ms / 1_000 % 86_400, ms % 1_000);
    format!(
        "{:02}:{:02}:{:02}.{rest:03}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// The date of a day counted from 1970-01-01, by the days-to-civil algorithm of Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms".
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
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
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits), |rest| ("-", rest));
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
    fn times_get_a_unit_that_fits() {
        for (ns, text) in [
            (0.0, "0 ns"),
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
    fn numbers_on_one_scale_share_unit_and_decimals() {
        let scale = Scale::times([845_000.0, 1_924_000.0]);
        assert_eq!(scale.with_unit(845_000.0), "845 µs");
        assert_eq!(scale.with_unit(1_924_000.0), "1,924 µs");
        let far = Scale::times([845.0, 31_800_000.0]);
        assert_eq!(
            (far.with_unit(845.0), far.with_unit(31_800_000.0)),
            ("845 ns".into(), "31.8 ms".into())
        );
        assert_eq!(Scale::times([]).with_unit(0.0), "0 ns");
        assert_eq!(Scale::sizes([701.0]).with_unit(1_705.0), "1,705 B");
        assert_eq!(size(1_900_000.0), "1.90 MB");
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
    }

    #[test]
    fn dates_hold_leap_days() {
        assert_eq!(wall_clock(0), "1970-01-01 00:00");
        assert_eq!(wall_clock(951_782_400_000), "2000-02-29 00:00");
        assert_eq!(wall_clock(1_795_169_700_000), "2026-11-20 10:15");
    }
}
