//! Tables with aligned columns. The least important columns are dropped if they do not fit.

use crate::document::{Column, MAX_IN_TEXTS, Table};
use crate::escape::terminal as safe;
use crate::words::joined;

/// Spaces between columns.
const GAP: usize = 2;
/// The minimum width to which the first column is shortened.
const MIN_NAME: usize = 12;

/// Returns lines of at most `width` columns if possible, with the header first, and the titles of the dropped columns.
pub(crate) fn fitted(table: &Table, width: usize) -> (Vec<String>, Vec<String>) {
    let mut shown = columns(table);
    let mut dropped = Vec::new();
    let total = |shown: &[Fitted]| shown.iter().map(|column| column.width + GAP).sum::<usize>();
    while total(&shown) > width + GAP {
        let ranks = shown
            .iter()
            .enumerate()
            .map(|(at, column)| (column.head.rank, at));
        let Some((1.., last)) = ranks.max() else {
            break;
        };
        dropped.push(shown.remove(last).head.title.into_owned());
    }
    let over = total(&shown).saturating_sub(width + GAP);
    if let Some(name) = shown.first_mut() {
        let least = MIN_NAME.min(name.width);
        name.width = name.width.saturating_sub(over).max(least);
    }
    let line = |cell: &dyn Fn(&Fitted) -> String| {
        let fields = shown.iter().map(|column| column.padded(&cell(column)));
        joined(fields, &" ".repeat(GAP)).trim_end().to_owned()
    };
    let mut lines = vec![line(&|column| column.head.title.to_string())];
    lines.extend((0..table.rows.len()).map(|row| line(&|column| column.cells[row].clone())));
    dropped.reverse();
    (lines, dropped)
}

/// A column with its cells.
struct Fitted {
    head: Column,
    cells: Vec<String>,
    width: usize,
}

impl Fitted {
    fn of(head: Column, cells: Vec<String>) -> Self {
        let texts = cells.iter().map(String::as_str).chain([&*head.title]);
        let width = texts.map(|text| text.chars().count()).max();
        Self {
            width: width.unwrap_or(0),
            head,
            cells,
        }
    }

    /// A cell, padded or shortened to the column's width.
    fn padded(&self, text: &str) -> String {
        let (width, length) = (self.width, text.chars().count());
        if length > width {
            // The end of a name distinguishes variants better than its middle.
            let keep = width.saturating_sub(1);
            let head = keep / 2;
            let start: String = text.chars().take(head).collect();
            let end: String = text.chars().skip(length - (keep - head)).collect();
            return format!("{start}…{end}");
        }
        if self.head.right {
            format!("{text:>width$}")
        } else {
            format!("{text:<width$}")
        }
    }
}

/// The columns that a text shows, without empty ones, followed by a column with the letters of cautions.
fn columns(table: &Table) -> Vec<Fitted> {
    let columns = table.columns.iter().enumerate();
    let columns = columns.filter(|(_, head)| head.rank <= MAX_IN_TEXTS);
    let mut all: Vec<Fitted> = columns
        .map(|(index, head)| {
            let cells = table.rows.iter().map(|row| safe(&row[index]));
            Fitted::of(head.clone(), units_aligned(cells.collect()))
        })
        .collect();
    if !table.cautions.is_empty() {
        let letters = table.cautions.iter().map(|labels| labels.letters.clone());
        all.push(Fitted::of(Column::text("", 0), letters.collect()));
    }
    all.retain(|column| !column.cells.iter().all(String::is_empty));
    all
}

/// Pads one-letter units if other units have two letters, so that the numbers are aligned.
fn units_aligned(cells: Vec<String>) -> Vec<String> {
    let unit = |cell: &String| {
        let (number, unit) = cell.rsplit_once(' ')?;
        number
            .ends_with(|c: char| c.is_ascii_digit())
            .then(|| unit.chars().count())
    };
    if !cells.iter().any(|cell| unit(cell) == Some(2)) {
        return cells;
    }
    let aligned = cells.into_iter().map(|cell| match unit(&cell) {
        Some(1) => cell + " ",
        _ => cell,
    });
    aligned.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            columns: vec![
                Column::text("variant", 0),
                Column::number("p50", 0),
                Column::number("p99", 1),
            ],
            rows: vec![
                vec![
                    "grpc-over-a-unix-socket".to_owned(),
                    "1.92 ms".to_owned(),
                    "2.5 ms".to_owned(),
                ],
                vec!["rest".to_owned(), "14.41 ms".to_owned(), "–".to_owned()],
            ],
            ..Table::default()
        }
    }

    #[test]
    fn numbers_are_aligned() {
        let (lines, dropped) = fitted(&table(), 80);
        assert_eq!(dropped, Vec::<String>::new());
        assert_eq!(
            lines,
            [
                "variant                       p50     p99",
                "grpc-over-a-unix-socket   1.92 ms  2.5 ms",
                "rest                     14.41 ms       –",
            ]
        );
    }

    #[test]
    fn the_least_important_column_goes_first_then_names_are_shortened() {
        let (lines, dropped) = fitted(&table(), 26);
        assert_eq!(dropped, ["p99"]);
        assert_eq!(lines[1], "grpc-ov…x-socket   1.92 ms");
    }
}
