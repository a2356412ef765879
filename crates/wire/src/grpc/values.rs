//! Field values that gRPC encodes: binary metadata, `grpc-message`, `grpc-timeout`.

use std::time::Duration;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::error::PrepareError;

/// Encodes without padding and decodes with or without it, as the spec requires.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Encodes the value of a field whose name ends in `-bin`.
pub fn encode_binary(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Decodes one value of a field whose name ends in `-bin`; `None` if it is not base64. Proxies may
/// join several values with commas: split them first.
pub fn decode_binary(value: &[u8]) -> Option<Vec<u8>> {
    BASE64.decode(value).ok()
}

/// Checks a metadata field. If its name ends in `-bin`, it must consist of one or more base64
/// values, separated by commas.
///
/// # Errors
/// [`PrepareError::BinaryField`] with the field's name but not its value.
pub fn check_metadata(name: &str, value: &str) -> Result<(), PrepareError> {
    let is_binary = name.to_ascii_lowercase().ends_with("-bin");
    let is_base64 = |value: &str| decode_binary(value.trim().as_bytes()).is_some();
    if is_binary && !value.split(',').all(is_base64) {
        Err(PrepareError::BinaryField(name.to_owned()))
    } else {
        Ok(())
    }
}

/// Decodes a `grpc-message` value into `text`, which is cleared first. As the gRPC HTTP/2 spec
/// requires, this never fails: a malformed escape is left as it is, and invalid UTF-8 becomes
/// U+FFFD.
pub fn decode_message(value: &[u8], text: &mut String) {
    text.clear();
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&first, after)) = rest.split_first() {
        let escaped = match after {
            [high, low, ..] if first == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    text.push_str(&String::from_utf8_lossy(&bytes));
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|value| value as u8)
}

/// Formats a deadline for `grpc-timeout`: at most eight digits and a unit. Uses the finest unit
/// that fits and rounds up, so that the server never gives up before the client. Longer durations
/// become 99,999,999 hours.
pub fn encode_timeout(timeout: Duration) -> String {
    const MAX: u128 = 99_999_999;
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
        .find(|(n, _)| *n <= MAX);
    match fitting {
        Some((amount, unit)) => format!("{amount}{unit}"),
        None => format!("{MAX}H"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn padding_is_read_and_not_written() {
        assert_eq!(encode_binary(b"ab"), "YWI");
        assert_eq!(decode_binary(b"YWI").as_deref(), Some(&b"ab"[..]));
        assert_eq!(decode_binary(b"YWI=").as_deref(), Some(&b"ab"[..]));
        assert_eq!(decode_binary(b"").as_deref(), Some(&b""[..]));
    }

    #[test]
    fn what_is_not_base64_is_refused() {
        for bad in ["Y", "YWI-", "YW I", "YWI,YWI", "YWI=="] {
            assert_eq!(decode_binary(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn metadata_is_base64_where_its_name_says_so() {
        for (name, value) in [
            ("x", "{}"),
            ("x-bin", "YWI"),
            ("X-Bin", "YWI=, YWJj"),
            ("x-bin", ""),
        ] {
            assert_eq!(check_metadata(name, value), Ok(()), "{name}: {value}");
        }
        for (name, value) in [("x-bin", "{}"), ("X-BIN", "no base64"), ("x-bin", "YWI, Y")] {
            let refused = Err(PrepareError::BinaryField(name.to_owned()));
            assert_eq!(check_metadata(name, value), refused, "{name}: {value}");
        }
    }

    proptest! {
        #[test]
        fn every_value_reads_back(bytes in prop::collection::vec(any::<u8>(), 0..50)) {
            prop_assert_eq!(decode_binary(encode_binary(&bytes).as_bytes()), Some(bytes));
        }
    }

    fn decode(value: &str) -> String {
        let mut text = "old".to_owned();
        decode_message(value.as_bytes(), &mut text);
        text
    }

    #[test]
    fn escapes_are_decoded_and_broken_ones_kept() {
        assert_eq!(decode("plain"), "plain");
        assert_eq!(decode("a%20b%C3%a4"), "a bä");
        assert_eq!(decode("100%"), "100%");
        assert_eq!(decode("%4"), "%4");
        assert_eq!(decode("%zz%41"), "%zzA");
        assert_eq!(decode("%%41"), "%A");
        assert_eq!(decode("%ff!"), "\u{fffd}!");
    }

    proptest! {
        #[test]
        fn what_a_server_encodes_comes_back(message in ".*") {
            let encoded: String = message
                .bytes()
                .map(|b| match b {
                    b' '..=b'~' if b != b'%' => (b as char).to_string(),
                    _ => format!("%{b:02X}"),
                })
                .collect();
            prop_assert_eq!(decode(&encoded), message);
        }

        #[test]
        fn any_bytes_decode(value in prop::collection::vec(any::<u8>(), 0..60)) {
            decode_message(&value, &mut String::new());
        }
    }

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
