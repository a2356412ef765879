//! Text of a page. What goes in as it is must be a constant of this program or a number; everything
//! else, which a server or a study may have sent, is escaped.

use crate::escape;

/// A page, or a part of one.
#[derive(Default)]
pub(super) struct Page(String);

impl Page {
    /// Markup of this program.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A text of any origin.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
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
        self
    }

    /// A number with at most two decimals.
    pub(super) fn number(&mut self, number: f64) -> &mut Self {
        let rounded = (number * 100.0).round() / 100.0;
        self.0.push_str(&rounded.to_string());
        self
    }

    /// An element with a text in it.
    pub(super) fn element(
        &mut self,
        open: &'static str,
        text: &str,
        close: &'static str,
    ) -> &mut Self {
        self.raw(open).text(text).raw(close)
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}
