//! Rows read from memory and from a file are the rows that were written.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::{Data, Form, Order};
use super::*;

fn file(text: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

/// A call's text and the place of its row, or an error.
type Given = Result<(String, String), String>;

/// The texts of the first `calls` calls.
fn texts(data: Data, calls: u64) -> Vec<Given> {
    let mut writer = Arc::new(data).writer().unwrap();
    let text = |call| {
        let mut out = String::new();
        let written = writer.text(call, &mut out);
        written.map_err(|error| error.to_string())?;
        Ok((out, writer.place()))
    };
    (0..calls).map(text).collect()
}

fn whole(rows: Rows, order: Order) -> Data {
    Data::new(None, Some(rows), Form::Json, order, 7).unwrap()
}

/// Asserts that the rows of `text` are `expected`, with their lines. Reads them from memory and from a file,
/// both in turn with wraparound and at random.
fn assert_rows(text: &str, format: RowFormat, expected: &[(String, u64)]) {
    let on_disk = file(text.as_bytes());
    let expected: Vec<Given> = expected
        .iter()
        .map(|(text, line)| Ok((text.clone(), format!(", line {line}"))))
        .collect();
    let memory = || Rows::in_memory(text.as_bytes(), format).unwrap();
    let kept = || Rows::in_file(on_disk.path(), format).unwrap();
    assert_eq!(kept().columns(), memory().columns());
    let calls = 2 * expected.len() + 1;
    for rows in [memory(), kept()] {
        let in_turn = texts(whole(rows, Order::InTurn), calls as u64);
        let around = expected.iter().cycle().take(calls).cloned();
        assert_eq!(in_turn, around.collect::<Vec<_>>());
    }
    let drawn = texts(whole(memory(), Order::Random), 50);
    assert_eq!(drawn, texts(whole(kept(), Order::Random), 50));
    assert!(drawn.iter().all(|row| expected.contains(row)));
}

fn rows<const N: usize>(rows: [(&str, u64); N]) -> [(String, u64); N] {
    rows.map(|(text, line)| (text.to_owned(), line))
}

#[test]
fn lines_of_json_come_in_turn_and_start_over_with_their_places() {
    assert_rows(
        "{\"a\":1}\n\n  {\"a\":2}\r\n{\"a\":\"\u{e4}\"}",
        RowFormat::JsonLines,
        &rows([
            ("{\"a\":1}", 1),
            ("  {\"a\":2}", 3),
            ("{\"a\":\"\u{e4}\"}", 4),
        ]),
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_row() {
    let expected = rows([("{\"a\":1}", 1), ("{\"a\":2}", 2)]);
    let text = "\u{feff}{\"a\":1}\n{\"a\":2}\n";
    assert_rows(text, RowFormat::JsonLines, &expected);
    let expected = rows([("{\"a\":\"1\"}", 2), ("{\"a\":\"2\"}", 3)]);
    assert_rows("\u{feff}a\n1\n2\n", RowFormat::Csv, &expected);
}

#[test]
fn values_with_line_breaks_in_quotes_are_one_row() {
    assert_rows(
        "name,note\r\nAda,\"one\r\ntwo, \"\"three\"\"\n\"\r\n\r\nBob,\n\"C\nd\",x\n",
        RowFormat::Csv,
        &rows([
            (r#"{"name":"Ada","note":"one\r\ntwo, \"three\"\n"}"#, 2),
            (r#"{"name":"Bob","note":""}"#, 6),
            (r#"{"name":"C\nd","note":"x"}"#, 7),
        ]),
    );
}

#[test]
fn a_wrong_row_is_named_by_its_own_line_whatever_ends_the_lines_before() {
    for (text, line) in [
        ("a,b\n1,2\n3\n", 3),
        ("a,b\r\n1,2\r\n3\r\n", 3),
        ("a,b\r\n\r\n1,2\r\n\n\r\n3", 6),
    ] {
        let words = format!("line {line}: 1 of 2 values; no value for the column \"b\"");
        let refused = Rows::in_memory(text.as_bytes(), RowFormat::Csv).unwrap_err();
        assert_eq!(refused.to_string(), words, "{text:?}");
        let on_disk = file(text.as_bytes());
        let kept = Rows::in_file(on_disk.path(), RowFormat::Csv).unwrap();
        let seen = texts(whole(kept, Order::InTurn), 2);
        assert_eq!(seen[1], Err(words), "{text:?}");
    }
}

#[test]
fn a_quote_that_is_never_closed_is_refused_where_it_opens() {
    let many = "x,y\n".repeat(2_000);
    for (text, line) in [
        ("a,b\n1,2\n3,\"4\n5,6\n".to_owned(), 3),
        ("a,b\r\n1,2\r\n\r\n\"3\",\"4\r\n5,6\r\n".to_owned(), 4),
        ("a,b\n\"1\n\",\"\"\"2\"\"\n".to_owned(), 3),
        ("a,b\n1,\"".to_owned(), 2),
        (format!("a,b\n{many}1,\"2\n{many}"), 2_002),
    ] {
        let words = format!("line {line}: this line opens a quote that is never closed");
        let refused = Rows::in_memory(text.as_bytes(), RowFormat::Csv).map(|_| ());
        assert_eq!(refused.unwrap_err().to_string(), words, "{text:?}");
        let on_disk = file(text.as_bytes());
        match Rows::in_file(on_disk.path(), RowFormat::Csv) {
            Err(refused) => assert_eq!(refused.to_string(), words, "{text:?}"),
            Ok(kept) => {
                let seen = texts(whole(kept, Order::InTurn), 2_010);
                let refused = seen.into_iter().find_map(Result::err);
                assert_eq!(refused, Some(words), "{text:?}");
            }
        }
    }
    for text in ["\"a,b\n1,2\n", "\u{feff}\"a\",\"b\n1,2\n"] {
        let refused = Rows::in_memory(text.as_bytes(), RowFormat::Csv).map(|_| ());
        let words = "line 1: this line opens a quote that is never closed";
        assert_eq!(refused.unwrap_err().to_string(), words, "{text:?}");
    }
    for text in [
        "\u{feff}\"a\",b\n\"1\n\"\"\",2",
        "a,b\n1\",2\"",
        "a,b\n\"1\"2,\"\"\"\"",
        "a,b\n\"\",\"2\"\r\n\r\n",
    ] {
        let rows = Rows::in_memory(text.as_bytes(), RowFormat::Csv).unwrap();
        assert_eq!(rows.count(), 1, "{text:?}");
    }
}

#[test]
fn texts_from_a_file_are_not_counted() {
    let rows = file(b"x\n1\n2\n");
    let rows = Rows::in_file(rows.path(), RowFormat::Csv).unwrap();
    let of_rows = Data::new(
        Some("{{x}}"),
        Some(rows.clone()),
        Form::Json,
        Order::InTurn,
        0,
    );
    assert_eq!(of_rows.unwrap().distinct(), None);
    let fixed = Data::new(Some("1"), Some(rows), Form::Json, Order::InTurn, 0);
    assert_eq!(fixed.unwrap().distinct(), Some(1));
}

#[test]
fn a_bad_row_fails_alone_and_has_its_line() {
    let json = file(b"{\"a\":1}\n{\"a\":}\n{\"b\":3}\n{\"a\":\"\xff\"}\n{\"a\":5}\n");
    let rows = Rows::in_file(json.path(), RowFormat::JsonLines).unwrap();
    let data = Data::new(Some("{{a}}"), Some(rows), Form::Json, Order::InTurn, 0).unwrap();
    let seen: Vec<String> = texts(data, 6)
        .into_iter()
        .map(|text| text.map_or_else(|error| error, |(text, _)| text))
        .collect();
    insta::assert_snapshot!(seen.join("\n"), @r#"
    1
    line 2, column 6: not JSON: expected value
    line 3: the row has no "a", which the template uses
    line 4, column 7: not UTF-8
    5
    1
    "#);
    let csv = file(b"a,b\n1,2\n\"3\n\",4,5\n6,7\n");
    let rows = Rows::in_file(csv.path(), RowFormat::Csv).unwrap();
    let seen: Vec<String> = texts(whole(rows.clone(), Order::InTurn), 3)
        .into_iter()
        .map(|text| text.map_or_else(|error| error, |(text, _)| text))
        .collect();
    insta::assert_snapshot!(seen.join("\n"), @r#"
    {"a":"1","b":"2"}
    line 3: 3 values, but the first line names 2 columns
    {"a":"6","b":"7"}
    "#);
    let drawn = texts(whole(rows, Order::Random), 100);
    let bad = drawn.iter().filter(|text| text.is_err()).count();
    assert!((10..60).contains(&bad), "{bad} of 100 drew the bad row");
}

#[test]
fn an_index_over_its_bound_finds_every_row() {
    let text: String = (0..1_000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    let on_disk = file(text.as_bytes());
    let open = || Rows::in_file(on_disk.path(), RowFormat::JsonLines).unwrap();
    for most in [1, 7, 64, 999, 1_000, 5_000] {
        let indexed = open().indexed_at(most).unwrap();
        let places = indexed.index.as_ref().unwrap().places.len();
        assert!(places <= most, "{places} of {most} places");
        assert_eq!(indexed.count(), 1_000);
        let mut reader = indexed.reader().unwrap();
        for n in [999, 0, 500, 501, 998, 1] {
            let row = indexed.row(&mut reader, n).unwrap();
            assert_eq!(reader.line(), n + 1, "{most} places");
            let mut text = String::new();
            row.append("n", false, &mut text);
            assert_eq!(text, n.to_string());
        }
    }
}

#[test]
fn a_row_without_end_is_not_taken_into_memory() {
    let endless = format!("a,b\n1,2\n\"{}", "x\n".repeat(200_000));
    let on_disk = file(endless.as_bytes());
    let bounded = Rows::in_file_bounded(on_disk.path(), RowFormat::Csv, 100_000).unwrap();
    let words =
        "line 3: a row of more than 100000 bytes; is a quote unclosed or a line break missing?";
    let refused = bounded.clone().indexed().unwrap_err().to_string();
    assert_eq!(refused, words);
    let seen = texts(whole(bounded, Order::InTurn), 3);
    assert!(seen[0].is_ok());
    assert_eq!(seen[1], Err(words.to_owned()));
    assert_eq!(seen[2], Err(words.to_owned()), "reading cannot continue");
}

#[test]
fn what_cannot_be_opened_or_has_no_rows_is_refused() {
    let refused = |path: &Path, format| Rows::in_file(path, format).unwrap_err().to_string();
    let none = file(b"a,b\n");
    assert!(refused(none.path(), RowFormat::Csv).starts_with("there are no rows"));
    let twice = file(b"a,a\n1,2\n");
    insta::assert_snapshot!(refused(twice.path(), RowFormat::Csv), @r#"line 1: duplicate column name "a""#);
    let absent = refused(Path::new("/nowhere/rows.csv"), RowFormat::Csv);
    assert!(absent.starts_with("cannot read its rows: "), "{absent}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With arbitrary values, including commas, quotes and line breaks, and with both line endings.
    #[test]
    fn any_values_come_back(
        values in prop::collection::vec(("[a,\"\r\n\u{e4}]{0,6}", "[b ,\"\n]{1,4}"), 1..20),
        crlf: bool,
    ) {
        let terminator = if crlf { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
        let written = |record: [&str; 2]| {
            let mut csv = csv::WriterBuilder::new()
                .terminator(terminator)
                .from_writer(Vec::new());
            csv.write_record(record).unwrap();
            String::from_utf8(csv.into_inner().unwrap()).unwrap()
        };
        let mut text = written(["x", "y"]);
        let mut expected = Vec::new();
        for (x, y) in &values {
            let line = 1 + text.matches('\n').count() as u64;
            expected.push((serde_json::json!({"x": x, "y": y}).to_string(), line));
            text.push_str(&written([x, y]));
        }
        assert_rows(&text, RowFormat::Csv, &expected);
        let lines: String = expected.iter().map(|(json, _)| format!("{json}\n")).collect();
        let expected: Vec<_> = expected.into_iter().map(|(json, _)| json).zip(1..).collect();
        assert_rows(&lines, RowFormat::JsonLines, &expected);
    }
}
