//! Compares docs/hostile.md with the cases.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::PARTS;

/// The page's rows by heading, without the column that describes the server.
fn documented_rows(page: &str) -> String {
    let mut documented = String::new();
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            writeln!(documented, "{heading}").unwrap();
        } else if let Some(row) = line.strip_prefix("| ").filter(|row| !is_heading(row)) {
            let cells: Vec<&str> = row
                .trim_end_matches('|')
                .split('|')
                .map(str::trim)
                .collect();
            let [name, over, does, outcome] = cells[..] else {
                panic!("a row of another shape: {line}")
            };
            assert!(!does.is_empty(), "what does it do? {line}");
            writeln!(documented, "    {name} | {over} | {outcome}").unwrap();
        }
    }
    documented
}

fn is_heading(row: &str) -> bool {
    row.starts_with("server |") || row.starts_with("---")
}

#[test]
fn the_page_has_every_case_with_its_outcome() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hostile.md");
    let page = fs::read_to_string(path).expect("the page");
    let mut run = String::new();
    for (heading, cases) in PARTS {
        writeln!(run, "{heading}").unwrap();
        for case in cases() {
            let (name, over, outcome) = (case.name, case.over, case.outcome);
            writeln!(run, "    {name} | {over} | {outcome}").unwrap();
        }
    }
    let documented = documented_rows(&page);
    assert!(
        documented.ends_with(&run),
        "docs/hostile.md lists\n{documented}\nbut the cases are\n{run}"
    );
}
