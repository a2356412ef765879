//! `rpcgauge subjects`, and the subjects that a run needs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rpcgauge_lab::subjects::{Built, Check, Package, State, Step, Subjects, SubjectsError, Tried};
use rpcgauge_lab::{Stacks, SubjectCommand};
use rpcgauge_message::WorkloadSpec;
use rpcgauge_message::workload::MessageSet;
use rpcgauge_report::{escape, units};
use rpcgauge_study::features::{Features, embedded_only};
use rpcgauge_study::plan::Plan;
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::REFERENCE;
use rpcgauge_study::subject::Recommended;
use rpcgauge_study::words::Word;
use serde::Serialize;

use crate::args::{SubjectFolders, SubjectsArgs, SubjectsCommand};
use crate::exit::{BAD_INPUT, Failure, Outcome, note, print_json, print_plain, report_failure};
use crate::screen::{Screen, clock};
use crate::signals;

pub(crate) fn run(args: SubjectsArgs) -> Outcome {
    let subjects = load(&args.subjects)?;
    match args.command {
        None => list(&subjects, args.json),
        Some(SubjectsCommand::Build { names }) => build_all(&subjects, &names),
        Some(SubjectsCommand::Check {
            names,
            stack,
            every_combination,
        }) => check_all(&subjects, &names, stack.as_deref(), every_combination),
    }
}

/// The built-in subjects, and the user's own; a warning for each that is left out.
pub(crate) fn load(folders: &SubjectFolders) -> Result<Subjects, Failure> {
    let subjects = Subjects::load(&folders.folders)?;
    for error in subjects.left_out() {
        note(&format!("warning: {error}; this subject is left out"));
    }
    Ok(subjects)
}

/// How the stacks that plans measure are started: built, with code for the messages, where that was not
/// done yet. The embedded one is this program itself. What cannot be had is left out with its reason.
///
/// # Errors
/// It is interrupted, there is no cache, or no variant is left.
pub(crate) fn commands<'p>(
    subjects: &Subjects,
    plans: impl IntoIterator<Item = &'p Plan>,
    quiet: bool,
    stop: &AtomicBool,
) -> Result<Stacks, Failure> {
    let mut needed = Needed {
        subjects,
        quiet,
        stop,
        built: BTreeMap::new(),
        known: BTreeMap::new(),
        failed: BTreeMap::new(),
        stacks: Stacks::default(),
    };
    let (mut reason, mut can_run) = (None, false);
    let variants = plans.into_iter().flat_map(|plan| &plan.variants);
    for target in variants.map(|variant| &variant.settings.target) {
        let mut lacks = None;
        for stack in target.stacks() {
            // The embedded one has no / in its name.
            if let (Some(stack), Some(workload)) = (stack.split_once('/'), target.workload()) {
                lacks = lacks.or(needed.add(stack, workload)?);
            }
        }
        can_run |= lacks.is_none();
        reason = reason.or(lacks);
    }
    needed.say_what_is_left_out();
    if let Some(error) = reason.filter(|_| !can_run) {
        return Err(Failure::from(&*error));
    }
    Ok(needed.stacks)
}

/// The stacks of a run, as they are made ready.
struct Needed<'a> {
    subjects: &'a Subjects,
    quiet: bool,
    stop: &'a AtomicBool,
    /// By the subject's name.
    built: BTreeMap<&'a str, Result<Built, Rc<SubjectsError>>>,
    /// By SUBJECT/STACK: why it is left out, if it is.
    known: BTreeMap<(String, MessageSet), Option<Rc<SubjectsError>>>,
    /// By the subject's name: why some of its stacks have no code for a set of messages.
    failed: BTreeMap<(&'a str, MessageSet), Vec<Rc<SubjectsError>>>,
    stacks: Stacks,
}

impl<'a> Needed<'a> {
    /// Makes a stack ready for a workload; why it is left out, if it is.
    fn add(
        &mut self,
        (subject, stack): (&str, &str),
        workload: &WorkloadSpec,
    ) -> Result<Option<Rc<SubjectsError>>, Failure> {
        let (name, messages) = (format!("{subject}/{stack}"), MessageSet::from(workload));
        let key = (name.clone(), messages.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let package = self.subjects.find(subject)?;
        let manifest = package.manifest();
        let (quiet, stop) = (self.quiet, self.stop);
        let built = match self.built.entry(&manifest.name) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(kept(build(package, quiet, stop))?),
        };
        let failed = (&*manifest.name, messages.clone());
        let failed = self.failed.entry(failed).or_default();
        let of_stack = manifest.stack(stack);
        let is_of_this =
            |error: &&Rc<SubjectsError>| of_stack.is_some_and(|stack| error.is_of(stack));
        let command = match (built, failed.iter().find(is_of_this)) {
            (Err(error), _) => Err(Rc::clone(error)),
            (_, Some(error)) => Err(Rc::clone(error)),
            (Ok(built), None) => kept(with_progress(quiet, &making_code(subject), |show| {
                built.command(manifest, stack, &messages, show, stop)
            }))?,
        };
        let error = command.as_ref().err().cloned();
        failed.extend(error.clone());
        let command = command.as_ref().map_err(|error| &**error);
        self.stacks.add_for(&name, messages, command);
        self.known.insert(key, error.clone());
        Ok(error)
    }

    /// One line for each reason, with the stacks that it leaves out.
    fn say_what_is_left_out(&self) {
        let mut reasons: Vec<(&Rc<SubjectsError>, Vec<&str>)> = Vec::new();
        for ((stack, _), error) in &self.known {
            let Some(error) = error else {
                continue;
            };
            match reasons
                .iter_mut()
                .find(|(known, _)| Rc::ptr_eq(known, error))
            {
                Some((_, stacks)) if stacks.contains(&stack.as_str()) => {}
                Some((_, stacks)) => stacks.push(stack),
                None => reasons.push((error, vec![stack])),
            }
        }
        for (error, stacks) in reasons {
            note(&format!("left out: {}: {error}", stacks.join(", ")));
        }
    }
}

/// An error that leaves a stack out is kept and shown; others end the command.
fn kept<T>(made: Result<T, SubjectsError>) -> Result<Result<T, Rc<SubjectsError>>, Failure> {
    match made {
        Ok(made) => Ok(Ok(made)),
        Err(
            error @ (SubjectsError::Missing { .. }
            | SubjectsError::Command(_)
            | SubjectsError::Incomplete { .. }),
        ) => {
            show_tail(&error);
            Ok(Err(Rc::new(error)))
        }
        Err(error) => Err(error.into()),
    }
}

/// The embedded reference server as the lab starts it: this program, by the subject contract.
pub(crate) fn reference() -> Result<SubjectCommand, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::cannot(format!("cannot find this program itself: {error}")))?;
    let disk = std::fs::metadata(&program).ok();
    Ok(SubjectCommand {
        disk: disk.map(|metadata| metadata.len()),
        ..SubjectCommand::new(program, ["subject"])
    })
}

impl From<&SubjectsError> for Failure {
    fn from(error: &SubjectsError) -> Self {
        match error.fault() {
            _ if matches!(error, SubjectsError::Stopped) => Self::interrupted(error),
            Fault::User => Self::input(error),
            Fault::Machine | Fault::Subject | Fault::Instrument => Self::cannot(error),
        }
    }
}

impl From<SubjectsError> for Failure {
    fn from(error: SubjectsError) -> Self {
        (&error).into()
    }
}

/// Builds one, and shows how far it is.
fn build(package: &Package, quiet: bool, stop: &AtomicBool) -> Result<Built, SubjectsError> {
    let what = format!("building {}", package.manifest().name);
    with_progress(quiet, &what, |show| package.build(show, stop))
}

fn making_code(subject: &str) -> String {
    format!("making code for messages in {subject}")
}

/// Shows how far commands are that fill a folder.
pub(crate) fn with_progress<T>(
    quiet: bool,
    what: &str,
    work: impl FnOnce(&mut dyn FnMut(Step<'_>)) -> T,
) -> T {
    let screen = Screen::new(quiet, "{spinner} {wide_msg}");
    let mut shown = String::new();
    let made = work(&mut |step| {
        let (line, time) = match step {
            Step::Waiting => (format!("{what}: another rpcgauge does it"), String::new()),
            Step::Running {
                number,
                of,
                command,
                elapsed,
            } => (
                format!("{what}, {number} of {of}: {command}"),
                format!("{} ", clock(elapsed)),
            ),
        };
        if screen.has_lines() && line != shown {
            screen.line(&line);
        }
        screen.draw(|bar| bar.set_message(escape::terminal(&format!("{time}{line}"))));
        shown = line;
    });
    screen.finish();
    made
}

/// The last lines that a command printed which failed.
pub(crate) fn show_tail(error: &SubjectsError) {
    if let SubjectsError::Command(failed) = error {
        let screen = Screen::new(true, "");
        for line in failed.tail.lines() {
            screen.line(&format!("  {line}"));
        }
    }
}

/// Builds all that are named, with code for the built-in messages; also those after one that cannot be
/// built.
fn build_all(subjects: &Subjects, names: &[String]) -> Outcome {
    let stop = signals::stop_flag()?;
    let mut code = code_of_left_out(subjects, names);
    for package in named(subjects, names)? {
        let (manifest, start) = (package.manifest(), Instant::now());
        let name = &manifest.name;
        let was_built = matches!(package.state(), Ok(State::Built));
        let built = build(package, false, &stop).and_then(|built| {
            let code = with_progress(false, &making_code(name), |show| {
                let mut programs = manifest.programs().into_iter();
                programs.try_for_each(|program| {
                    let made = built.generate(manifest, program, &MessageSet::BuiltIn, show, &stop);
                    made.map(drop)
                })
            });
            code.map(|()| built)
        });
        match built {
            Ok(built) => {
                let size = units::size(built.bytes() as f64);
                let time = units::time(start.elapsed().as_nanos() as f64);
                let how = match was_built {
                    true => "built before".to_owned(),
                    false => format!("built in {time}"),
                };
                let folder = built.folder().display();
                print_plain(&format!("{name}: {how}, {size}: {folder}\n"))?;
            }
            Err(SubjectsError::Stopped) => return Err(SubjectsError::Stopped.into()),
            Err(error) => {
                show_tail(&error);
                code = report_failure(error.into());
            }
        }
    }
    Ok(code)
}

/// Where all subjects are asked for, one that is left out makes the command fail.
fn code_of_left_out(subjects: &Subjects, names: &[String]) -> ExitCode {
    match names.is_empty() && !subjects.left_out().is_empty() {
        true => ExitCode::from(BAD_INPUT),
        false => ExitCode::SUCCESS,
    }
}

/// The subjects of these names; all where there is none.
fn named<'a>(subjects: &'a Subjects, names: &[String]) -> Result<Vec<&'a Package>, Failure> {
    match names {
        [] => Ok(subjects.all().collect()),
        _ => names.iter().map(|name| Ok(subjects.find(name)?)).collect(),
    }
}

/// Checks all that are named, also those after one that fails. Where none is named, those whose toolchain
/// is not there are left out, and it says so.
fn check_all(
    subjects: &Subjects,
    names: &[String],
    stack: Option<&str>,
    every_combination: bool,
) -> Outcome {
    if stack.is_some() && names.len() != 1 {
        return Err(Failure::input(
            "--stack names a stack of one subject: give its name too",
        ));
    }
    let stop = signals::stop_flag()?;
    let mut code = code_of_left_out(subjects, names);
    for package in named(subjects, names)? {
        let state = package.state()?;
        if let (State::Missing(missing), []) = (state, names) {
            let name = &package.manifest().name;
            note(&format!("left out: {name}: {}", missing.join("; ")));
            continue;
        }
        match check(package, stack, every_combination, &stop) {
            Err(failure) if !failure.is_interruption() => code = report_failure(failure),
            ended => ended?,
        }
    }
    Ok(code)
}

/// Tries all that a subject declares. What fails is printed as it comes, then how much was right.
fn check(
    package: &Package,
    stack: Option<&str>,
    every_combination: bool,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let name = &package.manifest().name;
    let built = build(package, false, stop).inspect_err(show_tail)?;
    let check = Check {
        package,
        built: &built,
        reference: &reference()?,
        every_combination,
        stop,
    };
    let screen = Screen::new(false, "{spinner} {wide_msg}");
    let mut counts: Vec<(String, usize, usize)> = Vec::new();
    let mut show = |tried: &Tried<'_>| {
        let what = escape::terminal(&format!("{}: {}", tried.who, tried.what));
        screen.draw(|bar| bar.set_message(what.clone()));
        if counts.last().is_none_or(|(last, ..)| last != tried.who) {
            counts.push((tried.who.to_owned(), 0, 0));
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
    let ended = with_progress(false, &making_code(name), |step| {
        check.run(stack, step, &mut show)
    });
    screen.finish();
    ended?;
    let mut text = String::new();
    for (who, right, all) in &counts {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{who}: {right} of {all} right");
    }
    print_plain(&text)?;
    let failed: usize = counts.iter().map(|(_, right, all)| all - right).sum();
    match failed {
        0 => Ok(()),
        _ => Err(Failure::not_all_well(format!(
            "{failed} of the checks of {name} failed; its log is {}",
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
    let stack = |(name, features)| ListedStack {
        name,
        features,
        recommended: &[],
    };
    Listed {
        name: REFERENCE,
        language: "Rust",
        state: "embedded",
        missing: Vec::new(),
        versions: BTreeMap::new(),
        stacks: embedded_only().into_iter().map(stack).collect(),
    }
}

fn describe(package: &Package) -> Result<Listed<'_>, Failure> {
    let manifest = package.manifest();
    let (state, missing) = match package.state()? {
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
