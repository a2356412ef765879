//! Percent-decoding of `grpc-message`.

/// Decodes a `grpc-message` value into `text`, which is cleared first. As the gRPC HTTP/2 spec
/// asks, nothing is refused: a broken escape is kept as it came, and bytes that are not UTF-8
/// become U+FFFD.
pub fn decode_message(value: &[u8], text: &mut String) {
    text.clear();
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&first, after)) = rest.split_first() {
        let escaped = match after {
            [high, low, ..] if first == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    text.push_str(&String::from_utf8_lossy(&bytes));
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(value: &str) -> String {
        let mut text = "old".to_owned();
        decode_message(value.as_bytes(), &mut text);
        text
    }

    #[test]
    fn escapes_are_decoded_and_broken_ones_kept() {
        assert_eq!(decode("plain"), "plain");
        assert_eq!(decode("a%20b%C3%a4"), "a bä");
        assert_eq!(decode("100%"), "100%");
        assert_eq!(decode("%4"), "%4");
        assert_eq!(decode("%zz%41"), "%zzA");
        assert_eq!(decode("%%41"), "%A");
        assert_eq!(decode("%ff!"), "\u{fffd}!");
    }

    proptest! {
        #[test]
        fn what_a_server_encodes_comes_back(message in ".*") {
            let encoded: String = message
                .bytes()
                .map(|b| match b {
                    b' '..=b'~' if b != b'%' => (b as char).to_string(),
                    _ => format!("%{b:02X}"),
                })
                .collect();
            prop_assert_eq!(decode(&encoded), message);
        }

        #[test]
        fn any_bytes_decode(value in prop::collection::vec(any::<u8>(), 0..60)) {
            decode_message(&value, &mut String::new());
        }
    }
}
