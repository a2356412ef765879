//! Splits a body of text into messages, regardless of how it is split into chunks: lines of JSON, or
//! Server-Sent Events (WHATWG HTML §9.2). For gRPC see [`crate::grpc::Response`].

use crate::error::LimitExceeded;

/// How a body of text contains messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFraming {
    /// Each line that is not blank is a message, as in NDJSON and JSON Lines.
    Lines,
    /// Each event with data is a message: its `data` lines, joined by line feeds. Its other fields
    /// are ignored, as are comments.
    Events,
}

/// A part of a stream of text messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPiece<'a> {
    /// Some bytes of the current message, never empty. A carriage return at the end of a line of
    /// JSON is one of them.
    Text(&'a [u8]),
    /// The current message is complete. It may be an event without bytes.
    End,
}

/// Finds messages in the chunks of one body. Does not store text.
#[derive(Debug, Clone)]
pub struct TextDeframer {
    framing: TextFraming,
    limit: u32,
    /// How many more bytes the current message may have.
    room: u32,
    /// Whether a message has begun.
    open: bool,
    place: Place,
    /// Whether the last byte was a carriage return that ended a line: a line feed belongs to it.
    after_return: bool,
}

/// What the next byte of a body of events belongs to.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// The byte order mark that the body may start with, of which this many bytes are read.
    Mark(usize),
    LineStart,
    /// The name of a field, which has begun with this many bytes of [`DATA`].
    Name(usize),
    /// The space that may follow the colon after a name.
    Space,
    Text,
    /// The rest of a line that is not part of the message.
    Ignored,
}

/// The byte order mark in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The name of the field that contains a line of the message.
const DATA: &[u8] = b"data";

type Next<'a> = Result<Option<TextPiece<'a>>, LimitExceeded>;

impl TextDeframer {
    /// Creates a deframer for one body with messages of up to `max_message_bytes` each.
    pub fn new(framing: TextFraming, max_message_bytes: u32) -> TextDeframer {
        TextDeframer {
            framing,
            limit: max_message_bytes,
            room: max_message_bytes,
            open: false,
            place: Place::Mark(0),
            after_return: false,
        }
    }

    /// Takes the next piece off the front of `data`; `None` once `data` is used up.
    ///
    /// # Errors
    /// A message exceeds the limit. The rest of the body cannot be parsed, so this must not be
    /// called again.
    pub fn next<'a>(&mut self, data: &mut &'a [u8]) -> Next<'a> {
        while let Some(&first) = data.first() {
            let piece = match self.framing {
                TextFraming::Lines => self.line(first, data)?,
                TextFraming::Events => self.event(first, data)?,
            };
            if piece.is_some() {
                return Ok(piece);
            }
        }
        Ok(None)
    }

    /// Whether the body may end here: it is not inside a message.
    pub fn is_between_messages(&self) -> bool {
        !self.open
    }

    fn line<'a>(&mut self, first: u8, data: &mut &'a [u8]) -> Next<'a> {
        if !self.open && first.is_ascii_whitespace() {
            *data = &data[1..];
            Ok(None)
        } else if first == b'\n' {
            *data = &data[1..];
            Ok(self.end())
        } else {
            self.open = true;
            self.text(|byte| byte == b'\n', data)
        }
    }

    fn event<'a>(&mut self, first: u8, data: &mut &'a [u8]) -> Next<'a> {
        let ends_line = |byte| matches!(byte, b'\r' | b'\n');
        let rest = &data[1..];
        if std::mem::take(&mut self.after_return) && first == b'\n' {
            *data = rest;
            return Ok(None);
        }
        if let Place::Mark(read) = self.place {
            if MARK.get(read) == Some(&first) {
                *data = rest;
                self.place = Place::Mark(read + 1);
                return Ok(None);
            }
            let is_none_or_whole = read == 0 || read == MARK.len();
            self.place = if is_none_or_whole {
                Place::LineStart
            } else {
                Place::Ignored
            };
        }
        if ends_line(first) {
            *data = rest;
            self.after_return = first == b'\r';
            return match std::mem::replace(&mut self.place, Place::LineStart) {
                Place::Name(read) if read == DATA.len() => self.data_line(),
                Place::LineStart if self.open => Ok(self.end()),
                _ => Ok(None),
            };
        }
        let read = match self.place {
            Place::Text => return self.text(ends_line, data),
            Place::Space => {
                self.place = Place::Text;
                if first == b' ' {
                    *data = rest;
                }
                return Ok(None);
            }
            Place::Ignored => {
                let end = data.iter().position(|byte| ends_line(*byte));
                *data = &data[end.unwrap_or(data.len())..];
                return Ok(None);
            }
            Place::Name(read) => read,
            Place::Mark(_) | Place::LineStart => 0,
        };
        *data = rest;
        if read == DATA.len() && first == b':' {
            self.place = Place::Space;
            return self.data_line();
        }
        self.place = if DATA.get(read) == Some(&first) {
            Place::Name(read + 1)
        } else {
            Place::Ignored
        };
        Ok(None)
    }

    /// Begins an event, or another line of it.
    fn data_line<'a>(&mut self) -> Next<'a> {
        if std::mem::replace(&mut self.open, true) {
            self.text(|_| false, &mut &b"\n"[..])
        } else {
            Ok(None)
        }
    }

    /// Takes the bytes up to one that is the `end`.
    fn text<'a>(&mut self, end: impl Fn(u8) -> bool, data: &mut &'a [u8]) -> Next<'a> {
        if self.room == 0 {
            return Err(LimitExceeded::MessageBytes(self.limit));
        }
        let length = data
            .iter()
            .take(self.room as usize)
            .take_while(|byte| !end(**byte))
            .count();
        let (text, rest) = data.split_at(length);
        *data = rest;
        // Cannot truncate: `length` is at most `room`.
        self.room -= length as u32;
        Ok(Some(TextPiece::Text(text)))
    }

    fn end(&mut self) -> Option<TextPiece<'static>> {
        self.open = false;
        self.room = self.limit;
        Some(TextPiece::End)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The messages of a body, and whether it may end there.
    fn messages(framing: TextFraming, body: &str, cut: usize) -> (Vec<String>, bool) {
        let mut deframer = TextDeframer::new(framing, 1000);
        let (mut found, mut open) = (Vec::new(), Vec::new());
        for mut piece in body.as_bytes().chunks(cut) {
            while let Some(piece) = deframer.next(&mut piece).unwrap() {
                match piece {
                    TextPiece::Text(text) => {
                        assert!(!text.is_empty());
                        open.extend_from_slice(text);
                    }
                    TextPiece::End => {
                        found.push(String::from_utf8(std::mem::take(&mut open)).unwrap());
                    }
                }
            }
        }
        (found, deframer.is_between_messages())
    }

    fn check(framing: TextFraming, table: &[(&str, &[&str], bool)]) {
        for (body, expected, may_end) in table {
            for cut in [1, 2, usize::MAX] {
                let (found, between) = messages(framing, body, cut);
                assert_eq!(found, *expected, "{body:?}");
                assert_eq!(between, *may_end, "{body:?}");
            }
        }
    }

    #[test]
    fn each_line_that_is_not_blank_is_a_message() {
        check(
            TextFraming::Lines,
            &[
                ("", &[], true),
                ("{\"a\": 1}\n{}\n", &["{\"a\": 1}", "{}"], true),
                ("\n \r\n\t1\n\n", &["1"], true),
                ("1\r\n2", &["1\r"], false),
            ],
        );
    }

    #[test]
    fn each_event_with_data_is_a_message() {
        check(
            TextFraming::Events,
            &[
                ("", &[], true),
                ("data: a\n\ndata:b\n\n", &["a", "b"], true),
                (
                    "data:  a:b \r\n\r\ndata: c\r\rdata: d\n\r\n",
                    &[" a:b ", "c", "d"],
                    true,
                ),
                (
                    "event: x\nid: 1\ndata: a\ndata\ndata: c\n\n",
                    &["a\n\nc"],
                    true,
                ),
                (": a comment\n\nretry: 5\n\n\n", &[], true),
                ("data\n\ndata:\n\ndata: \n\n", &["", "", ""], true),
                ("database: a\ndat: b\nDATA: c\n data: d\n\n", &[], true),
                ("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["a"], true),
                ("\u{feff}\u{feff}data: a\n\n", &[], true),
                ("data: a\n\ndata: b\n", &["a"], false),
            ],
        );
    }

    #[test]
    fn a_message_is_limited_and_the_body_is_not() {
        let too_long = Err(LimitExceeded::MessageBytes(4));
        for (framing, good, bad) in [
            (TextFraming::Lines, "1234\n", "12345\n"),
            (
                TextFraming::Events,
                "data:12\ndata:3\n\n",
                "data:12\ndata:34\n\n",
            ),
        ] {
            let mut deframer = TextDeframer::new(framing, 4);
            let body = [&good.repeat(9), bad].concat();
            let mut data = body.as_bytes();
            let mut ends = 0;
            let result = loop {
                match deframer.next(&mut data) {
                    Ok(Some(piece)) => ends += u32::from(piece == TextPiece::End),
                    other => break other,
                }
            };
            assert_eq!((ends, result), (9, too_long));
        }
    }

    proptest! {
        #[test]
        fn the_cuts_make_no_difference(body in "(data|:| |\r|\n|x|\u{feff}){0,40}", cut in 1usize..9) {
            for framing in [TextFraming::Lines, TextFraming::Events] {
                let whole = messages(framing, &body, usize::MAX);
                prop_assert_eq!(messages(framing, &body, cut), whole);
            }
        }
    }
}
