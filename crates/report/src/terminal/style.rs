//! Colour, width and line wrapping.

/// How to write for a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colour.
    pub color: bool,
    /// The width of the terminal in columns.
    pub width: usize,
    /// Whether to show everything instead of only the summary, the cautions and the figures.
    pub verbose: bool,
}

/// The width if the width of the terminal is unknown.
const DEFAULT_WIDTH: usize = 100;
/// The minimum and maximum width that lines are wrapped for.
const NARROWEST: usize = 40;
const WIDEST: usize = 200;

/// The role of a text, with the code of its colour (SGR, ECMA-48 8.3.117).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain = 0,
    Heading = 1,
    Quiet = 2,
    Good = 32,
    Open = 33,
    Even = 34,
    Bad = 35,
}

impl Style {
    /// A style for an output: colour only on a terminal and only if `NO_COLOR`
    /// (<https://no-color.org>) is unset or empty; 100 columns if `width` is `None`.
    pub fn new(is_terminal: bool, no_color: Option<&str>, width: Option<usize>) -> Self {
        let color = is_terminal && no_color.is_none_or(str::is_empty);
        Self {
            color,
            width: width.unwrap_or(DEFAULT_WIDTH),
            verbose: false,
        }
    }

    /// The width that lines are wrapped for.
    pub(crate) fn columns(self) -> usize {
        self.width.clamp(NARROWEST, WIDEST)
    }

    /// Text in the colour of its role, or unchanged without colour.
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        if self.color && paint != Paint::Plain {
            format!("\u{1b}[{}m{text}\u{1b}[0m", paint as u8)
        } else {
            text.to_owned()
        }
    }

    /// Wraps text into lines that fit. The first line follows `first`, and the others are indented by its width. A
    /// word longer than a line is not split.
    pub fn wrap(self, first: &str, text: &str) -> String {
        let indent = first.chars().count();
        let room = self.columns().saturating_sub(indent).max(20);
        let mut lines = vec![String::new()];
        for word in &unbroken(text) {
            let line = lines.last_mut().expect("there is always a line");
            let used = line.chars().count();
            if used == 0 {
                line.push_str(word);
            } else if used + 1 + word.chars().count() <= room {
                line.push(' ');
                line.push_str(word);
            } else {
                lines.push(word.clone());
            }
        }
        let gap = format!("\n{}", " ".repeat(indent));
        format!("{first}{}", lines.join(&gap))
    }
}

/// The words of a text. An interval is one word, as is a number with its unit.
fn unbroken(text: &str) -> Vec<String> {
    const UNITS: [&str; 8] = ["ns", "µs", "ms", "s", "B", "kB", "MB", "GB"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        let is_unit = UNITS.contains(&word.trim_end_matches(['.', ';', ',', ')']));
        match words.last_mut() {
            Some(last)
                if (is_unit && last.ends_with(|c: char| c.is_ascii_digit()))
                    || (last.starts_with('[') && last.ends_with(',')) =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}
