//! Integers with a prefix (RFC 7541 §5.1).

use super::HpackError;

/// Larger integers are rejected: lengths, indices and table sizes all fit in 32 bits.
const MAX: u64 = u32::MAX as u64;

/// Reads an integer off the front of `input`. It begins with the lowest `prefix_bits` of the first
/// byte.
pub(super) fn decode(input: &mut &[u8], prefix_bits: u32) -> Result<u32, HpackError> {
    let (&first, mut rest) = input.split_first().ok_or(HpackError::Truncated)?;
    let mask = (1u16 << prefix_bits) - 1;
    let prefix = u64::from(u16::from(first) & mask);
    let mut value = prefix;
    if prefix == u64::from(mask) {
        let mut shift = 0;
        loop {
            let (&byte, after) = rest.split_first().ok_or(HpackError::Truncated)?;
            rest = after;
            // Five groups of seven bits can represent every 32-bit number. A sixth could only be
            // padding.
            if shift > 28 {
                return Err(HpackError::IntegerOverflow);
            }
            value += u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *input = rest;
    if value > MAX {
        Err(HpackError::IntegerOverflow)
    } else {
        Ok(value as u32)
    }
}

/// Writes `value` with a prefix of `prefix_bits`. `pattern` sets the bits above the prefix.
pub(super) fn encode(out: &mut Vec<u8>, pattern: u8, prefix_bits: u32, value: usize) {
    let most = (1usize << prefix_bits) - 1;
    if value < most {
        out.push(pattern | value as u8);
        return;
    }
    out.push(pattern | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn examples_of_rfc_7541_appendix_c_1() {
        let cases: [(u32, u8, usize, &[u8]); 3] = [
            (5, 0xe0, 10, &[0b1110_1010]),
            (5, 0x00, 1337, &[0b0001_1111, 0b1001_1010, 0b0000_1010]),
            (8, 0x00, 42, &[0b0010_1010]),
        ];
        for (bits, pattern, value, bytes) in cases {
            let mut out = Vec::new();
            encode(&mut out, pattern, bits, value);
            assert_eq!(out, bytes);
            assert_eq!(decode(&mut &out[..], bits), Ok(value as u32));
        }
    }

    #[test]
    fn cut_and_endless_integers_are_refused() {
        assert_eq!(decode(&mut &[][..], 5), Err(HpackError::Truncated));
        assert_eq!(
            decode(&mut &[0x1f, 0x80][..], 5),
            Err(HpackError::Truncated)
        );
        let endless = [0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00];
        assert_eq!(
            decode(&mut &endless[..], 7),
            Err(HpackError::IntegerOverflow)
        );
        let large = [0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(decode(&mut &large[..], 7), Err(HpackError::IntegerOverflow));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value in any::<u32>(), bits in 4u32..=8, after in any::<u8>()) {
            let mut out = Vec::new();
            encode(&mut out, 0, bits, value as usize);
            out.push(after);
            let mut input = &out[..];
            prop_assert_eq!(decode(&mut input, bits), Ok(value));
            prop_assert_eq!(input, &[after]);
        }
    }
}
