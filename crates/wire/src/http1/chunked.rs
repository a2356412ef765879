//! The chunked transfer coding (RFC 9112 §7.1), excluding its trailer section.

use super::error::Http1Violation;
use crate::error::{Failure, LimitExceeded};
use crate::request::is_value_byte;

/// Which part of the coding the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunked {
    Size(SizeLine),
    /// In a chunk's data.
    Data {
        left: u64,
    },
    /// At the line end that follows a chunk's data.
    DataEnd,
    /// Inside that line end, after its carriage return.
    DataLineFeed,
    /// After the last chunk. The trailer section follows.
    Trailers,
}

/// The received part of a chunk's size line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SizeLine {
    size: u64,
    digits: u8,
    /// Number of bytes read.
    length: usize,
    part: SizePart,
}

/// The position in a size line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SizePart {
    Digits,
    /// White space after the digits; only an extension may follow.
    Blank,
    Extension,
    LineFeed,
}

/// A part removed from the front of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Body bytes.
    Data(&'a [u8]),
    /// This many bytes of framing.
    Framing(usize),
}

impl Chunked {
    /// The state before the first byte of a chunk.
    pub(super) const START: Chunked = Chunked::Size(SizeLine {
        size: 0,
        digits: 0,
        length: 0,
        part: SizePart::Digits,
    });

    /// Takes a part off the front of `input`, which must not be empty. Must not be called in the
    /// state `Trailers`.
    pub(super) fn take<'a>(
        &mut self,
        input: &mut &'a [u8],
        max_line: usize,
    ) -> Result<Part<'a>, Failure> {
        if let Chunked::Data { left } = self {
            let data = take_up_to(left, input);
            if *left == 0 {
                *self = Chunked::DataEnd;
            }
            return Ok(Part::Data(data));
        }
        let mut taken = 0;
        while let Some((&byte, rest)) = input.split_first() {
            if matches!(self, Chunked::Data { .. } | Chunked::Trailers) {
                break;
            }
            self.framing_byte(byte, max_line)?;
            *input = rest;
            taken += 1;
        }
        Ok(Part::Framing(taken))
    }

    fn framing_byte(&mut self, byte: u8, max_line: usize) -> Result<(), Failure> {
        match (&mut *self, byte) {
            (Chunked::DataEnd, b'\r') => *self = Chunked::DataLineFeed,
            (Chunked::DataLineFeed, b'\n') => *self = Chunked::START,
            (Chunked::DataEnd | Chunked::DataLineFeed, _) => {
                return Err(Http1Violation::ChunkEnd.into());
            }
            (Chunked::Size(line), b'\n') if line.part == SizePart::LineFeed => {
                *self = match line.size {
                    0 => Chunked::Trailers,
                    left => Chunked::Data { left },
                };
            }
            (Chunked::Size(line), _) => {
                line.length += 1;
                if line.length > max_line {
                    return Err(LimitExceeded::ChunkLineBytes(max_line).into());
                }
                line.take(byte).ok_or(Http1Violation::ChunkSize)?;
            }
            (Chunked::Data { .. } | Chunked::Trailers, _) => {}
        }
        Ok(())
    }
}

/// Takes up to `left` bytes off the front of `input` and subtracts them from `left`.
pub(super) fn take_up_to<'a>(left: &mut u64, input: &mut &'a [u8]) -> &'a [u8] {
    let n = usize::try_from(*left)
        .unwrap_or(usize::MAX)
        .min(input.len());
    let (data, rest) = input.split_at(n);
    *input = rest;
    *left -= n as u64;
    data
}

impl SizeLine {
    /// Processes one byte before the line feed. Returns `None` if the byte is not allowed there.
    fn take(&mut self, byte: u8) -> Option<()> {
        self.part = match (self.part, (byte as char).to_digit(16)) {
            (SizePart::Digits, Some(digit)) => {
                // 16 digits fill 64 bits. More are rejected, even leading zeros.
                self.digits += 1;
                if self.digits > 16 {
                    return None;
                }
                self.size = self.size << 4 | u64::from(digit);
                SizePart::Digits
            }
            (SizePart::Digits, None) if self.digits == 0 => return None,
            (SizePart::Digits | SizePart::Extension, None) if byte == b'\r' => SizePart::LineFeed,
            (SizePart::Digits | SizePart::Blank, None) if byte == b';' => SizePart::Extension,
            (SizePart::Digits | SizePart::Blank, None) if matches!(byte, b' ' | b'\t') => {
                SizePart::Blank
            }
            (SizePart::Extension, _) if is_value_byte(byte) => SizePart::Extension,
            _ => return None,
        };
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body encoded in `text`, and the bytes after the last chunk.
    fn decode(text: &str) -> Result<(String, &str), Failure> {
        let mut state = Chunked::START;
        let mut input = text.as_bytes();
        let mut body = Vec::new();
        while state != Chunked::Trailers && !input.is_empty() {
            if let Part::Data(data) = state.take(&mut input, 20)? {
                body.extend_from_slice(data);
            }
        }
        assert_eq!(state, Chunked::Trailers, "the body is whole");
        Ok((
            String::from_utf8(body).unwrap(),
            &text[text.len() - input.len()..],
        ))
    }

    #[test]
    fn chunks_are_joined() {
        assert_eq!(
            decode("3\r\nabc\r\n00a\r\n0123456789\r\n0\r\n\r\n"),
            Ok(("abc0123456789".into(), "\r\n"))
        );
        assert_eq!(
            decode("1;x=y\r\na\r\n0 \t;z\r\nT: u\r\n"),
            Ok(("a".into(), "T: u\r\n"))
        );
    }

    #[test]
    fn bad_sizes_and_ends_are_refused() {
        let size = Err(Failure::Violation(Http1Violation::ChunkSize.into()));
        for bad in [
            "\r\n",
            ";x\r\n",
            "g\r\n",
            "-1\r\n",
            "+1\r\n",
            "0x1\r\n",
            " 1\r\n",
            "1 \r\n",
            "1\n",
            "1 2\r\n",
            "1\rx",
            "1;a\rb\r\n",
            "1;\0\r\n",
            "1_0\r\n",
            "12345678123456781\r\n",
        ] {
            assert_eq!(decode(bad), size, "{bad:?}");
        }
        let end = Err(Failure::Violation(Http1Violation::ChunkEnd.into()));
        for bad in ["1\r\nab", "1\r\na\n", "1\r\na\rb"] {
            assert_eq!(decode(bad), end, "{bad:?}");
        }
        let long = format!("1;{}", "x".repeat(30));
        assert_eq!(decode(&long), Err(LimitExceeded::ChunkLineBytes(20).into()));
    }
}
