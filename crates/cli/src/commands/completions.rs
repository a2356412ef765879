//! `rpcgauge completions`: prints a shell completion script.

use clap::{Command, CommandFactory as _};

use crate::args::{Arguments, CompletionsArgs};
use crate::exit::{Outcome, print};

pub(crate) fn run(args: CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible(), "rpcgauge", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// The command line without hidden commands, which clap_complete would otherwise list.
fn visible() -> Command {
    let all = Arguments::command();
    let shown = all
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    Command::new("rpcgauge")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommands(shown.cloned())
}
