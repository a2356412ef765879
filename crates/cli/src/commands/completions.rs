//! `rpcgauge completions`: prints a shell completion script.

use crate::args::{CompletionsArgs, complete};
use crate::exit::{Failure, Outcome, print};

pub(crate) fn run(args: CompletionsArgs) -> Outcome {
    let shell = args.shell;
    let script = complete::script(shell)
        .ok_or_else(|| Failure::cannot(format!("no completion script for {shell}")))?;
    print(&String::from_utf8_lossy(&script))
}
