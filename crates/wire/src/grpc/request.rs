//! The request of a gRPC call.

use bytes::Bytes;

use super::PREFIX_LENGTH;
use crate::request::{Head, HeadBuilder};

/// A message too long for the prefix's 32-bit length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message of {0} bytes exceeds gRPC's maximum of 4,294,967,295")]
pub struct MessageTooLong(pub usize);

/// Adds the prefix to a message, which makes it the body of a call.
///
/// # Errors
/// The message is 4 GiB or longer.
pub fn frame_message(message: &[u8], compressed: bool) -> Result<Bytes, MessageTooLong> {
    let length = u32::try_from(message.len()).map_err(|_| MessageTooLong(message.len()))?;
    let mut framed = Vec::with_capacity(PREFIX_LENGTH + message.len());
    framed.push(u8::from(compressed));
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(message);
    Ok(Bytes::from(framed))
}

/// Starts the head of a gRPC call to `path` (`/pkg.Service/Method`) with messages of `subtype`
/// (`proto`, `json`, ...; `None` means plain `application/grpc`). Add `grpc-encoding`,
/// `grpc-accept-encoding`, `grpc-timeout` (see [`super::encode_timeout`]) and metadata (for binary
/// values see [`super::encode_binary`]) as fields.
pub fn head(path: &str, authority: &str, subtype: Option<&str>) -> HeadBuilder {
    let content_type = match subtype {
        Some(subtype) => format!("application/grpc+{subtype}"),
        None => "application/grpc".to_owned(),
    };
    let mut head = Head::builder("POST", path, authority)
        .field("content-type", content_type)
        .field("te", "trailers");
    head.http2_content_length = false;
    head.body_prefix = PREFIX_LENGTH as u32;
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_framed_message_has_flag_length_and_payload() {
        assert_eq!(
            &frame_message(b"abc", false).unwrap()[..],
            b"\0\0\0\0\x03abc"
        );
        assert_eq!(&frame_message(b"", true).unwrap()[..], b"\x01\0\0\0\0");
    }

    #[test]
    fn the_head_is_a_post_with_trailers_announced() {
        let head = head("/a.B/C", "localhost", Some("json")).build().unwrap();
        let text = String::from_utf8(head.http1.to_vec()).unwrap();
        assert!(text.starts_with("POST /a.B/C HTTP/1.1\r\n"), "{text}");
        assert!(
            text.contains("content-type: application/grpc+json\r\n"),
            "{text}"
        );
        assert!(text.contains("te: trailers\r\n"), "{text}");
        assert_eq!((head.body_prefix, head.http2_content_length), (5, false));
    }
}
