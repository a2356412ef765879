//! Records events as lines of text, so that tests read like scripts.

use crate::client::{Client, Protocol};
use crate::event::Token;
use crate::event::{Event, FieldRange, Fields};
use crate::limits::Limits;

/// The events of a connection, one per line. Consecutive body pieces of a call are joined, so the
/// lines do not depend on how the input was split.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) lines: Vec<String>,
    body: Option<(Token, Vec<u8>)>,
}

impl Script {
    pub(crate) fn note(&mut self, event: Event<'_>) {
        if let Event::Body { token, data } = event {
            assert!(!data.is_empty(), "a body event has bytes");
            match &mut self.body {
                Some((of, body)) if *of == token => body.extend_from_slice(data),
                _ => {
                    self.end_body();
                    self.body = Some((token, data.to_vec()));
                }
            }
            return;
        }
        self.end_body();
        self.lines.push(match event {
            Event::FirstByte { token } => format!("{token} first byte"),
            Event::Interim { token, status } => format!("{token} interim {status}"),
            Event::Head {
                token,
                status,
                fields,
                end,
            } => {
                let end = if end { " end" } else { "" };
                format!("{token} head {status}{}{end}", list(&fields))
            }
            Event::Message { token, data } => format!("{token} message {}", data.escape_ascii()),
            Event::Trailers { token, fields } => format!("{token} trailers{}", list(&fields)),
            Event::Complete { token } => format!("{token} complete"),
            Event::ClosedWith {
                token,
                code,
                reason,
            } => format!("{token} closed with {code} {reason:?}"),
            Event::Failed { token, failure } => format!("{token} failed: {failure}"),
            Event::Closing { reason } => format!("closing: {reason}"),
            Event::Body { .. } => unreachable!("handled above"),
        });
    }

    fn end_body(&mut self) {
        if let Some((token, body)) = self.body.take() {
            let text = match body.len() {
                0..=40 => body.escape_ascii().to_string(),
                n => format!("of {n} bytes"),
            };
            self.lines.push(format!("{token} body {text}"));
        }
    }

    pub(crate) fn take(&mut self) -> Vec<String> {
        self.end_body();
        std::mem::take(&mut self.lines)
    }
}

fn list(fields: &Fields<'_>) -> String {
    let show = |bytes: &[u8]| bytes.escape_ascii().to_string();
    fields
        .iter()
        .map(|(name, value)| format!(" {}={}", show(name), show(value)))
        .collect()
}

/// Calls `use_fields` with the given fields.
pub(crate) fn with_fields<T>(
    fields: &[(&str, &str)],
    use_fields: impl FnOnce(&Fields<'_>) -> T,
) -> T {
    let mut text = Vec::new();
    let mut ranges = Vec::new();
    for (name, value) in fields {
        let name_start = text.len() as u32;
        text.extend_from_slice(name.as_bytes());
        let value_start = text.len() as u32;
        text.extend_from_slice(value.as_bytes());
        let value_end = text.len() as u32;
        ranges.push(FieldRange {
            name_start,
            name_end: value_start,
            value_start,
            value_end,
            wire_bytes: value_end - name_start,
        });
    }
    use_fields(&Fields::new(&text, &ranges))
}

/// A client and the events that it has reported.
pub(crate) struct Played {
    pub(crate) client: Client,
    pub(crate) script: Script,
    /// Bytes passed as input.
    pub(crate) given: u64,
    /// Bytes consumed as output.
    pub(crate) taken: u64,
}

impl Played {
    pub(crate) fn new(protocol: Protocol, limits: Limits) -> Played {
        Played {
            client: Client::new(protocol, limits),
            script: Script::default(),
            given: 0,
            taken: 0,
        }
    }

    /// Consumes all output that is ready to be written.
    pub(crate) fn output(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while !self.client.output().is_empty() {
            let piece = self.client.output().to_vec();
            self.client.consume_output(piece.len());
            all.extend_from_slice(&piece);
        }
        self.taken += all.len() as u64;
        all
    }

    pub(crate) fn input(&mut self, bytes: &[u8]) -> Vec<String> {
        self.feed(bytes);
        self.script.take()
    }

    /// Passes input, but does not end the current body line.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.given += bytes.len() as u64;
        let script = &mut self.script;
        self.client
            .input(bytes, &mut |event: Event<'_>| script.note(event));
    }

    pub(crate) fn end(&mut self, orderly: bool) -> Vec<String> {
        let script = &mut self.script;
        self.client
            .end_of_input(orderly, &mut |event: Event<'_>| script.note(event));
        self.script.take()
    }
}
