//! Which variants `--only` keeps.

use std::collections::BTreeSet;

use rpcgauge_message::nearest::Nearest;

/// Returns the names that `words` select, or all names if `words` is empty. A word selects the variant with that name
/// or, if there is none, every variant whose name contains the word.
///
/// # Errors
/// A word selects nothing. The message suggests the nearest names.
pub fn chosen(words: &[String], names: &[&str]) -> Result<BTreeSet<String>, String> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    if words.is_empty() {
        return Ok(owned(names));
    }
    let mut chosen = BTreeSet::new();
    for word in words {
        let exact = names.contains(&word.as_str());
        let is_meant = |name: &&str| {
            if exact {
                *name == word
            } else {
                !word.is_empty() && name.contains(word.as_str())
            }
        };
        let meant: Vec<&str> = names.iter().copied().filter(is_meant).collect();
        if meant.is_empty() {
            let hint = Nearest::or_known(word, names.iter().copied());
            let place = if hint.is_empty() {
                "; rpcgauge plan lists them"
            } else {
                ""
            };
            return Err(format!(
                "--only: no variant's name is or contains \"{word}\"{hint}{place}"
            ));
        }
        chosen.extend(owned(&meant));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_name_or_a_part_of_names() {
        let names = ["rest-json", "grpc", "grpc-gzip"];
        let of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            chosen(&words, &names).map(|chosen| chosen.into_iter().collect::<Vec<_>>().join(" "))
        };
        assert_eq!(of(&[]).unwrap(), "grpc grpc-gzip rest-json");
        assert_eq!(of(&["grpc"]).unwrap(), "grpc");
        assert_eq!(of(&["grp", "rest"]).unwrap(), "grpc grpc-gzip rest-json");
        assert_eq!(
            of(&["grpc", "grcp"]).unwrap_err(),
            "--only: no variant's name is or contains \"grcp\"; did you mean \"grpc\"?"
        );
        assert!(of(&[""]).unwrap_err().contains("expected one of rest-json"));
    }
}
