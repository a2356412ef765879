use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn data(template: &str, rows: Option<Rows>) -> Result<Data, DataError> {
    Data::new(Some(template), rows, Form::Json, Order::InTurn, 7)
}

fn texts(data: &Data, calls: u64) -> Vec<String> {
    let mut writer = Arc::new(data.clone()).writer().unwrap();
    let text = |call| {
        let mut out = String::new();
        writer.text(call, &mut out).unwrap();
        out
    };
    (0..calls).map(text).collect()
}

/// The place of a call's row.
fn place(data: &Data, call: u64) -> String {
    let mut writer = Arc::new(data.clone()).writer().unwrap();
    writer.text(call, &mut String::new()).unwrap();
    writer.place()
}

fn refused(template: &str) -> String {
    let rows = Rows::in_memory(b"name,city\nAda,London\n", RowFormat::Csv).unwrap();
    data(template, Some(rows)).unwrap_err().to_string()
}

#[test]
fn a_text_without_placeholders_is_every_calls() {
    let data = data(r#"{"a": "{ } {"}"#, None).unwrap();
    assert_eq!(data.distinct(), Some(1));
    assert_eq!(texts(&data, 2), [r#"{"a": "{ } {"}"#; 2]);
}

#[test]
fn the_number_is_the_calls() {
    let data = data(r#"{"id": {{n}}, "b": "{{ n }}{{"{{"}}n}}"}"#, None).unwrap();
    assert_eq!(data.distinct(), None);
    assert_eq!(texts(&data, 12)[11], r#"{"id": 11, "b": "11{{n}}"}"#);
}

#[test]
fn uuids_are_of_version_4_and_all_different() {
    let data = data("{{uuid}}", None).unwrap();
    let texts = texts(&data, 1000);
    for text in &texts {
        let lengths: Vec<usize> = text.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{text}");
        assert_eq!(text.as_bytes()[14], b'4', "{text}");
        assert!(b"89ab".contains(&text.as_bytes()[19]), "{text}");
    }
    assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), 1000);
}

#[test]
fn random_numbers_reach_both_ends_and_no_further() {
    let data = data("{{random_int -1 2}}", None).unwrap();
    let seen: BTreeSet<String> = texts(&data, 200).into_iter().collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["-1", "0", "1", "2"]);
}

#[test]
fn a_sequence_begins_where_it_is_told() {
    let data = data("{{sequence 1000}}", None).unwrap();
    assert_eq!(texts(&data, 3), ["1000", "1001", "1002"]);
    assert!(refused("{{sequence}}").contains("{{sequence A}} takes the first number"));
    assert!(refused("{{sequence -1}}").contains("{{sequence A}} takes the first number"));
}

#[test]
fn a_choice_is_each_of_its_texts_and_nothing_else() {
    let data = data("{{choice red \"dark blue\" 3}}", None).unwrap();
    let mut chosen = texts(&data, 100);
    chosen.sort();
    chosen.dedup();
    assert_eq!(chosen, ["3", "dark blue", "red"]);
    for wrong in ["{{choice}}", "{{choice red}}", "{{choice red \"blue}}"] {
        assert!(
            refused(wrong).contains("{{choice A B}} takes two or more"),
            "{wrong}"
        );
    }
}

#[test]
fn a_seed_repeats_its_texts_and_another_does_not() {
    let of = |seed| {
        let data = Data::new(Some("{{uuid}}"), None, Form::Plain, Order::InTurn, seed).unwrap();
        texts(&data, 5)
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn rows_fill_their_columns_escaped_inside_a_string() {
    let rows = Rows::in_memory(
        b"name,age\n\"Ada \"\"the first\"\"\",36\nBob,7\n",
        RowFormat::Csv,
    )
    .unwrap();
    let data = data(r#"{"name": "Dr {{name}}", "age": {{age}}}"#, Some(rows)).unwrap();
    assert_eq!(data.distinct(), Some(2));
    let expected = [
        r#"{"name": "Dr Ada \"the first\"", "age": 36}"#,
        r#"{"name": "Dr Bob", "age": 7}"#,
        r#"{"name": "Dr Ada \"the first\"", "age": 36}"#,
    ];
    assert_eq!(texts(&data, 3), expected);
    assert_eq!(place(&data, 1), ", line 3");
}

#[test]
fn a_body_that_is_no_json_takes_values_as_they_are() {
    let rows = Rows::in_memory(b"name\n\"a\"\"b\"\n", RowFormat::Csv).unwrap();
    let data = Data::new(
        Some("x=\"{{name}}\""),
        Some(rows),
        Form::Plain,
        Order::InTurn,
        0,
    );
    assert_eq!(texts(&data.unwrap(), 1), ["x=\"a\"b\""]);
}

#[test]
fn json_lines_are_messages_or_fill_a_template() {
    let text = "{\"a\": {\"b\": [1, 2]}, \"s\": \"x\\ny\"}\n\n  {\"a\":null,\"s\":\"\"}\n";
    let rows = Rows::in_memory(text.as_bytes(), RowFormat::JsonLines).unwrap();
    let whole = Data::new(None, Some(rows.clone()), Form::Json, Order::InTurn, 0).unwrap();
    assert_eq!(texts(&whole, 2)[1], "  {\"a\":null,\"s\":\"\"}");
    assert_eq!(place(&whole, 1), ", line 3");
    let filled = data(r#"{"of": {{a}}, "note": "<{{s}}>"}"#, Some(rows)).unwrap();
    let expected = [
        r#"{"of": {"b": [1, 2]}, "note": "<x\ny>"}"#,
        r#"{"of": null, "note": "<>"}"#,
    ];
    assert_eq!(texts(&filled, 2), expected);
}

#[test]
fn json_values_are_inserted_as_written() {
    let line = r#"{"id": 12345678901234567890123, "price": 1.10, "of": {"b": 1, "a": 2}}"#;
    let rows = Rows::in_memory(line.as_bytes(), RowFormat::JsonLines).unwrap();
    let template = r#"{"id": {{id}}, "price": "{{price}} EUR", "of": {{of}}, "text": "{{of}}"}"#;
    let data = data(template, Some(rows)).unwrap();
    assert_eq!(
        texts(&data, 1),
        [
            r#"{"id": 12345678901234567890123, "price": "1.10 EUR", "of": {"b": 1, "a": 2}, "text": "{\"b\": 1, \"a\": 2}"}"#
        ]
    );
}

#[test]
fn a_column_may_have_a_built_in_name_where_nothing_asks_for_it() {
    let rows = Rows::in_memory(b"n,name\n7,Ada\n", RowFormat::Csv).unwrap();
    let whole = Data::new(None, Some(rows.clone()), Form::Json, Order::InTurn, 0).unwrap();
    assert_eq!(texts(&whole, 1), [r#"{"n":"7","name":"Ada"}"#]);
    let filled = data("{{name}}", Some(rows)).unwrap();
    assert_eq!(texts(&filled, 1), ["Ada"]);
}

#[test]
fn a_row_of_csv_is_an_object_of_strings() {
    let rows = Rows::in_memory(b"id,name\n7,Ada\n", RowFormat::Csv).unwrap();
    let data = Data::new(None, Some(rows), Form::Json, Order::InTurn, 0).unwrap();
    assert_eq!(texts(&data, 1), [r#"{"id":"7","name":"Ada"}"#]);
}

#[test]
fn rows_drawn_at_random_all_come() {
    let rows = Rows::in_memory(b"x\na\nb\nc\n", RowFormat::Csv).unwrap();
    let data = Data::new(Some("{{x}}"), Some(rows), Form::Plain, Order::Random, 3).unwrap();
    assert_eq!(data.distinct(), None);
    let texts = texts(&data, 300);
    for value in ["a", "b", "c"] {
        let count = texts.iter().filter(|text| *text == value).count();
        assert!((50..150).contains(&count), "{value}: {count} of 300");
    }
}

#[test]
fn what_is_wrong_with_a_template_has_its_place() {
    insta::assert_snapshot!(refused("{\n  \"a\": {{nam}}}"), @r#"line 2, column 8: unknown placeholder "nam"; did you mean "name" or "n"?"#);
    insta::assert_snapshot!(refused("{\"a\": {{name}"), @r#"line 1, column 7: the placeholder is not closed; end it with }}, or write {{"{{"}} for the two braces themselves"#);
    insta::assert_snapshot!(refused("{{random_int 5 1}}"), @"line 1, column 1: {{random_int A B}} takes two 64-bit integers, the smaller one first");
    insta::assert_snapshot!(refused("{{n 5}}"), @"line 1, column 1: {{n}} takes no arguments");
    insta::assert_snapshot!(refused("{{}}"), @r#"line 1, column 1: unknown placeholder ""; expected one of n, uuid, sequence, random_int, choice, base64, city, name"#);
    insta::assert_snapshot!(refused("{{base64}}"), @"line 1, column 1: {{base64 X}} takes a column or another placeholder");
    insta::assert_snapshot!(refused("{{base64 base64 n}}"), @"line 1, column 1: {{base64 X}} takes a column or another placeholder");
    insta::assert_snapshot!(refused("{{base64 nam}}"), @r#"line 1, column 1: unknown placeholder "nam"; did you mean "name" or "n"?"#);
}

#[test]
fn bytes_are_written_in_base64() {
    let rows = Rows::in_memory(b"key\n\"a\"\"}}\"\n", RowFormat::Csv).unwrap();
    let template = r#"{"a":"{{base64 key}}","b":"{{base64 "}}x"}}","c":"{{base64 n}}"}"#;
    let data = Data::new(Some(template), Some(rows), Form::Json, Order::InTurn, 1).unwrap();
    assert_eq!(
        texts(&data, 1),
        [r#"{"a":"YSJ9fQ==","b":"fX14","c":"MA=="}"#]
    );
}

#[test]
fn what_is_wrong_with_rows_has_its_place() {
    let csv = |text: &[u8]| {
        Rows::in_memory(text, RowFormat::Csv)
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(csv(b"a,b\n1,2\n3\n"), @r#"line 3: 1 of 2 values; no value for the column "b""#);
    insta::assert_snapshot!(csv(b"a,b\n1,\xff\n"), @r#"line 2: the value of "b" is not UTF-8"#);
    insta::assert_snapshot!(csv(b"a,\xff\n1,2\n"), @"line 1: value 2 is not UTF-8");
    insta::assert_snapshot!(csv(b"a,a\n1,2\n"), @r#"line 1: duplicate column name "a""#);
    let lines = |text: &str| {
        Rows::in_memory(text.as_bytes(), RowFormat::JsonLines)
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(lines("{\"a\": 1}\n{\"a\": }\n"), @"line 2, column 7: not JSON: expected value");
    insta::assert_snapshot!(lines("[1]\n"), @"line 1: not a JSON object: invalid type: sequence, expected a map");
    let missing = Rows::in_memory(b"{\"a\": 1}\n{\"b\": 1}\n", RowFormat::JsonLines).unwrap();
    insta::assert_snapshot!(data("{{a}}", Some(missing)).unwrap_err(), @r#"line 2: the row has no "a", which the template uses"#);
    let taken = Rows::in_memory(b"uuid\n1\n", RowFormat::Csv).unwrap();
    insta::assert_snapshot!(data("{{uuid}}", Some(taken)).unwrap_err(), @r#"line 1, column 1: the rows have a column "uuid", and {{uuid}} is built in; rename the column"#);
    let none = Rows::in_memory(b"a\n", RowFormat::Csv).unwrap();
    insta::assert_snapshot!(data("{{a}}", Some(none)).unwrap_err(), @"there are no rows; provide a file with at least one row, or omit the file");
}

proptest! {
    #[test]
    fn any_text_is_a_template_or_refused(text in any::<String>()) {
        if let Ok(data) = data(&text, None) {
            let _ = texts(&data, 2);
        }
    }

    #[test]
    fn a_value_inside_a_string_never_leaves_it(value in any::<String>()) {
        let line = serde_json::json!({ "v": value }).to_string();
        let rows = Rows::in_memory(line.as_bytes(), RowFormat::JsonLines).unwrap();
        let data = data(r#"{"a": "{{v}}"}"#, Some(rows)).unwrap();
        let read: serde_json::Value = serde_json::from_str(&texts(&data, 1)[0]).unwrap();
        prop_assert_eq!(read["a"].as_str(), Some(value.as_str()));
    }
}

#[test]
fn the_further_texts_of_a_call_have_its_row_and_number() {
    let rows = || Rows::in_memory(b"name,token\nAda,x\nBob,\"y\"\"\"\n", RowFormat::Csv).unwrap();
    let with = |data: Data, fields: &[&str]| {
        let mut fields = fields.iter();
        Arc::new(
            fields
                .try_fold(data, |data, field| data.with_field(field))
                .unwrap(),
        )
    };
    let first = data("{{name}}", Some(rows())).unwrap();
    let all = with(first, &["Bearer {{token}}", "{{n}} {{name}}"]);
    let mut writer = all.writer().unwrap();
    for (call, expected) in [(0, ["Bearer x", "0 Ada"]), (3, ["Bearer y\"", "3 Bob"])] {
        writer.text(call, &mut String::new()).unwrap();
        assert_eq!(writer.fields(), expected);
    }
    assert_eq!((all.distinct(), all.has_text()), (None, true));
    // A field decides how many calls differ.
    let constant = data("{}", Some(rows())).unwrap();
    assert_eq!(constant.distinct(), Some(1));
    assert_eq!(with(constant, &["{{token}}"]).distinct(), Some(2));
    let alone = with(Data::without_text(7), &["a"]);
    assert_eq!((alone.distinct(), alone.has_text()), (Some(1), false));
    let unknown = Data::without_text(7).with_field("{{token}}").unwrap_err();
    assert!(
        unknown
            .to_string()
            .contains("unknown placeholder \"token\""),
        "{unknown}"
    );
}
