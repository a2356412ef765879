//! The name that was probably meant.

use std::fmt;

/// Names at least this similar (Jaro-Winkler, 0 to 1) are offered: lower ones look random.
const SIMILAR: f64 = 0.75;

/// How many names are offered at most.
const OFFERED: usize = 3;

/// The names nearest to a misspelt one, best first. Shows as `, did you mean ...?` or as nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Nearest(Vec<String>);

impl Nearest {
    /// The candidates that look most like `name`.
    pub fn of<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        let wanted = name.to_lowercase();
        let mut scored: Vec<(usize, &str)> = candidates
            .into_iter()
            .map(|candidate| (candidate.to_lowercase(), candidate))
            .filter(|(lower, _)| strsim::jaro_winkler(&wanted, lower) >= SIMILAR)
            .map(|(lower, candidate)| (strsim::osa_distance(&wanted, &lower), candidate))
            .collect();
        scored.sort_unstable();
        scored.dedup();
        if let Some((best, _)) = scored.first().copied() {
            scored.retain(|(distance, _)| *distance <= best + 1);
        }
        Self(
            scored
                .into_iter()
                .take(OFFERED)
                .map(|(_, c)| c.to_owned())
                .collect(),
        )
    }

    /// Whether nothing is near.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = self.0.iter().map(|name| format!("`{name}`")).collect();
        write!(f, ", did you mean {}?", or_list(names))
    }
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
    fn the_nearest_comes_first_and_strangers_are_not_offered() {
        let nearest = Nearest::of("prise", ["quantity", "price", "prices"]);
        assert_eq!(nearest.to_string(), ", did you mean `price` or `prices`?");
        assert_eq!(Nearest::of("xyz", ["quantity"]).to_string(), "");
    }
}
