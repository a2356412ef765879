//! `rpcgauge diff`: two runs compared.

use std::path::Path;

use rpcgauge_report::{Findings, diff};
use rpcgauge_study::run::Run;

use crate::args::DiffArgs;
use crate::exit::{Failure, Outcome, print, print_json};
use crate::show;

pub(crate) fn run(args: DiffArgs) -> Outcome {
    let before = findings(&args.before)?;
    let after = findings(&args.after)?;
    let difference = diff::compare(&before, &after);
    if args.json {
        print_json(&difference)
    } else {
        print(&diff::render(&difference, show::style()))
    }
}

fn findings(directory: &Path) -> Result<Findings, Failure> {
    let run = Run::read(directory).map_err(Failure::input)?;
    Findings::from_run(&run).map_err(Failure::input)
}
