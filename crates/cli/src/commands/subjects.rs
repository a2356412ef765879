//! `rpcgauge subjects`, and the subjects that a run needs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use rpcgauge_lab::SubjectCommand;
use rpcgauge_lab::subjects::{Built, Check, Package, State, Step, Subjects, SubjectsError, Tried};
use rpcgauge_report::escape;
use rpcgauge_study::features::{Features, embedded_only};
use rpcgauge_study::plan::Plan;
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::REFERENCE;
use rpcgauge_study::subject::Recommended;
use rpcgauge_study::words::Word;
use serde::Serialize;

use crate::args::{SubjectFolders, SubjectsArgs, SubjectsCommand};
use crate::exit::{Failure, Outcome, print_json, print_plain, report_failure};
use crate::screen::{Screen, clock};
use crate::signals;

pub(crate) fn run(args: SubjectsArgs) -> Outcome {
    let subjects = load(&args.subjects)?;
    match args.command {
        None => list(&subjects, args.json),
        Some(SubjectsCommand::Build { names }) => build_all(&subjects, &names),
        Some(SubjectsCommand::Check { name, stack }) => check(&subjects, &name, stack.as_deref()),
    }
}

/// The built-in subjects, and the user's own.
pub(crate) fn load(folders: &SubjectFolders) -> Result<Subjects, Failure> {
    Subjects::load(&folders.folders).map_err(failure)
}

/// How the stacks that plans measure are started, built where they are not yet. The embedded one
/// is this program itself.
pub(crate) fn commands<'p>(
    subjects: &Subjects,
    plans: impl IntoIterator<Item = &'p Plan>,
    quiet: bool,
    stop: &AtomicBool,
) -> Result<BTreeMap<String, SubjectCommand>, Failure> {
    let mut built: BTreeMap<&str, Built> = BTreeMap::new();
    let mut commands = BTreeMap::new();
    for name in plans.into_iter().flat_map(Plan::stacks) {
        // The embedded one has no / in its name.
        let Some((subject, stack)) = name.split_once('/') else {
            continue;
        };
        let package = subjects.find(subject).map_err(failure)?;
        if !built.contains_key(subject) {
            built.insert(subject, build(package, quiet, stop)?);
        }
        if let Some(built) = built.get(subject) {
            let command = built.command(package.manifest(), stack);
            commands.insert(name.to_owned(), command);
        }
    }
    Ok(commands)
}

/// The embedded reference server as the lab starts it: this program, by the subject contract.
pub(crate) fn reference() -> Result<SubjectCommand, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::cannot(format!("cannot find this program itself: {error}")))?;
    Ok(SubjectCommand::new(program, ["subject"]))
}

fn failure(error: SubjectsError) -> Failure {
    match error.fault() {
        _ if matches!(error, SubjectsError::Stopped) => Failure::interrupted(error),
        Fault::User => Failure::input(error),
        Fault::Machine | Fault::Subject | Fault::Instrument => Failure::cannot(error),
    }
}

/// Builds one, and shows how far it is; where it fails, the last lines of its output.
fn build(package: &Package, quiet: bool, stop: &AtomicBool) -> Result<Built, Failure> {
    let screen = Screen::new(quiet, "{spinner} {wide_msg}");
    let name = &package.manifest().name;
    let mut shown = String::new();
    let mut show = |step: Step<'_>| {
        let (line, time) = match step {
            Step::Waiting => (format!("{name}: another rpcgauge builds it"), None),
            Step::Running {
                number,
                of,
                command,
                elapsed,
            } => (
                format!("building {name}, {number} of {of}: {command}"),
                Some(clock(elapsed)),
            ),
        };
        if screen.has_lines() && line != shown {
            screen.line(&line);
        }
        let time = time.map_or_else(String::new, |time| format!("{time} "));
        screen.draw(|bar| bar.set_message(escape::terminal(&format!("{time}{line}"))));
        shown = line;
    };
    let built = package.build(&mut show, stop);
    screen.finish();
    built.map_err(|error| {
        if let SubjectsError::Build { tail, .. } = &error {
            for line in tail.lines() {
                screen.line(&format!("  {line}"));
            }
        }
        failure(error)
    })
}

/// Builds all that are named, also those after one that cannot be built.
fn build_all(subjects: &Subjects, names: &[String]) -> Outcome {
    let named = names.iter().map(|name| subjects.find(name));
    let packages: Vec<&Package> = match names {
        [] => subjects.all().collect(),
        _ => named.collect::<Result<_, _>>().map_err(failure)?,
    };
    let stop = signals::stop_flag()?;
    let mut code = ExitCode::SUCCESS;
    for package in packages {
        match build(package, false, &stop) {
            Ok(built) => {
                let (name, folder) = (&package.manifest().name, built.folder().display());
                print_plain(&format!("{name}: built in {folder}\n"))?;
            }
            Err(failure) if failure.is_interruption() => return Err(failure),
            Err(failure) => code = report_failure(failure),
        }
    }
    Ok(code)
}

/// Tries all that a subject declares. What fails is printed as it comes, then how much was right.
fn check(subjects: &Subjects, name: &str, stack: Option<&str>) -> Outcome {
    let package = subjects.find(name).map_err(failure)?;
    let stop = signals::stop_flag()?;
    let built = build(package, false, &stop)?;
    let check = Check {
        package,
        built: &built,
        reference: &reference()?,
        stop: &stop,
    };
    let screen = Screen::new(false, "{spinner} {wide_msg}");
    let mut counts: Vec<(String, usize, usize)> = Vec::new();
    let mut show = |tried: &Tried<'_>| {
        let role = format!("{} as {}", tried.stack, tried.role.word());
        let what = escape::terminal(&format!("{role}: {}", tried.what));
        screen.draw(|bar| bar.set_message(what.clone()));
        if counts.last().is_none_or(|(last, ..)| *last != role) {
            counts.push((role, 0, 0));
        }
        if let Some((_, right, all)) = counts.last_mut() {
            *all += 1;
            *right += usize::from(tried.outcome.is_ok());
        }
        if let Err(failure) = &tried.outcome {
            screen.line(&format!("FAILED {what}: {}", failure.reason));
            for line in failure.log.lines() {
                screen.line(&format!("  {line}"));
            }
        }
    };
    let ended = check.run(stack, &mut show);
    screen.finish();
    ended.map_err(failure)?;
    let mut text = String::new();
    for (role, right, all) in &counts {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{role}: {right} of {all} right");
    }
    print_plain(&text)?;
    let failed: usize = counts.iter().map(|(_, right, all)| all - right).sum();
    match failed {
        0 => Ok(ExitCode::SUCCESS),
        _ => Err(Failure::not_all_well(format!(
            "{failed} of what {name} declares is not so; its log is {}",
            built.check_log().display()
        ))),
    }
}

/// A subject in the list.
#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    language: &'a str,
    /// `built`, `not-built`, `missing` or `embedded`.
    state: &'static str,
    /// What is not there that it needs, and what to do.
    missing: Vec<String>,
    versions: BTreeMap<String, String>,
    stacks: Vec<ListedStack<'a>>,
}

#[derive(Serialize)]
struct ListedStack<'a> {
    /// As a study writes it.
    name: String,
    #[serde(flatten)]
    features: Features,
    recommended: &'a [Recommended],
}

fn list(subjects: &Subjects, json: bool) -> Outcome {
    let mut listed = vec![embedded()];
    for package in subjects.all() {
        listed.push(describe(package)?);
    }
    if json {
        return print_json(&listed);
    }
    let mut text = String::new();
    for subject in &listed {
        let state = match subject.state {
            "embedded" => "part of rpcgauge".to_owned(),
            "missing" => format!("cannot be built: {}", subject.missing.join("; ")),
            "not-built" => format!("not built; `rpcgauge subjects build {}`", subject.name),
            state => state.to_owned(),
        };
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{}: {}, {state}", subject.name, subject.language);
        for stack in &subject.stacks {
            let roles = words(&stack.features.roles);
            let encodings = words(&stack.features.encodings);
            let _ = writeln!(text, "  {:<24} {roles:<16} {encodings}", stack.name);
        }
    }
    text +=
        "\nA study names one as server, client or codec = \"SUBJECT/STACK\" (docs/studies.md).\n";
    print_plain(&text)
}

fn embedded() -> Listed<'static> {
    let stacks = embedded_only().into_iter();
    Listed {
        name: REFERENCE,
        language: "Rust",
        state: "embedded",
        missing: Vec::new(),
        versions: BTreeMap::new(),
        stacks: stacks
            .map(|(name, features)| ListedStack {
                name,
                features,
                recommended: &[],
            })
            .collect(),
    }
}

fn describe(package: &Package) -> Result<Listed<'_>, Failure> {
    let manifest = package.manifest();
    let (state, missing) = match package.state().map_err(failure)? {
        State::Built => ("built", Vec::new()),
        State::NotBuilt => ("not-built", Vec::new()),
        State::Missing(missing) => ("missing", missing),
    };
    let stacks = manifest.stacks.iter().zip(manifest.features());
    Ok(Listed {
        name: &manifest.name,
        language: &manifest.language,
        state,
        missing,
        versions: manifest.versions.clone(),
        stacks: stacks
            .map(|(stack, (name, features))| ListedStack {
                name,
                features,
                recommended: &stack.recommended,
            })
            .collect(),
    })
}

fn words<T: Word>(values: &[T]) -> String {
    let words: Vec<&str> = values.iter().map(|value| value.word()).collect();
    words.join(", ")
}
