//! Length-prefixed messages (PROTOCOL-HTTP2.md, "Length-Prefixed-Message").
//!
//! ```text
//! +------------------+----------------------------+----------------+
//! | compressed: 1 B  | length: 4 B, big-endian    | message        |
//! +------------------+----------------------------+----------------+
//! ```

use super::status::{Code, Status};

/// Length of a message's prefix, bytes.
pub(super) const PREFIX_BYTES: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) compressed: bool,
    pub(super) message_bytes: usize,
}

/// Parses the first prefix. Returns `None` until it is complete.
fn prefix(bytes: &[u8], most: usize) -> Result<Option<Prefix>, Status> {
    let Some(&[flag, a, b, c, d]) = bytes.first_chunk::<PREFIX_BYTES>() else {
        return Ok(None);
    };
    let compressed = match flag {
        0 => false,
        1 => true,
        other => {
            let detail = format!("the message's compressed flag is {other}, not 0 or 1");
            return Err(Status::new(Code::Internal, detail));
        }
    };
    let message_bytes = u32::from_be_bytes([a, b, c, d]);
    match usize::try_from(message_bytes) {
        Ok(message_bytes) if message_bytes <= most => Ok(Some(Prefix {
            compressed,
            message_bytes,
        })),
        _ => {
            let detail = format!(
                "the message is {message_bytes} bytes long, but the limit is {most}; \
                 --max-message-bytes sets it"
            );
            Err(Status::new(Code::ResourceExhausted, detail))
        }
    }
}

/// The prefix of the first message in a stream; `None` until the whole message has arrived.
pub(super) fn first(bytes: &[u8], most: usize) -> Result<Option<Prefix>, Status> {
    let prefix = prefix(bytes, most)?;
    Ok(prefix.filter(|prefix| bytes.len() - PREFIX_BYTES >= prefix.message_bytes))
}

/// Length of the whole body, or 0 while its prefix is incomplete. Fails as soon as the body can no longer
/// become exactly one message of at most `most` bytes.
pub(super) fn announced_bytes(bytes: &[u8], most: usize) -> Result<usize, Status> {
    let Some(prefix) = prefix(bytes, most)? else {
        return Ok(0);
    };
    let whole = PREFIX_BYTES + prefix.message_bytes;
    if bytes.len() > whole {
        Err(cardinality("more than one message arrived"))
    } else {
        Ok(whole)
    }
}

/// Returns the prefix of a complete body, which must be exactly one message.
pub(super) fn read(bytes: &[u8], most: usize) -> Result<Prefix, Status> {
    if bytes.is_empty() {
        return Err(cardinality("no message arrived"));
    }
    announced_bytes(bytes, most)?;
    match prefix(bytes, most)? {
        Some(prefix) if bytes.len() - PREFIX_BYTES == prefix.message_bytes => Ok(prefix),
        _ => {
            let detail = format!(
                "the body ends inside its message, after {} bytes",
                bytes.len()
            );
            Err(Status::new(Code::Internal, detail))
        }
    }
}

/// A unary call has exactly one request message (doc/statuscodes.md: "Request cardinality violation").
fn cardinality(what: &str) -> Status {
    Status::new(
        Code::Unimplemented,
        format!("a unary call must have exactly one request message, but {what}"),
    )
}

/// Fills in the prefix. The caller left space for it before the response's message.
pub(super) fn write(bytes: &mut [u8], compressed: bool) -> Result<(), Status> {
    let length = u32::try_from(bytes.len() - PREFIX_BYTES).map_err(|_| {
        Status::new(
            Code::ResourceExhausted,
            "the response exceeds gRPC's maximum of 4 GiB for a message",
        )
    })?;
    bytes[0] = u8::from(compressed);
    bytes[1..PREFIX_BYTES].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAX: usize = 100;

    fn code(result: Result<impl Sized, Status>) -> Option<Code> {
        result.err().map(|status| status.code())
    }

    #[test]
    fn exactly_one_whole_message_is_read() {
        let want = Prefix {
            compressed: true,
            message_bytes: 2,
        };
        assert_eq!(read(&[1, 0, 0, 0, 2, 9, 9], MAX).ok(), Some(want));
        assert_eq!(
            code(read(&[0, 0, 0, 0, 0], MAX)),
            None,
            "an empty message is a message"
        );
        assert_eq!(code(read(&[], MAX)), Some(Code::Unimplemented));
        assert_eq!(
            code(read(&[0, 0, 0, 0, 0, 0], MAX)),
            Some(Code::Unimplemented)
        );
        assert_eq!(code(read(&[0, 0, 0, 0, 2, 9], MAX)), Some(Code::Internal));
        assert_eq!(code(read(&[0, 0, 0], MAX)), Some(Code::Internal));
        assert_eq!(code(read(&[2, 0, 0, 0, 0], MAX)), Some(Code::Internal));
    }

    #[test]
    fn the_first_of_several_messages_is_read_once_it_is_complete() {
        let bytes = [0, 0, 0, 0, 2, 9, 9, 0, 0, 0, 0, 0];
        let end = |bytes| first(bytes, MAX).map(|prefix| prefix.map(|p| p.message_bytes));
        assert_eq!(end(&bytes).ok(), Some(Some(2)));
        assert_eq!(end(&bytes[..6]).ok(), Some(None));
        assert_eq!(end(&bytes[..3]).ok(), Some(None));
        assert_eq!(
            code(first(&[0, 0, 0, 0, 101], MAX)),
            Some(Code::ResourceExhausted)
        );
    }

    #[test]
    fn a_message_is_refused_by_its_announced_length() {
        assert_eq!(announced_bytes(&[0, 0, 0, 0, 100], MAX).ok(), Some(105));
        assert_eq!(announced_bytes(&[0, 0, 0, 0], MAX).ok(), Some(0));
        assert_eq!(
            code(announced_bytes(&[0, 0, 0, 0, 101], MAX)),
            Some(Code::ResourceExhausted)
        );
        assert_eq!(
            code(announced_bytes(&[0, 255, 255, 255, 255], MAX)),
            Some(Code::ResourceExhausted)
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(message in proptest::collection::vec(any::<u8>(), 0..100), compressed: bool) {
            let mut bytes = vec![0; PREFIX_BYTES];
            bytes.extend_from_slice(&message);
            prop_assert!(write(&mut bytes, compressed).is_ok());
            let want = Prefix { compressed, message_bytes: message.len() };
            prop_assert_eq!(read(&bytes, MAX).ok(), Some(want));
        }

        #[test]
        fn no_bytes_cause_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            // If the whole body is accepted, every part of it from the start must be accepted too.
            if read(&bytes, MAX).is_ok() {
                for end in 0..bytes.len() {
                    prop_assert!(announced_bytes(&bytes[..end], MAX).is_ok());
                }
            }
        }
    }
}
