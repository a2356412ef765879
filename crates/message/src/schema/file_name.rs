//! The names by which .proto files are imported. Generators write a name into source-code comments, append it
//! to folders, and accept it as an argument, all without checking it.

use crate::path::clip;

/// The maximum length of a name in bytes. Paths on disk are limited to 4096 bytes (`PATH_MAX`), and generators
/// prepend folders to a name.
const MAX_BYTES: usize = 512;

/// Checks that a name is a relative path that needs no escaping in paths, command lines and source code. protoc
/// accepts more, including spaces and line feeds.
///
/// # Errors
/// Returns the escaped name followed by the rule.
pub(crate) fn check(name: &str) -> Result<(), String> {
    if name.len() <= MAX_BYTES && name.split('/').all(is_part) {
        return Ok(());
    }
    Err(format!(
        "\"{}\" is not a valid name of a .proto file: it must be a relative path of at most {MAX_BYTES} bytes; \
         its parts must consist of ASCII letters, digits and _ - . + @, must not be \".\" or \"..\", and must \
         not begin with - or @",
        clip(name)
    ))
}

fn is_part(part: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.+@".contains(&byte);
    !matches!(part, "" | "." | "..")
        && !part.starts_with(['-', '@'])
        && part.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_relative_path_of_plain_characters() {
        let longest = "a".repeat(MAX_BYTES);
        for valid in [
            "a.proto",
            "google/api/http.proto",
            "a-b/c_d@v1.2/v1+2/x.y.proto",
            "no-suffix",
            "...proto",
            &longest,
        ] {
            assert_eq!(check(valid), Ok(()), "{valid}");
        }
        let too_long = "a".repeat(MAX_BYTES + 1);
        for wrong in [
            "",
            "/a.proto",
            "a//b.proto",
            "a/",
            ".",
            "./a.proto",
            "..",
            "../a.proto",
            "a/../b.proto",
            "-I.proto",
            "a/--plugin.proto",
            "@args.proto",
            "a\nb.proto",
            "a\rb.proto",
            "a\0b.proto",
            "a b.proto",
            "a\\b.proto",
            "a*/b.proto",
            "a\"b.proto",
            "a'b.proto",
            "${a}.proto",
            "C:a.proto",
            "\u{2028}.proto",
            "\u{e4}.proto",
            &too_long,
        ] {
            let error = check(wrong).expect_err(wrong);
            assert!(error.contains("is not a valid name"), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
