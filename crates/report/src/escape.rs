//! Escapes foreign text for each output.
//!
//! Error texts, log lines and names come from servers and study files. Each output has its own escaping rule, which
//! is applied to all foreign text.

use rpcgauge_study::printable::is_printable;

/// For a page: like [`terminal`], but keeps line ends. The page's template escapes markup.
pub fn page(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(terminal).collect();
    lines.join("\n")
}

/// For a cell of a Markdown table or a line of a list: one line, no markup, no HTML, no mention.
/// Characters that GitHub shows literally are not escaped, so that the text is also readable unrendered.
pub fn markdown(text: &str) -> String {
    let text = terminal(text);
    let text = text.trim_start();
    let mut safe = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        let (before, after) = (&text[..at], &text[at + character.len_utf8()..]);
        match character {
            '&' if after.starts_with(|c: char| c == '#' || c.is_ascii_alphanumeric()) => {
                safe.push_str("&amp;");
            }
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // An entity, since a forge treats `@name` as a mention even after a backslash.
            '@' => safe.push_str("&#64;"),
            c => {
                if is_markup(c, before, after) {
                    safe.push('\\');
                }
                safe.push(c);
            }
        }
    }
    safe
}

/// Whether GitHub reads a character as markup between the text before it and the text after it. The
/// text may start a line.
fn is_markup(character: char, before: &str, after: &str) -> bool {
    let follows = |wanted: &[char]| after.starts_with(wanted);
    let ends_word = after.is_empty() || after.starts_with(' ');
    match character {
        '\\' | '`' | '|' | '*' | '~' | '$' => true,
        // Inside a word, it does not mark emphasis.
        '_' => {
            !(before.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric))
        }
        // A link definition, a footnote or a task starts a line. Elsewhere, what follows the closing bracket decides
        // whether brackets are a link.
        '[' => before.is_empty(),
        ']' => follows(&['(', '[']),
        // A heading or the number of an issue.
        '#' => before.is_empty() || after.starts_with(|c: char| c.is_ascii_digit()),
        // The items of a list and a rule across the page start a line.
        '-' => before.is_empty() && (ends_word || follows(&['-'])),
        '+' => before.is_empty() && ends_word,
        // A web address or the number of a list item.
        '.' => before.to_ascii_lowercase().ends_with("www") || is_number(before) && ends_word,
        ')' => is_number(before) && ends_word,
        ':' => after.starts_with("//") || is_emoji(after),
        _ => false,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether `name:...` follows a colon, as in `:tada:`.
fn is_emoji(after: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "+-_".contains(c);
    let behind = after.trim_start_matches(is_of_name);
    behind.len() < after.len() && behind.starts_with(':')
}

/// For a terminal: one line. White space is replaced with plain spaces and unprintable characters with their Unicode
/// escapes, so that a server can neither move the cursor nor colour, reorder or hide what follows.
pub fn terminal(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            c if is_printable(c) => safe.push(c),
            c if c.is_whitespace() => safe.push(' '),
            c => safe.extend(c.escape_unicode()),
        }
    }
    safe
}

/// For a CSV field (RFC 4180): one line, quoted where needed. A text that a spreadsheet would run as a
/// formula is prefixed with an apostrophe.
pub fn csv(text: &str) -> String {
    let text = terminal(text);
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    let guarded = if is_formula { format!("'{text}") } else { text };
    if guarded.contains([',', '"']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markdown_leaves_no_markup() {
        for (text, safe) in [
            ("a|b `c`\n<b> @all", "a\\|b \\`c\\` &lt;b&gt; &#64;all"),
            ("a\r\n\r\n# b", "a    # b"),
            ("\n# b", "\\# b"),
            ("fixed in #12 and a#3", "fixed in \\#12 and a\\#3"),
            ("[a](http://b)", "\\[a\\](http\\://b)"),
            ("see [a](b), ![a](b)", "see [a\\](b), ![a\\](b)"),
            ("x [a\\](b)", "x [a\\\\\\](b)"),
            ("[a]: b", "\\[a]: b"),
            ("[x] done", "\\[x] done"),
            ("[^1]: note", "\\[^1]: note"),
            ("see [a][b]", "see [a\\][b]"),
            ("at https://a and www.b.c", "at https\\://a and www\\.b.c"),
            (
                "*a* _a_ __a__ ~a~ $a$",
                "\\*a\\* \\_a\\_ \\_\\_a\\_\\_ \\~a\\~ \\$a\\$",
            ),
            (":tada: a", "\\:tada: a"),
            ("- a", "\\- a"),
            ("---", "\\---"),
            ("+ a", "\\+ a"),
            ("1. a", "1\\. a"),
            ("12) a", "12\\) a"),
            ("    code", "code"),
            ("&lt;b&gt; &#60;", "&amp;lt;b&amp;gt; &amp;\\#60;"),
            ("\\*a", "\\\\\\*a"),
        ] {
            assert_eq!(markdown(text), safe, "{text:?}");
        }
    }

    #[test]
    fn markdown_leaves_plain_text_alone() {
        for text in [
            "2.30× faster [2.23, 2.38]: 1.92 ms against 4.41 ms per call (p50).",
            "Intel(R) Xeon(R) Processor, 2 cores, container (docker)",
            "-0.5 to +3.2%, 1-2; a & b",
            "max_message_bytes is 64 MiB!",
            "10:30, half-open",
            "4.41 ms",
            "a # b, C#",
            "1.5) of 2.",
        ] {
            assert_eq!(markdown(text), text);
        }
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
        assert_eq!(
            terminal("\u{1b}[31mred\r\n\u{202e}x\u{a0}é"),
            "\\u{1b}[31mred  \\u{202e}x é"
        );
    }

    proptest! {
        #[test]
        fn no_output_holds_what_cannot_be_shown(text: String) {
            for escaped in [terminal(&text), markdown(&text), csv(&text), page(&text)] {
                prop_assert!(escaped.chars().all(|c| c == '\n' || is_printable(c)), "{escaped:?}");
            }
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
            prop_assert_eq!(read, terminal(&text));
        }
    }
}
