//! Builds the text of a page. Markup must be a constant of this program. Values may come from a server or a study, so
//! they are always escaped.

use std::fmt::Display;

use crate::escape;

/// A page, or a part of one.
#[derive(Default)]
pub(super) struct Page(String);

impl Page {
    /// Appends markup without values.
    pub(super) fn raw(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    /// Appends markup with an escaped value for each `{}`.
    pub(super) fn put(&mut self, markup: &'static str, values: &[&dyn Display]) {
        let mut parts = markup.split("{}");
        self.raw(parts.next().unwrap_or_default());
        debug_assert_eq!(parts.clone().count(), values.len(), "{markup}");
        let mut values = values.iter();
        for part in parts {
            self.text(&values.next().map(ToString::to_string).unwrap_or_default());
            self.raw(part);
        }
    }

    /// Appends the same markup once for each value.
    pub(super) fn each<T: Display>(
        &mut self,
        markup: &'static str,
        values: impl IntoIterator<Item = T>,
    ) {
        for value in values {
            self.put(markup, &[&value]);
        }
    }

    fn text(&mut self, text: &str) {
        for character in escape::page(text).chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#x27;"),
                other => self.0.push(other),
            }
        }
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// A number with at most two decimals.
pub(super) fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// A share in per cent, for a CSS style.
pub(super) fn percent(share: f64) -> f64 {
    rounded(share * 100.0)
}

/// The text, or `None` if it is empty.
pub(super) fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
