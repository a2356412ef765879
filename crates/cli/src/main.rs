//! The `rpcgauge` program.

mod args;
mod commands;
mod exit;
mod inputs;
mod progress;
mod show;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Arguments, Command};
use exit::report_failure;

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Run(args) => commands::run::run(args),
        Command::Compare(args) => commands::compare::run(*args),
        Command::Plan(args) => commands::plan::run(args),
        Command::Studies(args) => commands::studies::run(args),
        Command::Size(args) => commands::size::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Diff(args) => commands::diff::run(args),
        Command::Serve(args) => commands::serve::run(args),
        Command::Doctor(args) => commands::doctor::run(args),
        Command::Completions(args) => commands::completions::run(args),
        Command::Subject => commands::subject::run(),
    };
    result.unwrap_or_else(report_failure)
}
