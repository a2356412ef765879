//! The head of a response: status line, fields, and the framing of its body.

use super::error::Http1Violation;
use super::section::{line_length, parse_fields};
use crate::error::Failure;
use crate::event::{FieldRange, Fields};
use crate::limits::Limits;
use crate::request::{is_value_byte, read_decimal, read_status};

/// The head of a response, without its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) framing: Framing,
    /// Whether the connection closes after this response.
    pub(super) close: bool,
}

/// How the body ends (RFC 9112 §6.3), for a response that may have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

/// Framing and persistence according to the fields parsed so far.
#[derive(Debug, Default)]
struct FramingFields {
    length: Option<u64>,
    codings: Option<bool>,
    close: bool,
    keep_alive: bool,
}

/// Whether `bytes`, the first bytes of a response, begin an HTTP/1 response; `false` if they are
/// too few to rule out HTTP/2. Without this check, the client would wait for the end of a head
/// until its deadline.
pub(super) fn is_start(bytes: &[u8]) -> Result<bool, Http1Violation> {
    let expected = b"HTTP/";
    let n = bytes.len().min(expected.len());
    if bytes[..n] == expected[..n] {
        return Ok(true);
    }
    // The first frame of an HTTP/2 server is SETTINGS. Its length is below 64 KiB in practice.
    match bytes {
        [0, _, _, 4, ..] => Err(Http1Violation::Http2Response),
        [0] | [0, _] | [0, _, _] => Ok(false),
        _ => Err(Http1Violation::StatusLine),
    }
}

/// Heads with more bytes than this are not kept, so that an idle connection uses little memory.
const MAX_KEPT_BYTES: usize = 1024;

/// The last head of a connection. Most responses of a service have the same head. If it arrives
/// again in one piece, it is not parsed again.
#[derive(Debug, Default)]
pub(super) struct LastHead {
    text: Vec<u8>,
    ranges: Vec<FieldRange>,
    /// The parsed head; `None` if it was not kept.
    head: Option<Head>,
}

impl LastHead {
    /// If `text` begins with the kept head, returns it and its length, including the empty line.
    #[inline]
    pub(super) fn begins(&self, text: &[u8]) -> Option<(Head, usize)> {
        let head = self.head?;
        text.starts_with(&self.text)
            .then_some((head, self.text.len()))
    }

    /// Parses a complete head and keeps it as the last one.
    pub(super) fn parse(&mut self, text: &[u8], limits: &Limits) -> Result<Head, Failure> {
        self.head = None;
        let head = parse(text, limits, &mut self.ranges)?;
        if text.len() <= MAX_KEPT_BYTES {
            self.text.clear();
            self.text.extend_from_slice(text);
            self.head = Some(head);
        }
        Ok(head)
    }

    /// The fields of the last parsed head. `text` must be the text of that head.
    pub(super) fn fields<'a>(&'a self, text: &'a [u8]) -> Fields<'a> {
        Fields::new(text, &self.ranges)
    }
}

/// Parses a complete head and stores its fields in `ranges`.
fn parse(text: &[u8], limits: &Limits, ranges: &mut Vec<FieldRange>) -> Result<Head, Failure> {
    let line = &text[..line_length(text)];
    let (minor, status) = status_line(line)?;
    let mut seen = FramingFields::default();
    let start = line.len() + 2;
    parse_fields(text, start, limits.max_fields, ranges, |name, value| {
        seen.note(name, value)
    })?;
    Ok(Head {
        status,
        framing: seen.framing(minor)?,
        // HTTP/1.0 keeps a connection open only with `keep-alive`.
        close: seen.close || minor == 0 && !seen.keep_alive,
    })
}

/// The minor version and the status of `HTTP/1.x NNN [reason]`.
fn status_line(line: &[u8]) -> Result<(u8, u16), Http1Violation> {
    let rest = line
        .strip_prefix(b"HTTP/")
        .ok_or(Http1Violation::StatusLine)?;
    let [major, b'.', minor, b' ', status @ ..] = rest else {
        return Err(Http1Violation::StatusLine);
    };
    match (major, minor) {
        (b'1', b'0' | b'1') => {}
        (b'0'..=b'9', b'0'..=b'9') => return Err(Http1Violation::Version),
        _ => return Err(Http1Violation::StatusLine),
    }
    let (digits, reason) = status
        .split_at_checked(3)
        .ok_or(Http1Violation::StatusLine)?;
    let is_reason = match reason {
        [] => true,
        [b' ', text @ ..] => text.iter().all(|&b| is_value_byte(b)),
        _ => false,
    };
    let status = read_status(digits).filter(|_| is_reason);
    Ok((minor - b'0', status.ok_or(Http1Violation::StatusLine)?))
}

impl FramingFields {
    fn note(&mut self, name: &[u8], value: &[u8]) -> Result<(), Http1Violation> {
        // The three names have different lengths, so most comparisons are skipped.
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => self.note_length(value),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                let chunked = value.eq_ignore_ascii_case(b"chunked");
                // A second line would make it a list of codings, which is not plain chunked.
                self.codings = Some(chunked && self.codings.is_none());
                Ok(())
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A list of equal numbers is treated as one (RFC 9112 §6.3, point 5).
    fn note_length(&mut self, value: &[u8]) -> Result<(), Http1Violation> {
        for number in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
            let length = read_decimal(number).ok_or(Http1Violation::ContentLength)?;
            if self.length.is_some_and(|earlier| earlier != length) {
                return Err(Http1Violation::ConflictingLengths);
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn framing(&self, minor: u8) -> Result<Framing, Http1Violation> {
        match (self.codings, self.length) {
            (Some(_), Some(_)) => Err(Http1Violation::LengthAndTransferEncoding),
            (Some(true), None) if minor == 1 => Ok(Framing::Chunked),
            (Some(_), None) => Err(Http1Violation::TransferEncoding),
            (None, Some(length)) => Ok(Framing::Length(length)),
            (None, None) => Ok(Framing::UntilClose),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Head, Http1Violation> {
        let text = format!("{text}\r\n\r\n");
        match parse(text.as_bytes(), &Limits::default(), &mut Vec::new()) {
            Ok(head) => Ok(head),
            Err(Failure::Violation(crate::Violation::Http1(violation))) => Err(violation),
            Err(other) => panic!("{other}"),
        }
    }

    fn framing(fields: &str) -> Result<Framing, Http1Violation> {
        parsed(&format!("HTTP/1.1 200 OK\r\n{fields}")).map(|head| head.framing)
    }

    #[test]
    fn status_lines() {
        use Http1Violation as V;
        let status = |line: &str| parsed(line).map(|head| head.status);
        assert_eq!(status("HTTP/1.1 200 OK"), Ok(200));
        assert_eq!(status("HTTP/1.1 404 "), Ok(404));
        assert_eq!(status("HTTP/1.1 503"), Ok(503));
        assert_eq!(status("HTTP/1.0 800 Whatever it is"), Ok(800));
        for bad in [
            "HTTP/1.1 20 OK",
            "HTTP/1.1 2000",
            "HTTP/1.1  200",
            "HTTP/1.1 099 x",
            "HTTP/11",
        ] {
            assert_eq!(status(bad), Err(V::StatusLine), "{bad}");
        }
        assert_eq!(status("HTTP/2.0 200 OK"), Err(V::Version));
        assert_eq!(status("HTTP/1.2 200 OK"), Err(V::Version));
    }

    #[test]
    fn bodies_are_delimited_by_one_rule_only() {
        use Http1Violation as V;
        assert_eq!(framing("Content-Length: 5"), Ok(Framing::Length(5)));
        assert_eq!(
            framing("content-length: 5, 5\r\nContent-Length: 5"),
            Ok(Framing::Length(5))
        );
        assert_eq!(framing("Transfer-Encoding: Chunked"), Ok(Framing::Chunked));
        assert_eq!(framing("x: y"), Ok(Framing::UntilClose));
        assert_eq!(
            framing("content-length: 5\r\ncontent-length: 6"),
            Err(V::ConflictingLengths)
        );
        assert_eq!(framing("content-length: 5,6"), Err(V::ConflictingLengths));
        for bad in ["-1", "+1", "5 5", "0x5", "", "5,", "18446744073709551616"] {
            let got = framing(&format!("content-length: {bad}"));
            assert_eq!(got, Err(V::ContentLength), "{bad}");
        }
        let both = "content-length: 5\r\ntransfer-encoding: chunked";
        assert_eq!(framing(both), Err(V::LengthAndTransferEncoding));
        let both = "transfer-encoding: chunked\r\ncontent-length: 5";
        assert_eq!(framing(both), Err(V::LengthAndTransferEncoding));
        for bad in ["gzip", "gzip, chunked", "chunked, gzip", "xchunked", ""] {
            let got = framing(&format!("transfer-encoding: {bad}"));
            assert_eq!(got, Err(V::TransferEncoding), "{bad}");
        }
        let twice = "transfer-encoding: chunked\r\ntransfer-encoding: chunked";
        assert_eq!(framing(twice), Err(V::TransferEncoding));
        let old = parsed("HTTP/1.0 200 OK\r\ntransfer-encoding: chunked");
        assert_eq!(old, Err(V::TransferEncoding));
    }

    #[test]
    fn persistence_follows_version_and_connection() {
        let close = |text: &str| parsed(text).unwrap().close;
        assert!(!close("HTTP/1.1 200 OK"));
        assert!(close("HTTP/1.1 200 OK\r\nConnection: foo, Close"));
        assert!(close("HTTP/1.0 200 OK"));
        assert!(!close("HTTP/1.0 200 OK\r\nconnection: Keep-Alive"));
    }

    #[test]
    fn a_head_that_comes_again_says_the_same() {
        let (limits, mut last) = (Limits::default(), LastHead::default());
        let a: &[u8] = b"HTTP/1.1 200 OK\r\na: b\r\n\r\n";
        let b: &[u8] = b"HTTP/1.1 404 OK\r\na: bcd\r\ne: f\r\n\r\n";
        let damaged: &[u8] = b"HTTP/1.1 200 OK\r\na b\r\n\r\n";
        assert_eq!(last.begins(a), None);
        for (text, status, count) in [(a, 200, 1), (a, 200, 1), (b, 404, 2), (a, 200, 1)] {
            assert_eq!(last.parse(text, &limits).unwrap().status, status);
            assert_eq!(last.fields(text).len(), count);
            let (head, length) = last.begins(&[text, b"body"].concat()).unwrap();
            assert_eq!((head.status, length), (status, text.len()));
        }
        assert!(last.parse(damaged, &limits).is_err());
        assert_eq!((last.begins(a), last.begins(damaged)), (None, None));
    }

    #[test]
    fn the_first_bytes_show_another_protocol() {
        assert_eq!(is_start(b"H"), Ok(true));
        assert_eq!(is_start(b"HTTP/1.1 "), Ok(true));
        assert_eq!(is_start(b"HTTX"), Err(Http1Violation::StatusLine));
        assert_eq!(
            is_start(b"\0\0\x12\x04"),
            Err(Http1Violation::Http2Response)
        );
        assert_eq!(is_start(b"\0\0\x12"), Ok(false), "too few to tell");
        assert_eq!(is_start(b"\0\0\x12\x05"), Err(Http1Violation::StatusLine));
    }
}
