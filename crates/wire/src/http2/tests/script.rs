//! A scripted server: the frames that it sends, and the frames that it receives from the client.

use bytes::Bytes;

use super::super::hpack::{DecodedFields, Decoder, Encoder, FieldList};
use crate::testing::Played;
use crate::{Exchange, Head, Limits, Protocol, SendError, StartError, Token};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    pub(super) fn new(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Frame {
        Frame {
            kind,
            flags,
            stream,
            payload: payload.to_vec(),
        }
    }

    pub(super) fn headers(stream: u32, block: &[u8]) -> Frame {
        Frame::new(1, 0x4, stream, block)
    }

    pub(super) fn data(stream: u32, payload: &[u8]) -> Frame {
        Frame::new(0, 0, stream, payload)
    }

    pub(super) fn goaway(last: u32, code: u32) -> Frame {
        Frame::new(7, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
    }

    pub(super) fn window_update(stream: u32, increment: u32) -> Frame {
        Frame::new(8, 0, stream, &increment.to_be_bytes())
    }

    pub(super) fn settings(settings: &[(u16, u32)]) -> Frame {
        let one = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
        Frame::new(4, 0, 0, &settings.iter().flat_map(one).collect::<Vec<_>>())
    }

    pub(super) fn end_stream(mut self) -> Frame {
        self.flags |= 0x1;
        self
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let length = (self.payload.len() as u32).to_be_bytes();
        let stream = self.stream.to_be_bytes();
        [
            &length[1..],
            &[self.kind, self.flags],
            &stream,
            &self.payload,
        ]
        .concat()
    }

    pub(super) fn name(&self) -> &'static str {
        const NAMES: [&str; 10] = [
            "DATA",
            "HEADERS",
            "PRIORITY",
            "RST_STREAM",
            "SETTINGS",
            "PUSH_PROMISE",
            "PING",
            "GOAWAY",
            "WINDOW_UPDATE",
            "CONTINUATION",
        ];
        NAMES[usize::from(self.kind)]
    }
}

pub(super) const GRPC: (&str, &str) = ("content-type", "application/grpc");

/// A client and its server.
pub(super) struct Server {
    pub(super) played: Played,
    pub(super) hpack: Decoder,
    encoder: Encoder,
    preface_seen: bool,
}

impl Server {
    /// Creates a server that has not sent anything.
    pub(super) fn silent(limits: Limits) -> Server {
        Server {
            played: Played::new(Protocol::Http2, limits),
            hpack: Decoder::new(),
            encoder: Encoder::new(4096),
            preface_seen: false,
        }
    }

    /// Creates a server that has exchanged SETTINGS with the client.
    pub(super) fn ready() -> Server {
        Server::ready_with(Limits::default())
    }

    pub(super) fn ready_with(limits: Limits) -> Server {
        let mut server = Server::silent(limits);
        server.settings(&[]);
        server.input(&Frame::new(4, 1, 0, b"").bytes());
        server.frames();
        server
    }

    pub(super) fn settings(&mut self, settings: &[(u16, u32)]) {
        let lines = self.input(&Frame::settings(settings).bytes());
        assert_eq!(lines, Vec::<String>::new());
    }

    pub(super) fn start(&mut self, head: &Head, body: &Bytes, token: Token) {
        self.try_start(head, body, token).unwrap();
    }

    pub(super) fn try_start(
        &mut self,
        head: &Head,
        body: &Bytes,
        token: Token,
    ) -> Result<(), StartError> {
        self.played.client.start(head, body, token)
    }

    /// Opens an exchange without a message.
    pub(super) fn open(&mut self, head: &Head, token: Token) -> Exchange {
        let client = &mut self.played.client;
        client.open(head, &Bytes::new(), false, token).unwrap()
    }

    pub(super) fn send(
        &mut self,
        exchange: Exchange,
        message: &Bytes,
        last: bool,
    ) -> Result<(), SendError> {
        self.played.client.send(exchange, message, last)
    }

    pub(super) fn input(&mut self, bytes: &[u8]) -> Vec<String> {
        self.played.input(bytes)
    }

    /// The frames that the client wrote since the previous call.
    pub(super) fn frames(&mut self) -> Vec<Frame> {
        let bytes = self.played.output();
        let mut rest = &bytes[..];
        if !self.preface_seen && !rest.is_empty() {
            rest = rest
                .strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
                .expect("the preface");
            self.preface_seen = true;
        }
        let mut frames = Vec::new();
        while let [l0, l1, l2, kind, flags, s0, s1, s2, s3, after @ ..] = rest {
            let length = u32::from_be_bytes([0, *l0, *l1, *l2]) as usize;
            let stream = u32::from_be_bytes([*s0, *s1, *s2, *s3]);
            let (payload, after) = after.split_at(length);
            frames.push(Frame::new(*kind, *flags, stream, payload));
            rest = after;
        }
        assert!(rest.is_empty(), "whole frames");
        frames
    }

    pub(super) fn block(&mut self, fields: &[(&str, &str)]) -> Vec<u8> {
        let mut list = FieldList::default();
        for (name, value) in fields {
            list.push(name.as_bytes(), value.as_bytes());
        }
        let mut out = Vec::new();
        self.encoder.encode(list.iter(), &mut out);
        out
    }

    /// The fields of the client's HEADERS, as `name=value`. Read every HEADERS frame exactly once
    /// and in order, because decoding updates the table.
    pub(super) fn read_head(&mut self, frame: &Frame) -> Vec<String> {
        let mut fields = DecodedFields::new(1 << 20);
        self.hpack.decode(&frame.payload, &mut fields).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        fields
            .fields()
            .iter()
            .map(|(n, v)| format!("{}={}", text(n), text(v)))
            .collect()
    }
}

/// A complete gRPC response with status 0.
pub(super) fn grpc_response(server: &mut Server, stream: u32, body: &[u8]) -> Vec<u8> {
    let head = server.block(&[(":status", "200"), GRPC]);
    let trailers = server.block(&[("grpc-status", "0")]);
    [
        Frame::headers(stream, &head).bytes(),
        Frame::data(stream, body).bytes(),
        Frame::headers(stream, &trailers).end_stream().bytes(),
    ]
    .concat()
}
