//! Rows that stay in their file are those that would be read from it.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::rows::Kept;
use super::super::{Data, Form, Order, Rows};
use super::*;

fn file(text: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

/// The texts of the first calls, and where their rows stand.
fn texts(data: Data, calls: u64) -> Vec<Result<(String, String), String>> {
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

/// Both ways to take the rows of `text` come to the same.
fn assert_same(text: &str, format: RowFormat) {
    let on_disk = file(text.as_bytes());
    for order in [Order::InTurn, Order::Random] {
        let memory = Rows::from_text(text, format).unwrap();
        let kept = Rows::in_file(on_disk.path(), format).unwrap();
        assert_eq!(kept.columns(), memory.columns());
        assert_eq!(
            texts(whole(kept, order), 50),
            texts(whole(memory, order), 50),
            "{order:?}"
        );
    }
}

#[test]
fn lines_of_json_come_in_turn_and_around_with_their_places() {
    assert_same(
        "{\"a\":1}\n\n  {\"a\":2}\r\n{\"a\":\"\u{e4}\"}",
        RowFormat::JsonLines,
    );
}

#[test]
fn values_with_line_breaks_in_quotes_are_one_row() {
    assert_same(
        "name,note\r\nAda,\"one\r\ntwo, \"\"three\"\"\n\"\r\n\r\nBob,\n\"C\nd\",x\n",
        RowFormat::Csv,
    );
}

#[test]
fn texts_are_as_many_as_there_are_calls() {
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
    line 3: the row has no "a", which the template asks for
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
    let open = || RowFile::open(on_disk.path(), RowFormat::JsonLines).unwrap();
    for most in [1, 7, 64, 999, 1_000, 5_000] {
        let indexed = open().indexed_at(most).unwrap();
        let places = indexed.index.as_ref().unwrap().places.len();
        assert!(places <= most, "{places} of {most} places");
        assert_eq!(indexed.count(), 1_000);
        let mut reader = indexed.reader().unwrap();
        for n in [999, 0, 500, 501, 998, 1] {
            let row = reader.row(&indexed, n).unwrap();
            assert_eq!(row.line, n + 1, "{most} places");
            assert_eq!(row.value("n").as_u64(), Some(n));
        }
    }
}

#[test]
fn a_row_without_end_is_not_taken_into_memory() {
    let endless = format!("a,b\n1,2\n\"{}", "x\n".repeat(200_000));
    let on_disk = file(endless.as_bytes());
    let bounded = RowFile::open_bounded(on_disk.path(), RowFormat::Csv, 100_000).unwrap();
    let words = "line 3: a row of more than 100000 bytes; is a quote or a line not ended?";
    let refused = bounded.clone().indexed().unwrap_err().to_string();
    assert_eq!(refused, words);
    let seen = texts(whole(Rows(Kept::File(bounded)), Order::InTurn), 3);
    assert!(seen[0].is_ok());
    assert_eq!(seen[1], Err(words.to_owned()));
    assert_eq!(seen[2], Err(words.to_owned()), "there is no way on");
}

#[test]
fn what_cannot_be_opened_or_has_no_rows_is_refused() {
    let refused = |path: &Path, format| Rows::in_file(path, format).unwrap_err().to_string();
    let none = file(b"a,b\n");
    assert!(refused(none.path(), RowFormat::Csv).starts_with("there are no rows"));
    let twice = file(b"a,a\n1,2\n");
    insta::assert_snapshot!(refused(twice.path(), RowFormat::Csv), @r#"line 1: two columns have the name "a""#);
    let absent = refused(Path::new("/nowhere/rows.csv"), RowFormat::Csv);
    assert!(absent.starts_with("cannot read its rows: "), "{absent}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever values there are, with commas, quotes and line breaks in them.
    #[test]
    fn any_values_come_back_from_the_file(
        values in prop::collection::vec(("[a,\"\r\n\u{e4}]{0,6}", "[b ,\"\n]{1,4}"), 1..20)
    ) {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(["x", "y"]).unwrap();
        for (x, y) in &values {
            csv.write_record([x, y]).unwrap();
        }
        assert_same(&String::from_utf8(csv.into_inner().unwrap()).unwrap(), RowFormat::Csv);
        let lines: String = values
            .iter()
            .map(|(x, y)| format!("{}\n", serde_json::json!({"x": x, "y": y})))
            .collect();
        assert_same(&lines, RowFormat::JsonLines);
    }
}
