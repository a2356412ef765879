//! The opening handshake (RFC 6455 §4): a GET that asks to upgrade its HTTP/1.1 connection.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use super::WebSocketViolation;
use crate::event::Fields;
use crate::request::{Head, HeadBuilder};

/// Fields that the handshake itself sets. The server would compress messages if the client offered an extension.
pub(crate) const RESERVED_FIELDS: [&str; 4] = [
    "sec-websocket-accept",
    "sec-websocket-extensions",
    "sec-websocket-key",
    "sec-websocket-version",
];

/// The field that offers subprotocols, and selects one.
pub(crate) const SUBPROTOCOL: &str = "sec-websocket-protocol";

/// The fields that are the same in every handshake.
pub(crate) const FIELDS: &[u8] =
    b"connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n";

/// Starts the head of a WebSocket's opening handshake. [`crate::Client::open`] adds the key, which is random. Add
/// `sec-websocket-protocol` as a field to offer subprotocols. HTTP/2 cannot send it.
pub fn head(path: &str, authority: &str) -> HeadBuilder {
    let mut head = Head::builder("GET", path, authority);
    head.websocket = true;
    head
}

/// The key of a handshake. A server that has read it can derive the value that accepts it.
#[derive(Debug)]
pub(crate) struct Key(String);

impl Key {
    pub(crate) fn random() -> Key {
        Key(STANDARD.encode(fastrand::u128(..).to_ne_bytes()))
    }

    /// Appends the field, and the end of the head.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"sec-websocket-key: ");
        out.extend_from_slice(self.0.as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
    }

    /// The value of `sec-websocket-accept` (RFC 6455 §4.2.2).
    fn accept(&self) -> String {
        let salted = format!("{}258EAFA5-E914-47DA-95CA-C5AB0DC85B11", self.0);
        STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, salted.as_bytes()))
    }
}

/// Checks the fields of a response with status 101. `offered` are the subprotocols of the request.
pub(crate) fn check(
    fields: &Fields<'_>,
    key: &Key,
    offered: &[String],
) -> Result<(), WebSocketViolation> {
    let upgrades = lists(fields, "upgrade", "websocket") && lists(fields, "connection", "upgrade");
    if !upgrades {
        return Err(WebSocketViolation::Upgrade);
    }
    if fields.get(b"sec-websocket-accept") != Some(key.accept().as_bytes()) {
        return Err(WebSocketViolation::Accept);
    }
    if fields.get(b"sec-websocket-extensions").is_some() {
        return Err(WebSocketViolation::Extension);
    }
    let is_offered = |one: &[u8]| offered.iter().any(|offered| offered.as_bytes() == one);
    match fields.get(SUBPROTOCOL.as_bytes()) {
        Some(selected) if !is_offered(selected) => Err(WebSocketViolation::Subprotocol),
        _ => Ok(()),
    }
}

/// Whether a field's list of values, over all of its lines, contains `wanted`, ignoring case.
fn lists(fields: &Fields<'_>, name: &str, wanted: &str) -> bool {
    let lines = fields
        .iter()
        .filter(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
    let mut values = lines.flat_map(|(_, line)| line.split(|byte| *byte == b','));
    values.any(|value| value.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::with_fields;

    /// The example of RFC 6455 §1.3.
    const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
    const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

    #[test]
    fn the_accept_value_is_that_of_the_standard() {
        assert_eq!(Key(KEY.to_owned()).accept(), ACCEPT);
        assert_eq!(STANDARD.decode(Key::random().0).unwrap().len(), 16);
        assert_ne!(Key::random().0, Key::random().0);
    }

    #[test]
    fn a_handshake_is_accepted_only_if_every_field_is_right() {
        use WebSocketViolation as V;
        let check = |fields: &[(&str, &str)]| {
            let key = Key(KEY.to_owned());
            with_fields(fields, |fields| {
                check(fields, &key, &["a".into(), "b".into()])
            })
        };
        let (upgrade, connection) = (("Upgrade", "WebSocket"), ("Connection", "x, upgrade"));
        let accept = ("Sec-WebSocket-Accept", ACCEPT);
        let protocol = |value| ("sec-websocket-protocol", value);
        let extension = ("sec-websocket-extensions", "permessage-deflate");
        let lower = ACCEPT.to_ascii_lowercase();
        assert_eq!(check(&[upgrade, connection, accept]), Ok(()));
        assert_eq!(check(&[upgrade, connection, accept, protocol("b")]), Ok(()));
        for (fields, violation) in [
            (&[connection, accept][..], V::Upgrade),
            (&[upgrade, accept], V::Upgrade),
            (&[("upgrade", "h2c"), connection, accept], V::Upgrade),
            (&[upgrade, connection], V::Accept),
            (
                &[upgrade, connection, ("sec-websocket-accept", KEY)],
                V::Accept,
            ),
            (
                &[upgrade, connection, ("sec-websocket-accept", &lower)],
                V::Accept,
            ),
            (&[upgrade, connection, accept, extension], V::Extension),
            (
                &[upgrade, connection, accept, protocol("B")],
                V::Subprotocol,
            ),
            (&[upgrade, connection, accept, protocol("")], V::Subprotocol),
        ] {
            assert_eq!(check(fields), Err(violation), "{fields:?}");
        }
    }
}
