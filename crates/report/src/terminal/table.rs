//! A table with aligned columns that drops the least important ones to fit.

/// A column, and how long it stays.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    /// 0 always stays; the highest number is dropped first.
    pub(crate) rank: u8,
    pub(crate) right: bool,
}

/// Rows under columns.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Spaces between columns.
const GAP: usize = 2;
/// The first column is not shortened below this.
const LEAST_NAME: usize = 12;

impl Table {
    /// Lines of at most `width` columns as far as that can be, the header first; the titles of the
    /// columns that were dropped.
    pub(crate) fn lines(&self, width: usize) -> (Vec<String>, Vec<&'static str>) {
        let full: Vec<usize> = (0..self.columns.len())
            .map(|c| self.column_width(c))
            .collect();
        let mut shown: Vec<usize> = (0..self.columns.len())
            .filter(|c| !self.is_empty(*c))
            .collect();
        let mut dropped = Vec::new();
        let total = |shown: &[usize]| shown.iter().map(|c| full[*c] + GAP).sum::<usize>();
        while total(&shown) > width + GAP {
            let last = shown.iter().copied().filter(|c| self.columns[*c].rank > 0);
            let Some(last) = last.max_by_key(|c| self.columns[*c].rank) else {
                break;
            };
            shown.retain(|c| *c != last);
            dropped.push(self.columns[last].title);
        }
        let over = total(&shown).saturating_sub(width + GAP);
        let name = full
            .first()
            .map_or(0, |w| w.saturating_sub(over).max(LEAST_NAME.min(*w)));
        let line = |cells: &dyn Fn(usize) -> String| {
            let fields = shown.iter().map(|&c| {
                let width = if c == 0 { name } else { full[c] };
                pad(&cells(c), width, self.columns[c].right)
            });
            fields
                .collect::<Vec<_>>()
                .join(&" ".repeat(GAP))
                .trim_end()
                .to_owned()
        };
        let mut lines = vec![line(&|c| self.columns[c].title.to_owned())];
        lines.extend(
            self.rows
                .iter()
                .map(|row| line(&|c| row.get(c).cloned().unwrap_or_default())),
        );
        dropped.reverse();
        (lines, dropped)
    }

    fn column_width(&self, column: usize) -> usize {
        let cells = self
            .rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|c| c.chars().count());
        cells
            .chain([self.columns[column].title.chars().count()])
            .max()
            .unwrap_or(0)
    }

    fn is_empty(&self, column: usize) -> bool {
        column > 0
            && self
                .rows
                .iter()
                .all(|row| row.get(column).is_none_or(String::is_empty))
    }
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
        let column = |title, rank, right| Column { title, rank, right };
        Table {
            columns: vec![
                column("variant", 0, false),
                column("p50", 0, true),
                column("p99", 1, true),
            ],
            rows: vec![
                vec![
                    "grpc-over-a-unix-socket".to_owned(),
                    "1.92 ms".to_owned(),
                    "2.5 ms".to_owned(),
                ],
                vec!["rest".to_owned(), "14.41 ms".to_owned(), "–".to_owned()],
            ],
        }
    }

    #[test]
    fn numbers_are_aligned() {
        let (lines, dropped) = table().lines(80);
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
        let (lines, dropped) = table().lines(26);
        assert_eq!(dropped, ["p99"]);
        assert_eq!(lines[1], "grpc-ov…x-socket   1.92 ms");
    }
}
