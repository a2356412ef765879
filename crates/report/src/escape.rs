//! Text that somebody else wrote, made harmless for where it goes.
//!
//! Error texts, log lines and names come from servers and study files. Each output has its own
//! rule; nothing of theirs is written past it.

/// For HTML text and quoted attributes, and for SVG text.
pub fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(character),
        }
    }
    safe
}

/// For a cell of a Markdown table or a line of a list: one line, no markup, no HTML, no mention.
pub fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // An entity, since a forge would make `@name` a mention even after a backslash.
            '@' => safe.push_str("&#64;"),
            '\\' | '`' | '|' | '*' | '_' | '[' | ']' | '(' | ')' | '#' | '!' | '~' | '$' | ':' => {
                safe.push('\\');
                safe.push(character);
            }
            c if c.is_control() || is_invisible(c) => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

/// For a terminal, and for a page before [`html`]: one line, without control characters and what reorders text, so that a server
/// can neither move the cursor nor colour or hide what follows.
pub fn terminal(text: &str) -> String {
    let harmless = |c: char| {
        if c.is_control() || is_invisible(c) {
            ' '
        } else {
            c
        }
    };
    text.chars().map(harmless).collect()
}

/// For a CSV field (RFC 4180): quoted where needed. A text that a spreadsheet would run as a
/// formula gets an apostrophe before it.
pub fn csv(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guarded = if is_formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if guarded.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

/// Characters that are not seen, or change the order in which others are: the bidirectional
/// controls of Unicode's Annex 9, zero-width characters, separators.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn html_leaves_no_markup() {
        assert_eq!(
            html("<script>alert('x') & \"y\"</script>"),
            "&lt;script&gt;alert(&#39;x&#39;) &amp; &quot;y&quot;&lt;/script&gt;"
        );
    }

    #[test]
    fn markdown_leaves_no_markup() {
        assert_eq!(
            markdown("a|b `c`\n<b> @all"),
            "a\\|b \\`c\\` &lt;b&gt; &#64;all"
        );
    }

    #[test]
    fn csv_quotes_and_guards() {
        assert_eq!(csv("plain"), "plain");
        assert_eq!(csv("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(csv("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(csv("-1+2"), "'-1+2");
    }

    #[test]
    fn terminal_text_cannot_steer_the_terminal() {
        assert_eq!(terminal("\u{1b}[31mred\r\n\u{202e}x"), " [31mred   x");
    }

    proptest! {
        #[test]
        fn html_never_holds_an_angle_bracket_or_quote(text in ".*") {
            prop_assert!(!html(&text).contains(['<', '>', '"', '\'']));
        }

        #[test]
        fn markdown_stays_in_its_cell(text in ".*") {
            let safe = markdown(&text);
            prop_assert!(!safe.contains(['<', '>', '\n', '\r']));
            let bare = safe.match_indices('|').any(|(at, _)| !safe[..at].ends_with('\\'));
            prop_assert!(!bare);
        }

        #[test]
        fn a_csv_field_reads_back(text in "[^=+@\t\r-].*") {
            let field = csv(&text);
            let read = field
                .strip_prefix('"')
                .and_then(|f| f.strip_suffix('"'))
                .map_or(field.clone(), |inner| inner.replace("\"\"", "\""));
            prop_assert_eq!(read, text);
        }
    }
}
