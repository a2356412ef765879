//! A table with aligned columns that drops the least important ones to fit.

use crate::document::{Column, MOST_IN_TEXTS, Table};
use crate::escape::terminal as safe;

/// Spaces between columns.
const GAP: usize = 2;
/// The first column is not shortened below this.
const LEAST_NAME: usize = 12;

/// Lines of at most `width` columns as far as that can be, the header first; the titles of the columns
/// that were dropped.
pub(crate) fn fitted(table: &Table, width: usize) -> (Vec<String>, Vec<&'static str>) {
    let columns: Vec<Fitted<'_>> = fitted_columns(table);
    let mut shown: Vec<usize> = (0..columns.len())
        .filter(|c| !columns[*c].is_empty())
        .collect();
    let mut dropped = Vec::new();
    let total = |shown: &[usize]| {
        shown
            .iter()
            .map(|c| columns[*c].width() + GAP)
            .sum::<usize>()
    };
    while total(&shown) > width + GAP {
        let last = shown.iter().copied().filter(|c| columns[*c].head.rank > 0);
        let Some(last) = last.max_by_key(|c| columns[*c].head.rank) else {
            break;
        };
        shown.retain(|c| *c != last);
        dropped.push(columns[last].head.title);
    }
    let over = total(&shown).saturating_sub(width + GAP);
    let name = columns.first().map_or(0, |first| {
        let width = first.width();
        width.saturating_sub(over).max(LEAST_NAME.min(width))
    });
    let line = |cell: &dyn Fn(&Fitted<'_>) -> String| {
        let fields = shown.iter().map(|&c| {
            let width = if c == 0 { name } else { columns[c].width() };
            pad(&cell(&columns[c]), width, columns[c].head.right)
        });
        let fields: Vec<String> = fields.collect();
        fields.join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    let mut lines = vec![line(&|column| column.head.title.to_owned())];
    lines.extend((0..table.rows.len()).map(|row| line(&|column| column.cells[row].clone())));
    dropped.reverse();
    (lines, dropped)
}

/// A column with its cells.
struct Fitted<'a> {
    head: std::borrow::Cow<'a, Column>,
    cells: Vec<String>,
}

impl Fitted<'_> {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.chars().count());
        cells
            .chain([self.head.title.chars().count()])
            .max()
            .unwrap_or(0)
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(String::is_empty)
    }
}

/// The columns that a text shows; last the cautions, a letter each.
fn fitted_columns(table: &Table) -> Vec<Fitted<'_>> {
    use std::borrow::Cow;
    let columns = table.columns.iter().enumerate();
    let mut all: Vec<Fitted<'_>> = columns
        .filter(|(_, head)| head.rank <= MOST_IN_TEXTS)
        .map(|(index, head)| {
            let cells = table.rows.iter().map(|row| safe(&row[index]));
            Fitted {
                head: Cow::Borrowed(head),
                cells: units_aligned(cells.collect()),
            }
        })
        .collect();
    if !table.cautions.is_empty() {
        all.push(Fitted {
            head: Cow::Owned(Column::text("", 0)),
            cells: table
                .cautions
                .iter()
                .map(|labels| labels.letters.clone())
                .collect(),
        });
    }
    all
}

/// Figures, those whose unit has one letter filled up to two where others have two, so that the numbers
/// end in one column.
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

fn pad(text: &str, width: usize, right: bool) -> String {
    let length = text.chars().count();
    if length > width {
        // The end of a name tells variants apart better than its middle.
        let keep = width.saturating_sub(1);
        let head = keep / 2;
        let start: String = text.chars().take(head).collect();
        let end: String = text.chars().skip(length - (keep - head)).collect();
        return format!("{start}…{end}");
    }
    let space = " ".repeat(width - length);
    if right {
        space + text
    } else {
        format!("{text}{space}")
    }
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
        assert_eq!(dropped, Vec::<&str>::new());
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
