//! A request head: validated and encoded once, used for many calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::PrepareError;
use crate::http2::hpack;
use crate::websocket;

/// A prepared request head: method, target and fields. It works for both protocols and any number
/// of connections. The body is passed with each call.
///
/// HTTP/1.1 sends its bytes as they are and adds `content-length`. HTTP/2 encodes it as a field
/// block on each connection, and reuses the fully indexed block for later calls.
#[derive(Debug)]
pub struct Head {
    /// Unique in this process, so that a connection can recognize the head.
    pub(crate) id: u64,
    /// Request line and fields of HTTP/1.1, without `content-length` and the empty line.
    pub(crate) http1: Box<[u8]>,
    /// Pseudo-header fields, then fields, for HTTP/2; without `content-length`.
    pub(crate) http2: hpack::FieldList,
    /// Whether HTTP/2 sends `content-length`. HTTP/1.1 always does for a method that can have a
    /// body.
    pub(crate) http2_content_length: bool,
    /// Whether requests with this method have a body, even if it is empty.
    pub(crate) expects_body: bool,
    /// Whether the method is HEAD, whose response has no body.
    pub(crate) is_head_method: bool,
    /// Whether an HTTP/1.1 request asks the server to close the connection after the call.
    pub(crate) close: bool,
    /// Number of bytes at the start of each body that frame a higher layer's message. They are
    /// counted as overhead.
    pub(crate) body_prefix: u32,
    /// For a WebSocket, the subprotocols that the request offers.
    pub(crate) subprotocols: Option<Arc<[String]>>,
}

impl Head {
    /// Starts a head for `method` (such as `POST`) on `path` (including any query) at `authority`
    /// (`HOST` or `HOST:PORT`; for a Unix socket, `localhost`).
    pub fn builder(method: &str, path: &str, authority: &str) -> HeadBuilder {
        HeadBuilder {
            method: method.to_owned(),
            path: path.to_owned(),
            authority: authority.to_owned(),
            scheme: "http".to_owned(),
            fields: Vec::new(),
            http2_content_length: true,
            close: false,
            body_prefix: 0,
            websocket: false,
        }
    }

    /// Whether a request with a body of this length needs a `content-length`.
    pub(crate) fn states_length(&self, body_length: usize) -> bool {
        self.expects_body || body_length > 0
    }
}

/// Builds a [`Head`].
#[derive(Debug, Clone)]
pub struct HeadBuilder {
    method: String,
    path: String,
    authority: String,
    scheme: String,
    /// Name and value.
    fields: Vec<(String, Vec<u8>)>,
    /// See [`Head`]. gRPC clients do not send `content-length`.
    pub(crate) http2_content_length: bool,
    close: bool,
    /// See [`Head`].
    pub(crate) body_prefix: u32,
    /// Whether the request asks for a WebSocket.
    pub(crate) websocket: bool,
}

/// Fields that the protocol itself sets, or that belong to one connection and are forbidden in
/// HTTP/2 (RFC 9113 §8.2.2).
const RESERVED_FIELDS: [&str; 8] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
    "expect",
];

impl HeadBuilder {
    /// The scheme, `http` (the default) or `https`.
    pub fn scheme(mut self, scheme: &str) -> Self {
        scheme.clone_into(&mut self.scheme);
        self
    }

    /// Adds a field. Its name is sent in lower case.
    pub fn field(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let field = (name.to_ascii_lowercase(), value.as_ref().to_vec());
        self.fields.push(field);
        self
    }

    /// Whether HTTP/1.1 requests ask the server to close the connection after the response. Default
    /// false.
    pub fn close(mut self, close: bool) -> Self {
        self.close = close;
        self
    }

    /// Validates and encodes the head.
    ///
    /// # Errors
    /// [`PrepareError`] if a part of the head cannot be sent.
    pub fn build(self) -> Result<Head, PrepareError> {
        self.check()?;
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        Ok(Head {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            http1: self.http1_bytes(),
            http2: self.http2_fields(),
            http2_content_length: self.http2_content_length,
            expects_body: matches!(self.method.as_str(), "POST" | "PUT" | "PATCH"),
            is_head_method: self.method == "HEAD",
            close: self.close,
            body_prefix: self.body_prefix,
            subprotocols: self.websocket.then(|| self.subprotocols()),
        })
    }

    fn check(&self) -> Result<(), PrepareError> {
        let visible = |text: &str, refused: &str| {
            text.bytes()
                .all(|b| b.is_ascii_graphic() && !refused.as_bytes().contains(&b))
        };
        if !is_token(self.method.as_bytes()) {
            return Err(PrepareError::Method(self.method.clone()));
        }
        if self.method == "CONNECT" {
            return Err(PrepareError::Tunnel);
        }
        let asterisk = self.method == "OPTIONS" && self.path == "*";
        if !(self.path.starts_with('/') || asterisk) || !visible(&self.path, "#") {
            return Err(PrepareError::Path(self.path.clone()));
        }
        if self.authority.is_empty() || !visible(&self.authority, "/?#@\\") {
            return Err(PrepareError::Authority(self.authority.clone()));
        }
        if !matches!(self.scheme.as_str(), "http" | "https") {
            return Err(PrepareError::Scheme(self.scheme.clone()));
        }
        self.fields.iter().try_for_each(check_field)?;
        let is_reserved =
            |(name, _): &&(String, _)| websocket::RESERVED_FIELDS.contains(&name.as_str());
        match self.fields.iter().find(is_reserved) {
            Some((name, _)) if self.websocket => Err(PrepareError::ReservedField(name.clone())),
            _ => Ok(()),
        }
    }

    /// The values of the fields that offer subprotocols.
    fn subprotocols(&self) -> Arc<[String]> {
        let offers = self.fields.iter();
        let offers = offers.filter(|(name, _)| name == websocket::SUBPROTOCOL);
        let values = offers.flat_map(|(_, value)| value.split(|byte| *byte == b','));
        let text = |value: &[u8]| String::from_utf8_lossy(value.trim_ascii()).into_owned();
        values.map(text).collect()
    }

    fn http1_bytes(&self) -> Box<[u8]> {
        let mut head = Vec::with_capacity(256);
        let line = format!("{} {} HTTP/1.1\r\nhost: ", self.method, self.path);
        head.extend_from_slice(line.as_bytes());
        head.extend_from_slice(self.authority.as_bytes());
        head.extend_from_slice(b"\r\n");
        for (name, value) in &self.fields {
            head.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        if self.websocket {
            head.extend_from_slice(websocket::FIELDS);
        } else if self.close {
            head.extend_from_slice(b"connection: close\r\n");
        }
        head.into_boxed_slice()
    }

    fn http2_fields(&self) -> hpack::FieldList {
        let mut list = hpack::FieldList::default();
        list.push(b":method", self.method.as_bytes());
        list.push(b":scheme", self.scheme.as_bytes());
        list.push(b":authority", self.authority.as_bytes());
        list.push(b":path", self.path.as_bytes());
        for (name, value) in &self.fields {
            list.push(name.as_bytes(), value);
        }
        list
    }
}

fn check_field((name, value): &(String, Vec<u8>)) -> Result<(), PrepareError> {
    if !is_token(name.as_bytes()) {
        return Err(PrepareError::FieldName(name.clone()));
    }
    let te_refused = name == "te" && value != b"trailers";
    if RESERVED_FIELDS.contains(&name.as_str()) || te_refused {
        return Err(PrepareError::ReservedField(name.clone()));
    }
    if value.trim_ascii() != value || !value.iter().all(|&b| is_value_byte(b)) {
        return Err(PrepareError::FieldValue(name.clone()));
    }
    Ok(())
}

/// Whether `text` is a token (RFC 9110 §5.6.2), as field and method names must be.
pub(crate) fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&b| is_token_byte(b))
}

/// Whether a token may contain `byte` (RFC 9110 §5.6.2).
pub(crate) fn is_token_byte(byte: u8) -> bool {
    BYTE_CLASSES[usize::from(byte)] & TOKEN != 0
}

/// Whether a field value may contain `byte` (RFC 9110 §5.5): anything but control characters other
/// than tab.
pub(crate) fn is_value_byte(byte: u8) -> bool {
    BYTE_CLASSES[usize::from(byte)] & VALUE != 0
}

const TOKEN: u8 = 1;
const VALUE: u8 = 2;

/// The classes that each byte belongs to. A table lookup is fast, and every byte of every head is
/// looked up.
static BYTE_CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() {
            classes[byte] |= TOKEN;
        }
        if b >= 0x20 && b != 0x7f || b == b'\t' {
            classes[byte] |= VALUE;
        }
        byte += 1;
    }
    let signs = b"!#$%&'*+-.^_`|~";
    let mut i = 0;
    while i < signs.len() {
        classes[signs[i] as usize] |= TOKEN;
        i += 1;
    }
    classes
};

/// Parses a decimal number; `None` if it contains anything but digits or overflows.
pub(crate) fn read_decimal(digits: &[u8]) -> Option<u64> {
    let all_digits = digits.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(digits).ok().filter(|_| all_digits)?;
    text.parse().ok()
}

/// Parses a status: three digits, the first not 0.
pub(crate) fn read_status(digits: &[u8]) -> Option<u16> {
    let is_status = matches!(digits, [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9']);
    is_status.then(|| {
        digits
            .iter()
            .fold(0, |n, digit| n * 10 + u16::from(digit - b'0'))
    })
}

/// A number as decimal digits, formatted without an allocation.
#[derive(Debug)]
pub(crate) struct Decimal {
    /// Large enough for `u64::MAX`, which has 20 digits.
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    pub(crate) fn new(mut number: u64) -> Decimal {
        let mut digits = [0; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return Decimal { digits, start };
            }
        }
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http1_bytes_are_the_head_without_its_end() {
        let head = Head::builder("POST", "/a?b=c", "localhost:80")
            .field("Accept", "*/*")
            .close(true)
            .build()
            .unwrap();
        assert_eq!(
            &*head.http1,
            b"POST /a?b=c HTTP/1.1\r\nhost: localhost:80\r\naccept: */*\r\nconnection: close\r\n"
                .as_slice()
        );
        assert!(head.states_length(0));
    }

    #[test]
    fn decimals() {
        for number in [0, 9, 10, 1234567890, u64::MAX] {
            assert_eq!(
                Decimal::new(number).as_bytes(),
                number.to_string().as_bytes()
            );
        }
    }

    #[test]
    fn heads_have_their_own_ids() {
        let head = || Head::builder("GET", "/", "a").build().unwrap();
        assert_ne!(head().id, head().id);
    }

    #[test]
    fn what_cannot_be_sent_is_refused_by_part() {
        use PrepareError as E;
        let build = |m: &str, p: &str, a: &str| Head::builder(m, p, a).build().map(|h| h.id);
        assert_eq!(build("GE T", "/", "a"), Err(E::Method("GE T".into())));
        assert_eq!(build("CONNECT", "/", "a"), Err(E::Tunnel));
        assert_eq!(build("GET", "x", "a"), Err(E::Path("x".into())));
        assert_eq!(build("GET", "/a b", "a"), Err(E::Path("/a b".into())));
        assert_eq!(
            build("GET", "/\r\nx: y", "a"),
            Err(E::Path("/\r\nx: y".into()))
        );
        assert_eq!(build("GET", "/", ""), Err(E::Authority(String::new())));
        assert_eq!(build("GET", "/", "a@b"), Err(E::Authority("a@b".into())));
        assert!(build("OPTIONS", "*", "a").is_ok());
        let scheme = Head::builder("GET", "/", "a")
            .scheme("ftp")
            .build()
            .map(|h| h.id);
        assert_eq!(scheme, Err(E::Scheme("ftp".into())));

        let field = |n: &str, v: &str| {
            Head::builder("GET", "/", "a")
                .field(n, v)
                .build()
                .map(|h| h.id)
                .unwrap_err()
        };
        assert_eq!(field("a b", "c"), E::FieldName("a b".into()));
        assert_eq!(field(":path", "c"), E::FieldName(":path".into()));
        assert_eq!(
            field("Content-Length", "3"),
            E::ReservedField("content-length".into())
        );
        assert_eq!(field("te", "gzip"), E::ReservedField("te".into()));
        assert_eq!(field("a", "b\r\nc: d"), E::FieldValue("a".into()));
        assert_eq!(field("a", " b"), E::FieldValue("a".into()));
    }
}
