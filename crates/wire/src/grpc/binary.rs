//! Binary metadata: fields whose name ends in `-bin` carry base64 (gRPC HTTP/2 spec,
//! "Binary-Header").

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

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

    proptest! {
        #[test]
        fn every_value_reads_back(bytes in prop::collection::vec(any::<u8>(), 0..50)) {
            prop_assert_eq!(decode_binary(encode_binary(&bytes).as_bytes()), Some(bytes));
        }
    }
}
