//! Messages on standard input and output, each after its length in four bytes, big-endian.

use std::io::{self, ErrorKind, Read, Write};

use buffa::Message;

/// The maximum size of a message in bytes. The suite's messages have at most a few hundred thousand.
const MAX_BYTES: u32 = 64 << 20;

/// Reads the next message; `None` at the end of the stream.
pub(crate) fn read<M: Message>(stream: &mut impl Read) -> io::Result<Option<M>> {
    let mut length = [0; 4];
    match stream.read(&mut length[..1])? {
        0 => return Ok(None),
        _ => stream.read_exact(&mut length[1..])?,
    }
    let length = u32::from_be_bytes(length);
    if length > MAX_BYTES {
        let text = format!("a message of {length} bytes is longer than {MAX_BYTES}");
        return Err(io::Error::new(ErrorKind::InvalidData, text));
    }
    let mut bytes = vec![0; length as usize];
    stream.read_exact(&mut bytes)?;
    M::decode_from_slice(&bytes)
        .map(Some)
        .map_err(|error| io::Error::new(ErrorKind::InvalidData, error.to_string()))
}

/// Writes one message and flushes it.
pub(crate) fn write(stream: &mut impl Write, message: &impl Message) -> io::Result<()> {
    let message = message.encode_to_vec();
    let length = u32::try_from(message.len()).map_err(io::Error::other)?;
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(&message)?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::connectrpc::conformance::v1::Header;

    #[test]
    fn what_is_written_is_read() {
        let header = Header {
            name: "a".to_owned(),
            value: vec!["b".to_owned(), String::new()],
            ..Default::default()
        };
        let mut bytes = Vec::new();
        write(&mut bytes, &header).unwrap();
        write(&mut bytes, &Header::default()).unwrap();
        let mut stream = bytes.as_slice();
        assert_eq!(read(&mut stream).unwrap(), Some(header));
        assert_eq!(read(&mut stream).unwrap(), Some(Header::default()));
        assert_eq!(read::<Header>(&mut stream).unwrap(), None);
    }

    #[test]
    fn a_stream_that_ends_inside_a_message_is_an_error() {
        for cut in [&[0, 0][..], &[0, 0, 0, 5, 1], &[255, 0, 0, 0]] {
            assert!(read::<Header>(&mut &cut[..]).is_err(), "{cut:?}");
        }
    }
}
