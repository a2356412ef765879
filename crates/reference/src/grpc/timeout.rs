//! `grpc-timeout`: at most 8 digits and a unit (PROTOCOL-HTTP2.md, "Timeout").

use std::time::Duration;

use http::HeaderValue;

const MAX_DIGITS: usize = 8;

/// Parses the client's timeout; `None` if the header is malformed.
pub(super) fn parse(value: &HeaderValue) -> Option<Duration> {
    let (unit, digits) = value.as_bytes().split_last()?;
    if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    match unit {
        b'H' => Some(Duration::from_secs(number * 3600)),
        b'M' => Some(Duration::from_secs(number * 60)),
        b'S' => Some(Duration::from_secs(number)),
        b'm' => Some(Duration::from_millis(number)),
        b'u' => Some(Duration::from_micros(number)),
        b'n' => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_read_strictly() {
        for (text, want) in [
            ("1H", Some(Duration::from_secs(3600))),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3600))),
            ("2M", Some(Duration::from_secs(120))),
            ("3S", Some(Duration::from_secs(3))),
            ("4m", Some(Duration::from_millis(4))),
            ("5u", Some(Duration::from_micros(5))),
            ("00000006n", Some(Duration::from_nanos(6))),
            ("", None),
            ("S", None),
            ("1", None),
            ("1s", None),
            ("-1S", None),
            ("+1S", None),
            ("1.5S", None),
            ("123456789n", None),
            ("1S ", None),
        ] {
            assert_eq!(parse(&HeaderValue::from_static(text)), want, "{text:?}");
        }
    }
}
