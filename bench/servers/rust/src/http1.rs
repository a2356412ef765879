//! HTTP/1.1, to the extent that load generators use it: no chunked requests.

use crate::behaviour::Response;

/// The message as JSON.
const JSON: &str = r#"{"message":"Hello, world."}"#;

/// The maximum size of a head in bytes.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// The encoded responses.
#[derive(Debug)]
pub(crate) struct Http1 {
    message: Vec<u8>,
    refusal: Vec<u8>,
}

impl Http1 {
    pub(crate) fn new() -> Self {
        let message = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{JSON}",
            JSON.len()
        );
        let refusal = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
        Self {
            message: message.into_bytes(),
            refusal: refusal.into(),
        }
    }

    pub(crate) fn respond(&self, response: Response, out: &mut Vec<u8>) {
        out.extend_from_slice(match response {
            Response::Message => &self.message,
            Response::Refusal => &self.refusal,
        });
    }
}

/// The length of the first request in `bytes`, including its body; `None` until the head is complete.
///
/// # Errors
/// If this server does not support the request.
pub(crate) fn request_bytes(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return if bytes.len() > MAX_HEAD_BYTES {
            Err("a request head that is too long")
        } else {
            Ok(None)
        };
    };
    let mut body = 0;
    for line in bytes[..head].split(|&byte| byte == b'\n').skip(1) {
        let colon = line
            .iter()
            .position(|&byte| byte == b':')
            .ok_or("a header without a colon")?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            body = std::str::from_utf8(value)
                .ok()
                .and_then(|digits| digits.parse().ok())
                .ok_or("a content-length that is not a number")?;
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            return Err("a chunked request");
        }
    }
    Ok(Some(head + 4 + body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_after_its_body() {
        let head = b"POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
        let whole = [head.as_slice(), b"abcGET"].concat();
        assert_eq!(request_bytes(&whole), Ok(Some(head.len() + 3)));
        assert_eq!(request_bytes(head), Ok(Some(head.len() + 3)));
        assert_eq!(request_bytes(&head[..head.len() - 1]), Ok(None));
        assert_eq!(request_bytes(b"GET / HTTP/1.1\r\n\r\n"), Ok(Some(18)));
    }

    #[test]
    fn unsupported_requests_are_refused() {
        for head in [
            "content-length: x",
            "transfer-encoding: chunked",
            "nonsense",
        ] {
            let request = format!("POST / HTTP/1.1\r\n{head}\r\n\r\n");
            assert!(request_bytes(request.as_bytes()).is_err(), "{head}");
        }
        assert!(request_bytes(&[b'a'; MAX_HEAD_BYTES + 1]).is_err());
    }
}
