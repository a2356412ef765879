//! Which characters of untrusted text can be shown unescaped, by Unicode's general categories as implemented in the
//! standard library.

/// Whether a character is visible and does not affect other characters. Control and format characters (Cc, Cf) are
/// excluded: they move the cursor, change the direction of text or are invisible. So are separators other than the
/// plain space (Zl, Zp, Zs), and private-use and unassigned characters (Co, Cn).
pub fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return character == ' ' || character.is_ascii_graphic();
    }
    // The character follows a letter because `escape_debug` escapes a combining mark at the start of a string.
    let after_a_letter = String::from_iter(['a', character]);
    after_a_letter.escape_debug().count() == 2
}

/// Returns the same JSON with the unprintable characters of its strings escaped as `\uXXXX`.
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
