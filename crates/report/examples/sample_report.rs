//! Writes the report of a made-up run, to look at: `cargo run -p rpcgauge-report --example
//! sample_report -- report.html`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let is_name = |word: &OsString| !word.as_encoded_bytes().starts_with(b"-");
    let Some(path) = std::env::args_os().nth(1).filter(is_name) else {
        eprintln!("sample_report: name the file to write, as in `sample_report report.html`");
        return ExitCode::from(2);
    };
    let builder = common::Builder {
        calls: 3_000,
        ..common::quickstart::quickstart()
    };
    let page = rpcgauge_report::html::render(&common::findings(&builder.build()));
    let written = page.map_err(|e| e.to_string()).and_then(|page| {
        std::fs::write(&path, &page)
            .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        Ok(page.len())
    });
    match written {
        Ok(bytes) => {
            println!("{} bytes", bytes);
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("sample_report: {problem}");
            ExitCode::FAILURE
        }
    }
}
