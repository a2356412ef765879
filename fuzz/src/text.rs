//! Bodies of text: NDJSON and Server-Sent Events.

use rpcgauge_wire::{LimitExceeded, TextDeframer, TextFraming, TextPiece};

use crate::script::Cut;

/// The limit on a message in bytes, which short inputs reach.
const MAX_MESSAGE: u32 = 50;

/// Checks that the messages do not depend on how the body is cut, and that a simple parser of whole bodies finds
/// the same ones. The input's first byte determines the framing and the cut.
pub fn text(input: &[u8]) {
    let Some((&setup, body)) = input.split_first() else {
        return;
    };
    let (framing, expected) = if setup % 2 == 0 {
        (TextFraming::Lines, lines(body))
    } else {
        (TextFraming::Events, events(body))
    };
    let fits = |message: &Vec<u8>| message.len() <= MAX_MESSAGE as usize;
    let whole = expected.iter().take_while(|message| fits(message)).count();
    for cut in [Cut::WHOLE, Cut(1), Cut(2 + usize::from(setup))] {
        let (found, result) = deframed(framing, body, cut);
        assert_eq!(found, expected[..whole]);
        if whole < expected.len() {
            assert_eq!(result, Err(LimitExceeded::MessageBytes(MAX_MESSAGE)));
        }
    }
}

/// Complete messages, then the violation, if any.
fn deframed(
    framing: TextFraming,
    body: &[u8],
    cut: Cut,
) -> (Vec<Vec<u8>>, Result<(), LimitExceeded>) {
    let mut deframer = TextDeframer::new(framing, MAX_MESSAGE);
    let (mut found, mut open) = (Vec::new(), Vec::new());
    for mut piece in cut.pieces(body) {
        loop {
            match deframer.next(&mut piece) {
                Ok(None) => break,
                Ok(Some(TextPiece::Text(text))) => {
                    assert!(!text.is_empty());
                    open.extend_from_slice(text);
                    assert!(open.len() <= MAX_MESSAGE as usize);
                }
                Ok(Some(TextPiece::End)) => found.push(std::mem::take(&mut open)),
                Err(limit) => return (found, Err(limit)),
            }
        }
    }
    (found, Ok(()))
}

fn lines(body: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<&[u8]> = body.split(|byte| *byte == b'\n').collect();
    // The last one does not end.
    lines.pop();
    let messages = lines.into_iter().map(<[u8]>::trim_ascii_start);
    let messages = messages.filter(|line| !line.is_empty());
    messages.map(<[u8]>::to_vec).collect()
}

fn events(body: &[u8]) -> Vec<Vec<u8>> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    // One byte for each kind of line end. Latin-1 keeps every byte.
    let text: String = body.iter().map(|byte| char::from(*byte)).collect();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop();
    let (mut events, mut data) = (Vec::new(), Vec::new());
    for line in lines {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if line.is_empty() && !data.is_empty() {
            let event = std::mem::take(&mut data).join("\n");
            events.push(event.chars().map(|latin| latin as u8).collect());
        } else if name == "data" {
            data.push(value.strip_prefix(' ').unwrap_or(value));
        }
    }
    events
}
