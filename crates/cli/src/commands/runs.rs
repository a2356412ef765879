//! `rpcgauge runs`: lists run directories.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use rpcgauge_report::files;
use rpcgauge_study::run::RunInfo;
use serde::Serialize;

use super::measure::RUNS;
use crate::args::RunsArgs;
use crate::exit::{Failure, Outcome, print_json, print_plain};
use crate::show;

/// A run directory.
#[derive(Debug, Serialize)]
struct Listed {
    directory: PathBuf,
    created_at: String,
    study: String,
    question: String,
    /// The report, if it has been written.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<PathBuf>,
}

pub(crate) fn run(args: &RunsArgs) -> Outcome {
    let folder = args.folder.as_deref().unwrap_or(Path::new(RUNS));
    let entries = fs::read_dir(folder).map_err(|error| {
        let folder = folder.display();
        Failure::input(format!(
            "cannot read {folder}: {error}; runs are written to {RUNS}/ in the folder in which rpcgauge is started"
        ))
    })?;
    let directories = entries.flatten().map(|entry| entry.path());
    // Other folders, and runs of other versions, are left out.
    let mut listed: Vec<Listed> = directories.filter_map(|path| listed(&path)).collect();
    listed.sort_by(|a, b| {
        let key = |one: &Listed| (one.created_at.clone(), one.directory.clone());
        key(b).cmp(&key(a))
    });
    if args.json {
        return print_json(&listed);
    }
    let mut text = String::new();
    for run in &listed {
        // Writing to a String cannot fail.
        let directory = run.directory.display();
        let _ = writeln!(text, "{directory}  {}  {}", run.created_at, run.study);
        let _ = writeln!(text, "{}", show::wrapped("    ", &run.question));
    }
    text += if listed.is_empty() {
        "There are no runs here.\n"
    } else {
        "\n`rpcgauge report DIR --format summary` prints the result of one in short.\n"
    };
    print_plain(&text)
}

fn listed(directory: &Path) -> Option<Listed> {
    let (info, question) = RunInfo::with_question(directory).ok()?;
    let report = directory.join(files::HTML);
    Some(Listed {
        directory: directory.to_owned(),
        created_at: info.created_at,
        study: info.study,
        question,
        report: report.exists().then_some(report),
    })
}
