//! "Did you mean" hints: the known names most similar to an unknown one.

use std::fmt;

/// The minimum similarity of a suggestion (Jaro-Winkler, 0 to 1). Below it, suggestions look random.
const SIMILAR: f64 = 0.75;

/// The minimum length in bytes of a partial name for which the whole name is suggested.
const MIN_PART: usize = 3;

/// The maximum number of suggestions.
const OFFERED: usize = 3;

/// If nothing is similar, all known names are listed, but no more than this: a longer list would bury the
/// message itself.
const LISTED: usize = 30;

/// The hint after an unknown name in a message: `; did you mean "x"?`, `; expected one of x, y`, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Nearest(String);

impl Nearest {
    /// The candidates most similar to `name`, best first; empty if none is similar.
    pub fn of<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        let wanted = plain(name);
        let is_near = |candidate: &str| {
            wanted.len() >= MIN_PART && candidate.contains(&wanted)
                || strsim::jaro_winkler(&wanted, candidate) >= SIMILAR
        };
        let mut scored: Vec<(usize, &str)> = candidates
            .into_iter()
            .map(|candidate| (plain(candidate), candidate))
            .filter(|(plain, _)| is_near(plain))
            .map(|(plain, candidate)| (strsim::osa_distance(&wanted, &plain), candidate))
            .collect();
        scored.sort_unstable();
        scored.dedup();
        let Some((best, _)) = scored.first().copied() else {
            return Self::default();
        };
        scored.retain(|(distance, _)| *distance <= best + 1);
        let near = scored.into_iter().take(OFFERED);
        let near = or_list(near.map(|(_, name)| format!("\"{name}\"")));
        Self(format!("; did you mean {near}?"))
    }

    /// Like [`Self::of`], but if none is similar, lists all candidates unless there are too many.
    pub fn or_known<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Self {
        let nearest = Self::of(name, candidates.clone());
        let known: Vec<&str> = candidates.into_iter().collect();
        if nearest.is_empty() && (1..=LISTED).contains(&known.len()) {
            Self(format!("; expected one of {}", known.join(", ")))
        } else {
            nearest
        }
    }

    /// Whether there is no hint.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Normalizes a name so that case, and `_` versus `-`, do not matter.
fn plain(text: &str) -> String {
    text.to_lowercase().replace('_', "-")
}

/// `a, b or c`.
pub(crate) fn or_list(names: impl IntoIterator<Item = impl Into<String>>) -> String {
    let mut names: Vec<String> = names.into_iter().map(Into::into).collect();
    match (names.pop(), names.is_empty()) {
        (None, _) => String::new(),
        (Some(last), true) => last,
        (Some(last), false) => format!("{} or {last}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_comes_first_and_others_are_not_suggested() {
        let names = [
            "protocol",
            "transport",
            "connection",
            "in-flight",
            "price",
            "prices",
            "shop.Order",
            "shop.OrderList",
        ];
        for (word, hint) in [
            ("protcol", r#"; did you mean "protocol"?"#),
            ("Protocol", r#"; did you mean "protocol"?"#),
            ("in_flight", r#"; did you mean "in-flight"?"#),
            ("flight", r#"; did you mean "in-flight"?"#),
            ("conections", r#"; did you mean "connection"?"#),
            ("prise", r#"; did you mean "price" or "prices"?"#),
            ("Order", r#"; did you mean "shop.Order"?"#),
            ("zzz", ""),
            ("", ""),
        ] {
            assert_eq!(Nearest::of(word, names).to_string(), hint, "{word}");
        }
    }

    #[test]
    fn few_names_are_listed_when_none_is_similar() {
        let hint = Nearest::or_known("x", ["tcp", "unix-socket"]);
        assert_eq!(hint.to_string(), "; expected one of tcp, unix-socket");
        assert_eq!(
            Nearest::or_known("unix", ["tcp", "unix-socket"]).to_string(),
            r#"; did you mean "unix-socket"?"#
        );
        assert!(Nearest::or_known("x", []).is_empty());
        assert!(Nearest::or_known("x", ["name"; LISTED + 1]).is_empty());
    }
}
