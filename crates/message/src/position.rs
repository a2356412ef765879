//! Places in texts.

/// Line and column of a byte, both from 1; columns count characters.
pub fn position(text: &str, byte: usize) -> (usize, usize) {
    let end = (0..=byte.min(text.len())).rfind(|at| text.is_char_boundary(*at));
    let before = &text[..end.unwrap_or(0)];
    let line = before.rsplit('\n').next().unwrap_or(before);
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}
