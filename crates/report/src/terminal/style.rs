//! Colour, width, and lines that fit it.

/// How to write for a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colour.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Whether to show all that there is, and not only the summary, the cautions and the figures.
    pub verbose: bool,
}

/// Columns where the terminal's are not known; then the narrowest and widest that are written for.
const DEFAULT_WIDTH: usize = 100;
const NARROWEST: usize = 40;
const WIDEST: usize = 200;

/// What a stretch of text is, with the code of its colour (SGR, ECMA-48 8.3.117).
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
    /// A style for an output: colour only on a terminal and only where `NO_COLOR`
    /// (<https://no-color.org>) is unset or empty; 100 columns where `width` is none.
    pub fn new(is_terminal: bool, no_color: Option<&str>, width: Option<usize>) -> Self {
        let color = is_terminal && no_color.is_none_or(str::is_empty);
        Self {
            color,
            width: width.unwrap_or(DEFAULT_WIDTH),
            verbose: false,
        }
    }

    /// Columns that are written for.
    pub(crate) fn columns(self) -> usize {
        self.width.clamp(NARROWEST, WIDEST)
    }

    /// Text in a colour, or as it is.
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        if self.color && paint != Paint::Plain {
            format!("\u{1b}[{}m{text}\u{1b}[0m", paint as u8)
        } else {
            text.to_owned()
        }
    }

    /// Text in lines that fit, the first one after `first`, the others after as many spaces. A
    /// word longer than a line stays whole.
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

/// The words of a text; an interval, and a number with its unit, are one word.
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
