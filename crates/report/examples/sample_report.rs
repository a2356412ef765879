//! Writes the report of a synthetic run for inspection: `cargo run -p rpcgauge-report --example
//! sample_report -- report.html`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let is_name = |word: &OsString| !word.as_encoded_bytes().starts_with(b"-");
    let Some(path) = std::env::args_os().nth(1).filter(is_name) else {
        eprintln!("sample_report: missing the file to write, as in `sample_report report.html`");
        return ExitCode::from(2);
    };
    let builder = common::Builder {
        calls: 3_000,
        ..common::quickstart::quickstart()
    };
    let page = rpcgauge_report::html::render(&common::findings(&builder.build()));
    match std::fs::write(&path, &page) {
        Ok(()) => {
            println!("{} bytes", page.len());
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("sample_report: cannot write {}: {problem}", path.display());
            ExitCode::FAILURE
        }
    }
}
