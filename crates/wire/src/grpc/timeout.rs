//! The `grpc-timeout` header.

use std::time::Duration;

/// Writes a deadline as `grpc-timeout` wants it: at most eight digits and a unit. The finest unit
/// that fits is used; what it cannot hold is rounded up, so that the server never gives up before
/// the client. Durations beyond 99,999,999 hours become that.
pub fn encode_timeout(timeout: Duration) -> String {
    const MOST: u128 = 99_999_999;
    const UNITS: [(u128, char); 6] = [
        (1, 'n'),
        (1_000, 'u'),
        (1_000_000, 'm'),
        (1_000_000_000, 'S'),
        (60_000_000_000, 'M'),
        (3_600_000_000_000, 'H'),
    ];
    let nanos = timeout.as_nanos();
    let fitting = UNITS
        .iter()
        .map(|(size, unit)| (nanos.div_ceil(*size), unit))
        .find(|(n, _)| *n <= MOST);
    match fitting {
        Some((amount, unit)) => format!("{amount}{unit}"),
        None => format!("{MOST}H"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finest_unit_of_eight_digits_is_used() {
        let encode = |nanos| encode_timeout(Duration::from_nanos(nanos));
        assert_eq!(encode(0), "0n");
        assert_eq!(encode(99_999_999), "99999999n");
        assert_eq!(encode(100_000_000), "100000u");
        assert_eq!(encode(100_000_001), "100001u");
        assert_eq!(encode(1_000_000_000), "1000000u");
        assert_eq!(encode(3_600_000_000_000), "3600000m");
        assert_eq!(encode_timeout(Duration::from_secs(u64::MAX)), "99999999H");
    }
}
