//! "Did you mean": the known name nearest to one that is not known.

/// Largest share of a word's letters that may differ from a name for it to be suggested.
const TOLERANCE: f64 = 0.4;

/// Shortest part of a name, in letters, that is taken for the name when it is the only one to hold
/// it.
const SHORTEST_PART: usize = 3;

/// `; did you mean "x"?`, or all the names when none is near and they are few.
pub(crate) fn hint<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    /// More names than these would hide the sentence before them.
    const FEW: usize = 12;
    let names: Vec<&str> = names.into_iter().collect();
    match nearest(word, names.iter().copied()) {
        Some(name) => format!("; did you mean \"{name}\"?"),
        None if names.is_empty() || names.len() > FEW => String::new(),
        None => format!("; known are {}", names.join(", ")),
    }
}

/// The known name nearest to `word`, if one is near at all.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    let word = plain(word);
    let distance = |name: &str| strsim::damerau_levenshtein(&word, &plain(name));
    let names: Vec<&str> = names.into_iter().collect();
    let longer = |name: &&&str| word.len() >= SHORTEST_PART && plain(name).contains(&word);
    if let [only] = names.iter().filter(longer).collect::<Vec<_>>()[..] {
        return Some(only);
    }
    let (name, distance) = names
        .into_iter()
        .map(|name| (name, distance(name)))
        .min_by_key(|(_, distance)| *distance)?;
    let longest = word.chars().count().max(name.chars().count());
    (distance as f64 <= TOLERANCE * longest as f64).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_understood() {
        let names = [
            "protocol",
            "transport",
            "connection",
            "connections",
            "in-flight",
        ];
        for (word, name) in [
            ("protcol", Some("protocol")),
            ("Protocol", Some("protocol")),
            ("in_flight", Some("in-flight")),
            ("conections", Some("connections")),
            ("zzz", None),
            ("flight", Some("in-flight")),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), name, "{word}");
        }
    }

    #[test]
    fn few_names_are_told_when_none_is_near() {
        assert_eq!(
            hint("x", ["tcp", "unix-socket"]),
            "; known are tcp, unix-socket"
        );
        assert_eq!(hint("x", []), "");
    }
}
