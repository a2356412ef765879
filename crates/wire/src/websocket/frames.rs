//! The frames of a WebSocket after its opening handshake, by tungstenite on bytes in memory.

use std::collections::VecDeque;
use std::io::{self, Cursor, Read, Write};

use bytes::Bytes;
use tungstenite::Utf8Bytes;
use tungstenite::protocol::frame::coding::{CloseCode, OpCode};
use tungstenite::protocol::frame::{CloseFrame, FrameHeader};
use tungstenite::protocol::{Message, Role, WebSocket, WebSocketConfig};

use super::{WebSocketViolation, error};
use crate::error::Failure;
use crate::traffic::ByteCount;

/// Initial size of the codec's buffer, bytes. There is one for each connection, and it grows with a message.
const READ_BUFFER_BYTES: usize = 4096;

/// Maximum payload of a control frame (RFC 6455 §5.5), bytes.
const MAX_CONTROL_BYTES: usize = 125;

/// Both directions of a WebSocket's messages.
#[derive(Debug)]
pub(crate) struct Frames {
    socket: WebSocket<Memory>,
    classes: Classes,
}

/// What the server sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A whole message, joined from its fragments.
    Message(Bytes),
    /// The last frame.
    Close(Option<CloseFrame>),
}

impl Frames {
    /// Frames with received messages of up to `max_message_bytes`.
    pub(crate) fn new(max_message_bytes: u64) -> Frames {
        let most = usize::try_from(max_message_bytes).unwrap_or(usize::MAX);
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(0)
            .max_message_size(Some(most))
            .max_frame_size(Some(most.max(MAX_CONTROL_BYTES)));
        let socket = WebSocket::from_raw_socket(Memory::default(), Role::Client, Some(config));
        Frames {
            socket,
            classes: Classes::new(most.max(MAX_CONTROL_BYTES) as u64),
        }
    }

    /// Frames a message as text or, if it is not UTF-8, as binary. Returns false after the closing handshake has begun.
    pub(crate) fn send(&mut self, message: &Bytes) -> bool {
        let message = match Utf8Bytes::try_from(message.clone()) {
            Ok(text) => Message::Text(text),
            Err(_) => Message::Binary(message.clone()),
        };
        self.socket.send(message).is_ok()
    }

    /// Begins the closing handshake.
    pub(crate) fn close(&mut self) {
        let normal = CloseFrame {
            code: CloseCode::Normal,
            reason: Utf8Bytes::default(),
        };
        // Fails only if the server has closed before, which its frame says.
        let _ = self.socket.close(Some(normal));
    }

    /// Takes the bytes to write: what was framed, and replies to control frames.
    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        // As for `close`. Memory always has room.
        let _ = self.socket.flush();
        std::mem::take(&mut self.socket.get_mut().output)
    }

    /// Takes bytes of the server, and counts them. Then [`Frames::next`] returns what they contain.
    pub(crate) fn input(&mut self, bytes: &[u8], received: &mut ByteCount) {
        let memory = self.socket.get_mut();
        if let Some(end) = self.classes.count(bytes, received) {
            memory.ready = memory.input.len() + end;
        }
        memory.input.extend(bytes);
    }

    pub(crate) fn next(&mut self) -> Result<Option<Received>, Failure> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return Ok(Some(Received::Message(text.into()))),
                Ok(Message::Binary(bytes)) => return Ok(Some(Received::Message(bytes))),
                Ok(Message::Close(frame)) if is_replaced(frame.as_ref()) => {
                    return Err(WebSocketViolation::CloseFrame.into());
                }
                Ok(Message::Close(frame)) => return Ok(Some(Received::Close(frame))),
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
                Err(tungstenite::Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(None);
                }
                Err(error) => return Err(error::failure(&error)),
            }
        }
    }
}

/// Whether the codec has replaced a code that must not be sent. It then uses these words.
fn is_replaced(frame: Option<&CloseFrame>) -> bool {
    frame.is_some_and(|frame| {
        !frame.code.is_allowed()
            || frame.code == CloseCode::Protocol && frame.reason.as_str() == "Protocol violation"
    })
}

/// A transport in memory. Without input, it would block.
#[derive(Debug, Default)]
struct Memory {
    input: VecDeque<u8>,
    /// How many bytes of the input the codec may read: whole frames. When it has read a frame's header, it allocates memory
    /// for all of the frame.
    ready: usize,
    output: Vec<u8>,
}

impl Read for Memory {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ready == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let n = (&mut self.input).take(self.ready as u64).read(buffer)?;
        self.ready -= n;
        Ok(n)
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where the server's bytes are in its frames. The codec does not tell how many bytes of a message are framing.
#[derive(Debug)]
struct Classes {
    /// Maximum length of a frame's payload, bytes.
    max_frame_bytes: u64,
    /// The bytes of an incomplete frame header.
    header: Vec<u8>,
    /// Bytes of the current frame that are to come.
    left: u64,
    /// Whether the current frame is a part of a message.
    is_data: bool,
}

impl Classes {
    fn new(max_frame_bytes: u64) -> Classes {
        Classes {
            max_frame_bytes,
            header: Vec::new(),
            left: 0,
            is_data: false,
        }
    }

    /// Counts payload of messages as body. Frame headers and control frames are overhead. Returns where the last frame
    /// ends that is whole, or that the codec refuses by its header.
    fn count(&mut self, bytes: &[u8], received: &mut ByteCount) -> Option<usize> {
        let (mut at, mut end) = (0, None);
        while let Some(first) = bytes.get(at) {
            let is_over = if self.left == 0 {
                received.overhead += 1;
                at += 1;
                self.ends_with_header(*first)
            } else {
                let n = self.left.min((bytes.len() - at) as u64);
                self.left -= n;
                at += n as usize;
                if self.is_data {
                    received.body += n;
                } else {
                    received.overhead += n;
                }
                self.left == 0
            };
            if is_over {
                end = Some(at);
            }
        }
        end
    }

    /// Takes a byte of a header. Returns whether no payload needs to follow.
    fn ends_with_header(&mut self, byte: u8) -> bool {
        self.header.push(byte);
        match FrameHeader::parse(&mut Cursor::new(&self.header)) {
            Ok(None) => return false,
            Ok(Some((header, length))) => {
                self.left = length;
                self.is_data = matches!(header.opcode, OpCode::Data(_));
            }
            // The codec refuses it, too.
            Err(_) => self.left = 0,
        }
        self.header.clear();
        self.left == 0 || self.left > self.max_frame_bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::{LimitExceeded, Violation};

    /// A frame of a server: its first byte, and its payload.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![first];
        match payload.len() {
            n @ 0..=125 => frame.push(n as u8),
            n @ 126..=0xffff => {
                frame.push(126);
                frame.extend((n as u16).to_be_bytes());
            }
            n => {
                frame.push(127);
                frame.extend((n as u64).to_be_bytes());
            }
        }
        frame.extend_from_slice(payload);
        frame
    }

    /// What follows in `bytes` until there is no more, or the failure.
    fn all(bytes: &[u8], limit: u64) -> (Vec<Received>, Result<(), Failure>) {
        let (mut frames, mut all) = (Frames::new(limit), Vec::new());
        frames.input(bytes, &mut ByteCount::default());
        loop {
            match frames.next() {
                Ok(Some(received)) => all.push(received),
                Ok(None) => return (all, Ok(())),
                Err(failure) => return (all, Err(failure)),
            }
        }
    }

    fn message(text: &'static str) -> Received {
        Received::Message(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn fragments_are_joined_around_control_frames() {
        let parts = [
            frame(0x01, b"ab"),
            frame(0x89, b"ping"),
            frame(0x00, b"c"),
            frame(0x80, b""),
            frame(0x82, b"\xff"),
            frame(0x81, b""),
        ];
        let (received, ended) = all(&parts.concat(), 10);
        let binary = Received::Message(Bytes::from_static(b"\xff"));
        assert_eq!(received, [message("abc"), binary, message("")]);
        assert_eq!(ended, Ok(()));
    }

    #[test]
    fn what_breaks_a_rule_is_named() {
        use WebSocketViolation as V;
        let long = frame(0x89, &[0; 126]);
        for (bytes, violation) in [
            (&b"\x81\x81\0\0\0\0a"[..], V::MaskedFrame),
            (b"\xc1\x00", V::ReservedBits),
            (b"\x83\x00", V::Opcode),
            (b"\x8b\x00", V::Opcode),
            (b"\x80\x00", V::Fragment),
            (b"\x01\x00\x81\x00", V::Fragment),
            (b"\x09\x00", V::ControlFrame),
            (&long, V::ControlFrame),
            (b"\x81\x01\xff", V::Utf8),
            (b"\x88\x01\x03", V::CloseFrame),
            (b"\x88\x02\x03\xed", V::CloseFrame),
            (b"\x88\x02\x00\x01", V::CloseFrame),
        ] {
            let wanted = Failure::Violation(Violation::WebSocket(violation));
            assert_eq!(all(bytes, 200), (vec![], Err(wanted)), "{bytes:x?}");
        }
    }

    #[test]
    fn a_message_over_the_limit_fails_as_soon_as_it_is_announced() {
        let too_large = Err(Failure::Limit(LimitExceeded::MessageBytes(200)));
        let largest = frame(0x82, &[0; 200]);
        assert_eq!(all(&largest, 200).0.len(), 1);
        assert_eq!(all(b"\x81\x7e\0\xc9", 200), (vec![], too_large));
        let huge = [&b"\x82\x7f"[..], &u64::MAX.to_be_bytes()].concat();
        assert_eq!(all(&huge, 200), (vec![], too_large));
        let in_parts = [frame(0x01, &[b'a'; 150]), frame(0x80, &[b'a'; 51])];
        assert_eq!(all(&in_parts.concat(), 200), (vec![], too_large));
        let few = Err(Failure::Limit(LimitExceeded::MessageBytes(4)));
        assert_eq!(all(&frame(0x81, b"12345"), 4), (vec![], few));
        assert!(all(&frame(0x88, b"\x03\xe9going away"), 4).1.is_ok());
    }

    #[test]
    fn a_close_frame_has_its_code_and_reason() {
        let close = |code, reason: &'static str| {
            let reason = Utf8Bytes::from_static(reason);
            (
                vec![Received::Close(Some(CloseFrame { code, reason }))],
                Ok(()),
            )
        };
        assert_eq!(all(b"\x88\x00", 4), (vec![Received::Close(None)], Ok(())));
        assert_eq!(all(b"\x88\x02\x03\xe8", 4), close(CloseCode::Normal, ""));
        let going = frame(0x88, b"\x03\xe9bye");
        assert_eq!(all(&going, 9), close(CloseCode::Away, "bye"));
    }

    #[test]
    fn a_ping_is_answered_with_its_payload() {
        let mut frames = Frames::new(10);
        frames.input(&frame(0x89, b"hi"), &mut ByteCount::default());
        assert_eq!(frames.next(), Ok(None));
        let pong = frames.take_output();
        assert_eq!((pong[0], pong[1], pong.len()), (0x8a, 0x82, 8), "masked");
    }

    proptest! {
        #[test]
        fn each_byte_counts_in_its_class_however_it_is_cut(
            sizes in prop::collection::vec((any::<bool>(), 0usize..300), 0..12),
            cuts in prop::collection::vec(1usize..400, 1..12),
        ) {
            let (mut wire, mut body, mut messages) = (Vec::new(), 0, 0);
            for (is_data, size) in sizes {
                let (first, size) = if is_data { (0x82, size) } else { (0x8a, size.min(125)) };
                wire.extend(frame(first, &vec![b'x'; size]));
                body += if is_data { size as u64 } else { 0 };
                messages += usize::from(is_data);
            }
            let (mut frames, mut received) = (Frames::new(1000), ByteCount::default());
            let (mut rest, mut found) = (&wire[..], 0);
            for cut in cuts.iter().cycle() {
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                frames.input(piece, &mut received);
                while let Some(message) = frames.next().unwrap() {
                    prop_assert!(matches!(message, Received::Message(_)));
                    found += 1;
                }
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(found, messages);
            prop_assert_eq!(received.body, body);
            prop_assert_eq!(received.total(), wire.len() as u64);
        }

        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut received = ByteCount::default();
            let mut frames = Frames::new(100);
            frames.input(&bytes, &mut received);
            while let Ok(Some(_)) = frames.next() {}
            prop_assert_eq!(received.total(), bytes.len() as u64);
        }
    }
}
