//! Tests of CSV, Markdown, JSON and files.

use std::fs;

use rpcgauge_study::printable::is_printable;

use crate::fixture::{findings, linked, live, quickstart, two};
use crate::{Style, csv, files, html, json, markdown, terminal};

/// The fields of a CSV text (RFC 4180) whose rows must all have the same number of fields.
fn fields(text: &str) -> Vec<Vec<String>> {
    assert!(text.ends_with("\r\n"), "it ends with a line end");
    let mut reader = ::csv::ReaderBuilder::new();
    let mut reader = reader.has_headers(false).from_reader(text.as_bytes());
    reader.deserialize().collect::<Result<_, _>>().unwrap()
}

fn column(name: &str) -> usize {
    csv::columns().iter().position(|c| *c == name).unwrap()
}

#[test]
fn csv_has_one_row_per_trial_under_stable_columns() {
    let findings = quickstart::findings();
    let rows = fields(&csv::render(findings));
    assert_eq!(rows[0], csv::columns());
    assert_eq!(rows.len() as u64, 1 + findings.progress.planned);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    for (row, index) in rows[1..].iter().zip(0..) {
        assert_eq!(row[0], format!("{index}"), "in the plan's order");
        let measured = row[column("outcome")] == "measured";
        assert_eq!(measured, row[column("reason")].is_empty());
        assert_eq!(measured, row[column("elapsed_ns")].parse::<u64>().is_ok());
        let marked = measured && row[column("timing")] == "stages";
        assert_eq!(row[column("marks_bytes")], if marked { "76" } else { "" });
        assert_eq!(measured, !row[column("connects_failed")].is_empty());
        let delays = [
            "send_delay_p50_ns",
            "send_delay_p99_ns",
            "send_delay_max_ns",
        ];
        let delays = delays.map(|name| row[column(name)].parse::<u64>().ok());
        assert_eq!(measured, delays.iter().all(Option::is_some));
        assert!(delays.is_sorted(), "{delays:?}");
        let is_plain = row[column("variant")] == "gzip-one-gzip";
        assert_eq!(is_plain, row[column("uncompressed_responses")] == "40");
    }
}

/// Ensures that a new column is documented at its position in the file.
#[test]
fn the_documentation_names_the_columns_of_csv_in_their_order() {
    const PAGE: &str = include_str!("../../../docs/report-schema.md");
    let (_, section) = PAGE.split_once("\n## trials.csv\n").unwrap();
    let words = section.split('`').skip(1).step_by(2);
    let names = csv::columns();
    let mut documented = words.filter(|word| names.iter().any(|name| name == word));
    for name in &names {
        assert_eq!(documented.next(), Some(&**name), "docs/report-schema.md");
    }
}

#[test]
fn csv_has_what_the_link_did() {
    let rows = fields(&csv::render(&findings(&linked(1))));
    let values = |name: &str| {
        rows[1..]
            .iter()
            .map(|row| &*row[column(name)])
            .collect::<Vec<_>>()
    };
    assert!(values("link").iter().all(|name| *name == "wlan"));
    let not_held = values("link_held")
        .into_iter()
        .filter(|held| *held == "false");
    assert_eq!(not_held.count(), 1);
    assert!(
        values("link_packets")
            .iter()
            .all(|packets| *packets == "1000")
    );
    let loopback = fields(&csv::render(&findings(&two(2.0).build())));
    assert!(["", "loopback"].contains(&&*loopback[1][column("link")]));
    assert_eq!(loopback[1][column("link_held")], "");
}

#[test]
fn a_reason_cannot_be_a_formula() {
    let mut findings = quickstart::findings().clone();
    findings.failures[0].reason = "=HYPERLINK(\"x\"),\r\nnext".to_owned();
    let index = findings.failures[0].index as usize;
    let rows = fields(&csv::render(&findings));
    assert_eq!(
        rows[index + 1][column("reason")],
        "'=HYPERLINK(\"x\"),  next"
    );
}

/// Puts control characters into every text that may come from a server, a study or a machine.
#[test]
fn no_output_holds_what_cannot_be_shown() {
    let steering = "\u{1b}[31m\u{7}\u{9b}\u{ad}\u{61c}\u{202e}\u{2028}\u{e0041}";
    let hostile = || steering.to_owned();
    let mut found = quickstart::findings().clone();
    found.study.name += steering;
    found.study.question += steering;
    found.warnings.push(hostile());
    found.failures[0].reason = hostile();
    found.failures[0].log = format!("{steering}\n{steering}");
    for pair in &mut found.comparisons {
        pair.question += steering;
    }
    for claim in &mut found.claims {
        claim.says += steering;
        claim.source += steering;
    }
    for variant in &mut found.variants {
        variant.not_run.push(hostile());
        let figures = variant
            .cells
            .iter_mut()
            .filter_map(|cell| cell.figures.as_mut());
        for error in figures.flat_map(|figures| &mut figures.errors) {
            error.text = hostile();
        }
    }
    if let Some(environment) = &mut found.environment {
        environment.processor += steering;
        let versions = [(hostile(), hostile())];
        environment.subjects.insert(hostile(), versions.into());
    }
    let mut service = findings(&live());
    service.study.question += steering;
    for found in [found, service] {
        let outputs = [
            csv::render(&found).replace("\r\n", "\n"),
            html::render(&found),
            json::render(&found).unwrap(),
            markdown::render(&found),
            terminal::render(&found, Style::new(false, None, None)),
        ];
        for output in outputs {
            let steers = |c: &char| *c != '\n' && !is_printable(*c);
            assert_eq!(output.chars().find(steers), None, "{output}");
        }
    }
}

#[test]
fn markdown_for_a_pull_request() {
    insta::assert_snapshot!(markdown::render(quickstart::findings()));
}

#[test]
fn markdown_holds_no_html_of_others() {
    let text = markdown::render(quickstart::findings());
    let own = ["<details>", "</details>", "<summary>", "</summary>", "<br>"];
    let left = own
        .into_iter()
        .fold(text, |text, tag| text.replace(tag, ""));
    assert!(!left.contains('<'), "{left}");
}

#[test]
fn json_says_nothing_of_what_is_not_known() {
    let text = json::render(&findings(&live())).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(!text.contains("null"), "{text}");
    let cell = &value["variants"][0]["cells"][0];
    assert_eq!(cell["figures"]["cpu"].get("server"), None, "a live service");
}

#[test]
fn files_are_written_whole_and_again() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let written = files::write_all(folder.path(), quickstart::findings()).unwrap();
        assert_eq!(written.len(), 4);
    }
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["report.html", "report.json", "report.md", "trials.csv"]
    );
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone");
    let error = files::write_all(&gone, quickstart::findings())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("gone/report.json") && error.contains("permissions"),
        "{error}"
    );
    assert_eq!(error.matches("gone").count(), 1, "{error}");
}
