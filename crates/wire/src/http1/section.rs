//! Field lines that end with an empty line, as in a head or trailer section.

use super::error::Http1Violation;
use crate::error::{Failure, LimitExceeded};
use crate::event::FieldRange;
use crate::request::{is_token, is_value_byte};

/// The end of a line.
pub(super) const CRLF: &[u8] = b"\r\n";

/// Searches for the empty line. Continues where it stopped when more bytes arrive.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct EndFinder {
    /// Start of the line that is being searched.
    line_start: usize,
    /// Number of bytes already searched.
    scanned: usize,
}

impl EndFinder {
    /// The length of the section including its empty line; `None` if the empty line has not
    /// arrived. `bytes` must begin with the bytes of the previous call.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Result<Option<usize>, Http1Violation> {
        while let Some(at) = bytes[self.scanned..].iter().position(|&b| b == b'\n') {
            let end = self.scanned + at;
            let line = &bytes[self.line_start..end];
            match line.split_last() {
                Some((b'\r', [])) => return Ok(Some(end + 1)),
                Some((b'\r', line)) if line.contains(&b'\r') => {
                    return Err(Http1Violation::BareCarriageReturn);
                }
                Some((b'\r', _)) => {}
                _ => return Err(Http1Violation::BareLineFeed),
            }
            self.scanned = end + 1;
            self.line_start = end + 1;
        }
        self.scanned = bytes.len();
        Ok(None)
    }
}

/// Parses the field lines of `text` into `ranges`, from `start` to the empty line. Calls `each`
/// with every field.
pub(super) fn parse_fields(
    text: &[u8],
    start: usize,
    max_fields: usize,
    ranges: &mut Vec<FieldRange>,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<(), Http1Violation>,
) -> Result<(), Failure> {
    ranges.clear();
    let mut at = start;
    loop {
        let length = line_length(&text[at..]);
        if length == 0 {
            return Ok(());
        }
        if ranges.len() == max_fields {
            return Err(LimitExceeded::Fields(max_fields).into());
        }
        let range = parse_field(text, at, at + length)?;
        let (name, value) = range.of(text);
        each(name, value)?;
        ranges.push(range);
        at += length + CRLF.len();
    }
}

/// Length of the first line without its CRLF. `text` must contain that CRLF.
pub(super) fn line_length(text: &[u8]) -> usize {
    text.iter().position(|&b| b == b'\r').unwrap_or(text.len())
}

fn parse_field(text: &[u8], start: usize, end: usize) -> Result<FieldRange, Http1Violation> {
    let line = &text[start..end];
    if matches!(line[0], b' ' | b'\t') {
        return Err(Http1Violation::FoldedLine);
    }
    let colon = line
        .iter()
        .position(|&b| b == b':')
        .ok_or(Http1Violation::FieldName)?;
    let name = &line[..colon];
    if name.last().is_some_and(|last| matches!(last, b' ' | b'\t')) {
        return Err(Http1Violation::SpaceBeforeColon);
    }
    if !is_token(name) {
        return Err(Http1Violation::FieldName);
    }
    let value = &line[colon + 1..];
    if !value.iter().all(|&b| is_value_byte(b)) {
        return Err(Http1Violation::FieldValue);
    }
    let blank = |b: &&u8| matches!(b, b' ' | b'\t');
    let leading = value.iter().take_while(blank).count();
    let trailing = value[leading..].iter().rev().take_while(blank).count();
    Ok(FieldRange {
        name_start: start as u32,
        name_end: (start + colon) as u32,
        value_start: (start + colon + 1 + leading) as u32,
        value_end: (end - trailing) as u32,
        wire_bytes: (line.len() + CRLF.len()) as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_found_across_cuts() {
        let text = b"a: b\r\nc: d\r\n\r\nrest";
        for cut in 0..text.len() {
            let mut finder = EndFinder::default();
            let first = finder.find(&text[..cut]).unwrap();
            assert_eq!(first, (cut >= 14).then_some(14), "cut at {cut}");
            if first.is_none() {
                assert_eq!(finder.find(text), Ok(Some(14)), "cut at {cut}");
            }
        }
    }

    #[test]
    fn bad_line_ends_are_refused() {
        let find = |text: &[u8]| EndFinder::default().find(text);
        assert_eq!(find(b"a: b\n"), Err(Http1Violation::BareLineFeed));
        assert_eq!(find(b"\n"), Err(Http1Violation::BareLineFeed));
        assert_eq!(
            find(b"a: b\rc\r\n"),
            Err(Http1Violation::BareCarriageReturn)
        );
    }

    #[test]
    fn field_lines_are_strict() {
        use Http1Violation as V;
        let parse = |line: &str| {
            let text = format!("{line}\r\n\r\n");
            let mut ranges = Vec::new();
            let mut found = None;
            let result = parse_fields(text.as_bytes(), 0, 8, &mut ranges, |name, value| {
                found = Some((name.to_vec(), value.to_vec()));
                Ok(())
            });
            result.map(|()| found.unwrap())
        };
        let refused = |v: V| Err(Failure::Violation(v.into()));
        assert_eq!(parse("a:b"), Ok((b"a".to_vec(), b"b".to_vec())));
        assert_eq!(
            parse("A-b: \t c d \t"),
            Ok((b"A-b".to_vec(), b"c d".to_vec()))
        );
        assert_eq!(parse("a:"), Ok((b"a".to_vec(), b"".to_vec())));
        assert_eq!(
            parse("a: \u{e4}"),
            Ok((b"a".to_vec(), "ä".as_bytes().to_vec()))
        );
        assert_eq!(parse("a : b"), refused(V::SpaceBeforeColon));
        assert_eq!(parse(" a: b"), refused(V::FoldedLine));
        assert_eq!(parse(": b"), refused(V::FieldName));
        assert_eq!(parse("a b: c"), refused(V::FieldName));
        assert_eq!(parse("no colon"), refused(V::FieldName));
        assert_eq!(parse("a: b\0"), refused(V::FieldValue));
    }
}
