//! The Huffman code of HPACK (RFC 7541 §5.2, Appendix B).
//!
//! The code is canonical: codes are assigned in order of length, then of symbol. The lengths
//! therefore define it, and the tables below are computed from them at compile time.

use super::HpackError;

/// Code length in bits of each byte, followed by that of the end-of-string symbol (RFC 7541
/// Appendix B).
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// The symbol that completes the code space. It must not appear in a string.
const END_OF_STRING: u16 = 256;

/// Length of the longest code, in bits.
const MAX_BITS: usize = 30;

/// Bits per table lookup. Letters, digits and common punctuation have codes of at most 8 bits. All
/// but 16 printable characters fit in 10 bits.
const FAST_BITS: usize = 10;

struct Tables {
    /// The code of each symbol, in its lowest bits.
    codes: [u32; 257],
    /// Symbol and code length, indexed by the next `FAST_BITS` bits. The length is 0 if the code is
    /// longer.
    fast: [(u8, u8); 1 << FAST_BITS],
    /// All symbols in order of their codes.
    sorted: [u16; 257],
    /// Indexed by code length: the first code of that length, the number of codes, and where their
    /// symbols begin in `sorted`.
    by_length: [(u32, u16, u16); MAX_BITS + 1],
}

static TABLES: Tables = Tables::compute();

impl Tables {
    const fn compute() -> Tables {
        let mut tables = Tables {
            codes: [0; 257],
            fast: [(0, 0); 1 << FAST_BITS],
            sorted: [0; 257],
            by_length: [(0, 0, 0); MAX_BITS + 1],
        };
        let mut next_code = 0u32;
        let mut placed = 0;
        let mut length = 1;
        while length <= MAX_BITS {
            next_code <<= 1;
            let first = next_code;
            let start = placed;
            let mut symbol = 0;
            while symbol < 257 {
                if LENGTHS[symbol] as usize == length {
                    tables.codes[symbol] = next_code;
                    tables.sorted[placed] = symbol as u16;
                    if length <= FAST_BITS {
                        tables.fill_fast(symbol as u8, next_code, length);
                    }
                    placed += 1;
                    next_code += 1;
                }
                symbol += 1;
            }
            tables.by_length[length] = (first, (placed - start) as u16, start as u16);
            length += 1;
        }
        tables
    }

    /// Enters a short code at every index that begins with it.
    const fn fill_fast(&mut self, symbol: u8, code: u32, length: usize) {
        let spare = FAST_BITS - length;
        let mut i = 0;
        while i < 1 << spare {
            self.fast[((code as usize) << spare) + i] = (symbol, length as u8);
            i += 1;
        }
    }

    /// Finds the symbol at the top of `bits` and its code length, for codes longer than
    /// `FAST_BITS`.
    fn slow(&self, bits: u64) -> (u16, u32) {
        for length in FAST_BITS + 1..=MAX_BITS {
            let (first, count, start) = self.by_length[length];
            let above = ((bits >> (64 - length)) as u32).wrapping_sub(first);
            if above < u32::from(count) {
                return (self.sorted[start as usize + above as usize], length as u32);
            }
        }
        // Unreachable: the code is complete, so any 30 bits begin with a symbol.
        (END_OF_STRING, MAX_BITS as u32)
    }
}

/// Appends the text encoded by `input`.
pub(super) fn decode(input: &[u8], text: &mut Vec<u8>) -> Result<(), HpackError> {
    let mut rest = input.iter();
    // The next bits, left-aligned, and how many of them come from the input.
    let mut bits = 0u64;
    let mut count = 0u32;
    loop {
        while count <= 56 {
            let Some(&byte) = rest.next() else { break };
            bits |= u64::from(byte) << (56 - count);
            count += 8;
        }
        let (symbol, length) = match TABLES.fast[(bits >> (64 - FAST_BITS)) as usize] {
            (_, 0) => TABLES.slow(bits),
            (symbol, length) => (u16::from(symbol), u32::from(length)),
        };
        if length > count {
            break;
        }
        if symbol == END_OF_STRING {
            return Err(HpackError::Huffman);
        }
        text.push(symbol as u8);
        bits <<= length;
        count -= length;
    }
    // The rest must be padding: fewer than 8 bits, all ones, which begin the end-of-string code.
    let padded_with_ones = count == 0 || bits >> (64 - count) == (1 << count) - 1;
    if count < 8 && padded_with_ones {
        Ok(())
    } else {
        Err(HpackError::Huffman)
    }
}

/// Length of the encoding of `text`, in bytes.
pub(super) fn encoded_length(text: &[u8]) -> usize {
    let bits: usize = text
        .iter()
        .map(|&byte| usize::from(LENGTHS[usize::from(byte)]))
        .sum();
    bits.div_ceil(8)
}

/// Appends the encoding of `text`.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let mut bits = 0u64;
    let mut count = 0u32;
    for &byte in text {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        bits = bits << length | u64::from(TABLES.codes[usize::from(byte)]);
        count += length;
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        let padding = 8 - count;
        out.push((bits << padding) as u8 | ((1u16 << padding) - 1) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(input: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut text = Vec::new();
        decode(input, &mut text).map(|()| text)
    }

    #[test]
    fn the_code_is_complete() {
        let filled: u64 = LENGTHS
            .iter()
            .map(|&length| 1 << (MAX_BITS - usize::from(length)))
            .sum();
        assert_eq!(filled, 1 << MAX_BITS);
    }

    #[test]
    fn codes_are_those_of_appendix_b() {
        let cases: [(usize, u32); 12] = [
            (0, 0x1ff8),
            (10, 0x3fff_fffc),
            (22, 0x3fff_fffe),
            (48, 0x0),
            (97, 0x3),
            (58, 0x5c),
            (92, 0x7fff0),
            (127, 0x0fff_fffc),
            (128, 0xfffe6),
            (199, 0x01ff_ffec),
            (255, 0x03ff_ffee),
            (256, 0x3fff_ffff),
        ];
        for (symbol, code) in cases {
            assert_eq!(TABLES.codes[symbol], code, "symbol {symbol}");
        }
    }

    #[test]
    fn bad_padding_and_end_of_string_are_refused() {
        // "0" is 00000, so three bits of padding must be ones.
        assert_eq!(decoded(&[0b0000_0111]), Ok(b"0".to_vec()));
        assert_eq!(decoded(&[0b0000_0110]), Err(HpackError::Huffman));
        assert_eq!(decoded(&[0b0000_0111, 0xff]), Err(HpackError::Huffman));
        assert_eq!(decoded(&[0xff]), Err(HpackError::Huffman));
        assert_eq!(decoded(&[0xff; 4]), Err(HpackError::Huffman));
        assert_eq!(decoded(&[]), Ok(Vec::new()));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut out = Vec::new();
            encode(&text, &mut out);
            prop_assert_eq!(out.len(), encoded_length(&text));
            prop_assert_eq!(decoded(&out), Ok(text));
        }

        #[test]
        fn any_bytes_decode_or_are_refused_and_encode_back(
            input in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            if let Ok(text) = decoded(&input) {
                let mut out = Vec::new();
                encode(&text, &mut out);
                prop_assert_eq!(out, input);
            }
        }
    }
}
