//! Removes header values, which may be secret, from texts that a server sends.

/// Shorter header values are not redacted, because they would match unrelated text.
const MIN_SECRET: usize = 6;

/// Headers whose values this program sets itself, or that describe how a message is encoded.
const NO_SECRETS: [&str; 5] = ["content-type", "accept", "te", "user-agent", "grpc-timeout"];

/// Replaces the request's header values with "…" in a text sent by the server: they may be secret, and records
/// must not contain them. Also replaces a credential without its scheme (RFC 9110, 11.4).
pub fn without_values(text: &str, headers: &[(String, String)]) -> String {
    let given = headers.iter().filter(|(name, _)| {
        let name = name.to_ascii_lowercase();
        !name.ends_with("-encoding") && !NO_SECRETS.contains(&&*name)
    });
    let values = given.flat_map(|(_, value)| {
        let credential = value
            .split_once(' ')
            .map(|(_, credential)| credential.trim());
        [Some(value.trim()), credential].into_iter().flatten()
    });
    // In JSON and in quoted texts, quotes and backslashes are escaped.
    let values = values.flat_map(|value| {
        let escaped = value.replace('\\', r"\\").replace('"', r#"\""#);
        let is_other = escaped != value;
        let both = [Some(value.to_owned()), is_other.then_some(escaped)];
        both.into_iter().flatten()
    });
    let mut text = text.to_owned();
    for value in values.filter(|value| value.len() >= MIN_SECRET) {
        text = text.replace(&value, "…");
        // Samples are truncated, and may end within the value.
        let whole = text.strip_suffix('…').unwrap_or(&text);
        let cut = (MIN_SECRET..value.len()).rev().find_map(|length| {
            let part = value.get(..length)?;
            whole.strip_suffix(part)
        });
        if let Some(before) = cut {
            text = format!("{before}…");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_repeats_of_headers_is_in_no_text() {
        let headers = [
            ("Authorization", "Bearer abc123xyz"),
            ("x-key", "k1"),
            ("cookie", r#"a="very\secret""#),
            ("content-type", "application/json"),
            ("Accept-Encoding", "identity"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let table = [
            ("bad token Bearer abc123xyz!", "bad token …!"),
            ("abc123xyz, and abc123xyz", "…, and …"),
            (r#"it has a="very\secret""#, "it has …"),
            (r#"it has "a=\"very\\secret\"""#, r#"it has "…""#),
            ("it was cut at Bearer abc123", "it was cut at …"),
            ("it was cut at abc123", "it was cut at …"),
            ("it was cut at abc123…", "it was cut at …"),
            (
                "k1: application/json, identity",
                "k1: application/json, identity",
            ),
        ];
        for (text, without) in table {
            assert_eq!(without_values(text, &headers), without);
        }
    }
}
