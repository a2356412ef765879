//! `rpcgauge completions`: a shell's completion script.

use clap::CommandFactory as _;

use crate::args::{Arguments, CompletionsArgs};
use crate::exit::{Outcome, print};

pub(crate) fn run(args: CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut Arguments::command(),
        "rpcgauge",
        &mut script,
    );
    print(&String::from_utf8_lossy(&script))
}
