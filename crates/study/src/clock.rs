//! Dates for names and records. UTC only, from the standard library's clock.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_A_DAY: u64 = 86_400;

/// A time in UTC, in whole seconds since 1970, in the proleptic Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utc(u64);

impl From<SystemTime> for Utc {
    /// Times before 1970 become 1970-01-01: no correct clock reports them.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(since.as_secs())
    }
}

/// Year, month and day of a day counted from 1970-01-01.
///
/// Counts in eras of 400 years that begin on March 1, so that the leap day is the last day of a
/// year and one linear formula yields the first day of every month.
fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_AN_ERA: u64 = 146_097;
    const DAYS_FROM_YEAR_0: u64 = 719_468;
    let shifted = days + DAYS_FROM_YEAR_0;
    let era = shifted / DAYS_AN_ERA;
    let day_of_era = shifted % DAYS_AN_ERA;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = match month_from_march {
        0..10 => month_from_march + 3,
        _ => month_from_march - 9,
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

impl Utc {
    /// `20261120T101500Z`: sorts by time, and is a valid file name everywhere.
    pub fn compact(self) -> String {
        self.to_string().replace(['-', ':'], "")
    }

    /// `2026-11-20 10:15`, for people.
    pub fn to_minute(self) -> String {
        let text = self.to_string().replace('T', " ");
        text[..text.len() - ":00Z".len()].to_owned()
    }
}

/// `2026-11-20T10:15:00Z` (RFC 3339).
impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.0 / SECONDS_A_DAY);
        let (hour, minute, second) = (self.0 / 3_600 % 24, self.0 / 60 % 60, self.0 % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> Utc {
        Utc::from(UNIX_EPOCH + Duration::from_secs(seconds))
    }

    #[test]
    fn known_moments() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_200, "2024-03-01T00:00:00Z"),
            (1_795_170_900, "2026-11-20T10:35:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(at(seconds).to_string(), text);
        }
    }

    #[test]
    fn the_form_for_people_ends_with_the_minute() {
        assert_eq!(at(1_795_170_900).to_minute(), "2026-11-20 10:35");
    }

    #[test]
    fn the_compact_form_sorts_by_time() {
        assert_eq!(at(1_795_170_900).compact(), "20261120T103500Z");
        assert!(at(1_795_170_900).compact() < at(1_795_170_901).compact());
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut before = civil(0);
        for day in 1..80_000 {
            let today = civil(day);
            assert!(today > before, "{before:?} then {today:?}");
            assert!(
                today.2 == before.2 + 1 || today.2 == 1,
                "{before:?} then {today:?}"
            );
            before = today;
        }
    }
}
