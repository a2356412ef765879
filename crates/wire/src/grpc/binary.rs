//! Binary metadata: fields whose name ends in `-bin` carry base64 (gRPC HTTP/2 spec,
//! "Binary-Header").

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::error::PrepareError;

/// Writes without padding and reads with or without, as the spec asks.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Writes the value of a field whose name ends in `-bin`.
pub fn encode_binary(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Reads one value of a field whose name ends in `-bin`; `None` when it is not base64. Several
/// values may have been joined by commas on their way: split there first.
pub fn decode_binary(value: &[u8]) -> Option<Vec<u8>> {
    BASE64.decode(value).ok()
}

/// Checks a field of metadata: one whose name ends in `-bin` holds base64, or several values of it.
///
/// # Errors
/// [`PrepareError::BinaryField`], without the value.
pub fn check_metadata(name: &str, value: &str) -> Result<(), PrepareError> {
    let is_binary = name.to_ascii_lowercase().ends_with("-bin");
    let is_base64 = |value: &str| decode_binary(value.trim().as_bytes()).is_some();
    match is_binary && !value.split(',').all(is_base64) {
        true => Err(PrepareError::BinaryField(name.to_owned())),
        false => Ok(()),
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
}
