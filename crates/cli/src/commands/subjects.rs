//! `rpcgauge subjects`, and the preparation of subjects for runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rpcgauge_lab::subjects::{
    BuildEvent, Check, Package, Preparation, State, Step, Subjects, SubjectsError, Tried,
};
use rpcgauge_lab::{Stacks, SubjectCommand};
use rpcgauge_report::{escape, units};
use rpcgauge_study::plan::Plan;
use rpcgauge_study::record::Fault;
use rpcgauge_study::words::Named;

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

/// Loads the built-in subjects and the user's own. Warns about each one that is left out.
pub(crate) fn load(folders: &SubjectFolders) -> Result<Subjects, Failure> {
    let subjects = Subjects::load(&folders.folders)?;
    for error in subjects.left_out() {
        note(&format!("warning: {error}; this subject is left out"));
    }
    Ok(subjects)
}

/// The stacks that a study names, with or without a version.
pub(crate) fn named_in(study: &str) -> Vec<String> {
    fn collect(value: &toml::Value, is_stack: bool, found: &mut Vec<String>) {
        match value {
            toml::Value::String(text) if is_stack => found.push(text.clone()),
            toml::Value::Array(all) => all.iter().for_each(|one| collect(one, is_stack, found)),
            toml::Value::Table(table) => {
                for (key, value) in table {
                    // A factor lists stacks under the same key.
                    let is_stack = ["server", "client", "codec"].contains(&&**key);
                    collect(value, is_stack, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    // A study that is not TOML is refused when it is parsed.
    if let Ok(table) = study.parse::<toml::Table>() {
        collect(&toml::Value::Table(table), false, &mut found);
    }
    found
}

/// Prepares the stacks that the plans measure, and returns how to start them. If necessary, builds
/// them and generates code for the messages. A stack that cannot be prepared is left out, with the
/// reason.
///
/// # Errors
/// Ctrl-C was pressed, there is no cache folder, or no variant is left.
pub(crate) fn commands<'p>(
    subjects: &Subjects,
    plans: impl IntoIterator<Item = &'p Plan>,
    quiet: bool,
    stop: &AtomicBool,
) -> Result<Stacks, Failure> {
    let mut progress = BuildProgress::new(quiet);
    let prepared = subjects.prepare(plans, &mut |event| progress.event(event), stop);
    progress.finish();
    let Preparation {
        stacks,
        left_out,
        failure,
    } = prepared?;
    for (error, stacks) in left_out {
        note(&format!("left out: {}: {error}", stacks.join(", ")));
    }
    match failure {
        Some(error) => Err(Failure::from(&*error)),
        None => Ok(stacks),
    }
}

/// How the lab starts the embedded reference server: as this program, which implements the subject
/// contract.
pub(crate) fn reference() -> Result<SubjectCommand, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::cannot(format!("cannot find this program's executable: {error}"))
    })?;
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

fn building(subject: &str) -> String {
    format!("building {subject}")
}

fn making_code(subject: &str) -> String {
    format!("generating code for messages in {subject}")
}

/// Shows the progress of commands that build something.
struct BuildProgress {
    screen: Screen,
    /// The line that was shown last.
    shown: String,
}

impl BuildProgress {
    fn new(quiet: bool) -> Self {
        Self {
            screen: Screen::new(quiet, "{spinner} {wide_msg}"),
            shown: String::new(),
        }
    }

    fn event(&mut self, event: BuildEvent<'_>) {
        match event {
            BuildEvent::Building(subject, step) => self.step(&building(subject), step),
            BuildEvent::MakingCode(subject, step) => self.step(&making_code(subject), step),
            BuildEvent::Failed(error) => show_tail_on(&self.screen, error),
        }
    }

    fn step(&mut self, what: &str, step: Step<'_>) {
        let (line, time) = match step {
            Step::Waiting => (
                format!("{what}: waiting for another rpcgauge that is already doing this"),
                String::new(),
            ),
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
        if self.screen.has_lines() && line != self.shown {
            self.screen.line(&line);
        }
        self.screen
            .draw(|bar| bar.set_message(escape::terminal(&format!("{time}{line}"))));
        self.shown = line;
    }

    fn finish(self) {
        self.screen.finish();
    }
}

/// Shows the progress of commands that build something.
pub(crate) fn with_progress<T>(
    quiet: bool,
    what: &str,
    work: impl FnOnce(&mut dyn FnMut(Step<'_>)) -> T,
) -> T {
    let mut progress = BuildProgress::new(quiet);
    let made = work(&mut |step| progress.step(what, step));
    progress.finish();
    made
}

/// Shows the last lines of a failed command's output.
pub(crate) fn show_tail(error: &SubjectsError) {
    show_tail_on(&Screen::new(true, ""), error);
}

fn show_tail_on(screen: &Screen, error: &SubjectsError) {
    if let SubjectsError::Command(failed) = error {
        for line in failed.tail.lines() {
            screen.line(&format!("  {line}"));
        }
    }
}

/// Builds the named subjects, with code for the built-in messages. Continues if one of them fails
/// to build.
fn build_all(subjects: &Subjects, names: &[String]) -> Outcome {
    let stop = signals::stop_flag()?;
    let mut code = code_of_left_out(subjects, names);
    for package in named(subjects, names)? {
        let (name, start) = (&package.manifest().name, Instant::now());
        let was_built = matches!(package.state(), Ok(State::Built));
        let mut progress = BuildProgress::new(false);
        let built = package.build_with_code(&mut |event| progress.event(event), &stop);
        progress.finish();
        match built {
            Ok(built) => {
                let size = units::size(built.bytes() as f64);
                let time = units::time(start.elapsed().as_nanos() as f64);
                let how = if was_built {
                    "already built".to_owned()
                } else {
                    format!("built in {time}")
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

/// The exit code so far: failure if all subjects were requested but some were left out.
fn code_of_left_out(subjects: &Subjects, names: &[String]) -> ExitCode {
    if names.is_empty() && !subjects.left_out().is_empty() {
        ExitCode::from(BAD_INPUT)
    } else {
        ExitCode::SUCCESS
    }
}

/// The subjects with these names; all if `names` is empty.
fn named<'a>(subjects: &'a Subjects, names: &[String]) -> Result<Vec<&'a Package>, Failure> {
    match names {
        [] => Ok(subjects.all().collect()),
        _ => names.iter().map(|name| Ok(subjects.find(name)?)).collect(),
    }
}

/// Checks the named subjects. Continues if one of them fails. If `names` is empty, subjects without
/// their toolchain are left out, with a note.
fn check_all(
    subjects: &Subjects,
    names: &[String],
    stack: Option<&str>,
    every_combination: bool,
) -> Outcome {
    if stack.is_some() && names.len() != 1 {
        return Err(Failure::input(
            "--stack names a stack of one subject: also give the subject's name",
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

/// Checks everything that a subject declares. Prints failures as they occur, then how many checks
/// passed.
fn check(
    package: &Package,
    stack: Option<&str>,
    every_combination: bool,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let name = &package.manifest().name;
    let built = with_progress(false, &building(name), |show| package.build(show, stop))
        .inspect_err(show_tail)?;
    let check = Check {
        package,
        built: &built,
        reference: &reference()?,
        every_combination,
        stop,
    };
    let screen = Screen::new(false, "{spinner} {wide_msg}");
    let mut counts: BTreeMap<usize, (String, usize, usize)> = BTreeMap::new();
    let mut show = |tried: &Tried| {
        let what = escape::terminal(&format!("{}: {}", tried.who, tried.what));
        screen.draw(|bar| bar.set_message(what.clone()));
        let count = counts.entry(tried.task);
        let (_, right, all) = count.or_insert_with(|| (tried.who.clone(), 0, 0));
        *all += 1;
        *right += usize::from(tried.outcome.is_ok());
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
    for (who, right, all) in counts.values() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{who}: {right} of {all} checks passed");
    }
    print_plain(&text)?;
    let failed: usize = counts.values().map(|(_, right, all)| all - right).sum();
    match failed {
        0 => Ok(()),
        _ => Err(Failure::not_all_well(format!(
            "{failed} of the checks of {name} failed; its log is {}",
            built.check_log().display()
        ))),
    }
}

fn list(subjects: &Subjects, json: bool) -> Outcome {
    let listed = subjects.list()?;
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
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}: {}, {state}", subject.name, subject.language);
        for stack in &subject.stacks {
            let roles = words(&stack.features.roles);
            let encodings = words(&stack.features.encodings);
            let _ = writeln!(text, "  {:<24} {roles:<16} {encodings}", stack.name);
        }
    }
    text += "\nIn a study, name one with server, client or codec = \"SUBJECT/STACK\" (docs/studies.md).\n";
    print_plain(&text)
}

fn words<T: Named>(values: &[T]) -> String {
    let words: Vec<&str> = values.iter().map(|value| value.as_str()).collect();
    words.join(", ")
}
