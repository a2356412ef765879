//! `rpcgauge studies`: lists or shows the built-in studies.

use std::fmt::Write as _;

use rpcgauge_study::builtin;
use serde::Serialize;

use crate::args::{StudiesArgs, StudiesCommand};
use crate::exit::{Failure, Outcome, print, print_json};
use crate::show;

pub(crate) fn run(args: StudiesArgs) -> Outcome {
    match args.command {
        Some(StudiesCommand::Show { name }) => {
            print(builtin::find(&name).map_err(Failure::input)?.text)
        }
        None => list(args.json),
    }
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    question: String,
}

fn list(json: bool) -> Outcome {
    let listed = builtin::ALL
        .iter()
        .map(|study| {
            Ok(Listed {
                name: study.name,
                question: study.question().map_err(Failure::cannot)?,
            })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    if json {
        return print_json(&listed);
    }
    let lengths = listed.iter().map(|study| study.name.len());
    let width = lengths.max().unwrap_or(0);
    let mut text = String::new();
    for study in &listed {
        // Writing to a String cannot fail.
        let name = format!("{:<width$}  ", study.name);
        let _ = writeln!(text, "{}", show::wrapped(&name, &study.question));
    }
    text += "\nRun one with `rpcgauge run NAME`; `rpcgauge studies show NAME` prints its file.\n";
    print(&text)
}
