//! Which characters of a text that somebody else wrote can be shown as they are, by Unicode's general
//! categories as the standard library has them.

/// Whether a character is seen and changes nothing else: it is neither a control nor a format
/// character (Cc, Cf: the cursor, the direction of text, what is not seen), nor a separator but the
/// plain space (Zl, Zp, Zs), nor of private use or unassigned (Co, Cn).
pub fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return character == ' ' || character.is_ascii_graphic();
    }
    // After a letter, since a combining mark by itself is escaped.
    let after_a_letter = String::from_iter(['a', character]);
    after_a_letter.escape_debug().count() == 2
}

/// A JSON text in which unprintable characters of strings are escaped by number, with the same meaning.
pub fn json(text: String) -> String {
    let is_plain = |byte: u8| byte == b'\n' || byte == b' ' || byte.is_ascii_graphic();
    if text.bytes().all(is_plain) {
        return text;
    }
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if character == '\n' || is_printable(character) {
            safe.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn characters_that_steer_or_hide_are_not_printable() {
        for steering in [
            '\0',
            '\u{7}',
            '\u{1b}',
            '\u{7f}',
            '\u{9b}',
            '\u{ad}',
            '\u{61c}',
            '\u{180e}',
            '\u{200b}',
            '\u{2028}',
            '\u{202e}',
            '\u{2066}',
            '\u{fff9}',
            '\u{1d173}',
            '\u{e000}',
            '\u{e0041}',
        ] {
            assert!(!is_printable(steering), "{steering:?}");
        }
        for seen in "aé\u{301}µ×–…日本語ابع😀\\\"'".chars() {
            assert!(is_printable(seen), "{seen:?}");
        }
    }

    proptest! {
        #[test]
        fn json_reads_back_the_same(text: String, steering: char) {
            let value = serde_json::json!({ "a": [text, steering] });
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            let safe = json(pretty);
            prop_assert!(safe.chars().all(|c| c == '\n' || is_printable(c)));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
        }
    }
}
