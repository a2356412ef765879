//! The `rpcgauge` program.

mod args;
mod commands;
mod exit;
mod inputs;
mod progress;
mod screen;
mod services;
mod show;
mod signals;
mod study_text;
mod watch;

use std::process::ExitCode;

use args::Command;
use exit::{Outcome, report_failure};

fn main() -> ExitCode {
    args::complete::answer_script();
    signals::let_large_writes_fail();
    run(args::parse().command).unwrap_or_else(report_failure)
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Run(args) => commands::run::run(args),
        Command::Compare(args) => commands::compare::run(*args),
        Command::Map(args) => commands::map::run(*args),
        Command::Load(args) => commands::load::run(*args),
        Command::Worker(args) => commands::worker::run(*args),
        Command::Gate(args) => commands::gate::run(*args),
        Command::Plan(args) => commands::plan::run(args),
        Command::Studies(args) => commands::studies::run(args),
        Command::Subjects(args) => commands::subjects::run(args),
        Command::App(args) => commands::app::run(args),
        Command::Size(args) => commands::size::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Advise(args) => commands::advise::run(args),
        Command::Runs(args) => commands::runs::run(&args),
        Command::Diff(args) => commands::diff::run(args),
        Command::Serve(args) => commands::serve::run(args),
        Command::Link(args) => commands::link::run(args),
        Command::Doctor(args) => commands::doctor::run(args),
        Command::Completions(args) => commands::completions::run(args),
        Command::Subject => Ok(rpcgauge_reference::subject_main()),
    }
}
