//! Shell completion. A shell's script asks this program for the candidates, so that names of studies, stacks and
//! links are always those that it has.

use std::ffi::OsStr;

use clap::CommandFactory as _;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};
use rpcgauge_lab::subjects::Subjects;
use rpcgauge_study::builtin;
use rpcgauge_study::features::Role;
use rpcgauge_study::link::PRESETS;

use super::Arguments;

/// The environment variable by which a script asks for candidates; its value is the name of the shell.
const VARIABLE: &str = "RPCGAUGE_COMPLETE";

/// Prints the candidates and exits if a script asks for them.
pub(crate) fn answer_script() {
    CompleteEnv::with_factory(Arguments::command)
        .var(VARIABLE)
        .complete();
}

/// The script of a shell; `None` if the shell is not supported.
pub(crate) fn script(shell: clap_complete::Shell) -> Option<Vec<u8>> {
    let (shells, shell, name) = (Shells::builtins(), shell.to_string(), "rpcgauge");
    let mut script = Vec::new();
    let completer = shells.completer(&shell)?;
    let written = completer.write_registration(VARIABLE, name, name, name, &mut script);
    written.ok().map(|()| script)
}

/// Completes built-in studies, and paths to others.
pub(super) fn studies() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let named = current.to_str().unwrap_or_default();
        let built_in = builtin::ALL.iter().map(|study| study.name);
        let built_in = built_in.filter(|name| name.starts_with(named));
        let mut candidates: Vec<_> = built_in.map(CompletionCandidate::new).collect();
        candidates.extend(PathCompleter::file().complete(current));
        candidates
    })
}

/// Completes built-in studies.
pub(super) fn built_in_studies() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let names = builtin::ALL.iter().map(|study| study.name);
        names.map(CompletionCandidate::new).collect()
    })
}

/// Completes the stacks with this role, without those in the user's own folders.
pub(super) fn stacks(role: Role) -> ArgValueCandidates {
    ArgValueCandidates::new(move || {
        let features = Subjects::load(&[]).map(|subjects| subjects.features());
        let stacks = features.unwrap_or_default().into_iter();
        let stacks = stacks.filter(|(_, features)| features.roles.contains(&role));
        stacks
            .map(|(name, _)| CompletionCandidate::new(name))
            .collect()
    })
}

/// Completes the built-in subjects, except the embedded one.
pub(super) fn subjects() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let subjects = Subjects::load(&[]);
        let packages = subjects.iter().flat_map(Subjects::all);
        packages
            .map(|package| CompletionCandidate::new(&package.manifest().name))
            .collect()
    })
}

/// Completes the presets of links.
pub(super) fn links() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let presets = PRESETS.iter();
        presets
            .map(|preset| CompletionCandidate::new(preset.name))
            .collect()
    })
}
