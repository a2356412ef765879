//! Lays out tables and texts in lines that fit a terminal.

use std::ops::Range;

/// The indent of a row, and of the columns that do not fit into its first line.
const INDENT: usize = 2;
const DEEPER: usize = 6;
/// The spaces between columns.
const GAP: usize = 2;
/// The minimum width of the last column, which is prose; with less, it moves to its own line.
const MIN_PROSE: usize = 30;

/// A table that is aligned when it is printed. All columns are left-aligned, since few of them contain numbers.
pub(super) struct Table(Vec<Vec<String>>);

impl Table {
    pub(super) fn of(head: impl IntoIterator<Item = String>) -> Self {
        Self(vec![head.into_iter().collect()])
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.push(cells.into_iter().collect());
    }

    /// The rows, each on one line if all columns fit into `width`, otherwise on as many lines as it needs, with the
    /// columns still aligned. The last column is prose, which may wrap.
    pub(super) fn text(&self, width: usize) -> String {
        let widths = self.widths();
        let lines = self.lines(&widths, width);
        let mut text = String::new();
        for row in &self.0 {
            for (number, columns) in lines.iter().enumerate() {
                let mut first = " ".repeat(if number == 0 { INDENT } else { DEEPER });
                let Some(last) = columns.clone().last() else {
                    continue;
                };
                for column in columns.start..last {
                    let padding = widths[column] - row[column].chars().count() + GAP;
                    first += &row[column];
                    // A width in a format string has only 16 bits.
                    first += &" ".repeat(padding);
                }
                let line = if last + 1 == row.len() {
                    wrap(&first, &row[last], width)
                } else {
                    (first + &row[last]).trim_end().to_owned() + "\n"
                };
                if number == 0 || !line.trim().is_empty() {
                    text += &line;
                }
            }
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.0.first().map_or(0, Vec::len);
        let width = |column: usize| {
            let cells = self.0.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        (0..columns).map(width).collect()
    }

    /// The columns on each line of a row.
    fn lines(&self, widths: &[usize], width: usize) -> Vec<Range<usize>> {
        let mut lines = Vec::new();
        let (mut start, mut used) = (0, INDENT);
        for (column, wanted) in widths.iter().enumerate() {
            let needed = if column + 1 == widths.len() {
                (*wanted).min(MIN_PROSE)
            } else {
                *wanted
            };
            if column > start && used + needed > width {
                lines.push(start..column);
                (start, used) = (column, DEEPER);
            }
            used += wanted + GAP;
        }
        lines.push(start..widths.len());
        lines
    }
}

/// Wraps a text into lines of at most `width` columns. The first line begins with `first`; the others are indented by
/// its length. A word longer than a line is not broken.
pub(super) fn wrap(first: &str, text: &str, width: usize) -> String {
    let indent = first.chars().count();
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if last.is_empty() {
            last.push_str(word);
        } else if indent + last.chars().count() + 1 + word.chars().count() <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    let gap = format!("\n{}", " ".repeat(indent));
    format!("{first}{}", lines.join(&gap)).trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::of(["name", "calls", "protocol", "question"].map(str::to_owned));
        let row = |cells: [&str; 4]| cells.map(str::to_owned);
        table.row(row([
            "grpc",
            "hello",
            "gRPC on HTTP/2",
            "Is it faster by gRPC than by REST?",
        ]));
        table.row(row(["rest-json", "list n=10", "REST on HTTP/1.1", ""]));
        table
    }

    #[test]
    fn a_cell_may_be_longer_than_the_width_of_a_format() {
        let mut table = table();
        let long = "x".repeat(70_000);
        table.row([long.as_str(), "", "", ""].map(str::to_owned));
        let text = table.text(usize::MAX);
        let end = |name: &str| text.lines().find_map(|line| line.find(name));
        assert_eq!(end("hello"), end("list n=10"));
        assert!(end("hello") > Some(70_000));
    }

    #[test]
    fn a_wide_table_has_a_line_a_row() {
        let lines = [
            "  name       calls      protocol          question",
            "  grpc       hello      gRPC on HTTP/2    Is it faster by gRPC than by REST?",
            "  rest-json  list n=10  REST on HTTP/1.1",
        ];
        assert_eq!(table().text(usize::MAX).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn what_has_no_room_stands_below() {
        let lines = [
            "  name       calls      protocol",
            "      question",
            "  grpc       hello      gRPC on HTTP/2",
            "      Is it faster by gRPC than by REST?",
            "  rest-json  list n=10  REST on HTTP/1.1",
        ];
        assert_eq!(table().text(45).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn every_line_fits_where_its_words_do() {
        for width in 40..100 {
            for line in table().text(width).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}
