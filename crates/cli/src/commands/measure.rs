//! Runs a plan into a run directory and writes its report, for `run`, `compare`, `load` and
//! `--resume`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::SystemTime;

use rpcgauge_lab::live::Live;
use rpcgauge_lab::subjects::Subjects;
use rpcgauge_lab::{Earlier, Lab, LabError, Options, RateSearch, RunEnding, Stacks, Summary};
use rpcgauge_report::{Findings, Gate, PlannedSearch, closing, escape, files, units};
use rpcgauge_study::link::NamedLink;
use rpcgauge_study::plan::{Plan, TrialSpec};
use rpcgauge_study::record::TrialRecord;
use rpcgauge_study::run::{
    NewRun, Resumable, Resumed, Run, RunError, RunWriter, default_directory, names,
};
use rpcgauge_trial::Calibration;

use super::gate::GateRule;
use super::link::options as link_options;
use super::load_records::LoadRecords;
use super::subjects;
use crate::args::{OutputArgs, RunArgs};
use crate::exit::{self, Failure};
use crate::inputs::{self, Resolved};
use crate::progress::ProgressView;
use crate::screen::clock;
use crate::show;
use crate::watch::{Exports, LoadView};

/// The default folder of runs.
pub(super) const RUNS: &str = "runs";

/// How a run ended, which determines the exit code. Of several runs, the worst outcome counts.
/// Variants are ordered from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ended {
    /// Every trial was measured.
    Well,
    /// An objective was not reached, no rate met all of them, no call of a live service succeeded,
    /// or a gate did not pass.
    NotReached,
    /// Every trial was run, but some failed, possibly before the run was resumed.
    WithFailures,
    /// The run was interrupted.
    Interrupted,
}

impl Ended {
    pub(crate) fn code(self) -> ExitCode {
        match self {
            Self::Well => ExitCode::SUCCESS,
            Self::WithFailures | Self::NotReached => ExitCode::from(exit::NOT_ALL_WELL),
            Self::Interrupted => ExitCode::from(exit::INTERRUPTED),
        }
    }
}

/// Options common to all runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunContext<'a> {
    /// Where to write the run, and how to show it.
    pub(crate) output: &'a OutputArgs,
    /// Set when the run should stop.
    pub(crate) stop: &'a AtomicBool,
    /// The live services, by variant name.
    pub(crate) live: &'a BTreeMap<String, Live>,
    /// How to start the stacks of subjects other than the embedded one.
    pub(crate) subjects: &'a Stacks,
    /// Folders with the user's own subjects.
    pub(crate) folders: &'a [PathBuf],
    /// Judges the run instead of only reporting it.
    pub(super) gate: Option<&'a GateRule>,
}

/// Acquires the privileges that the plans' links need, while this program has only one thread.
/// Creates each link once, so that problems are reported before anything is built: a feature that
/// this machine lacks, or a rate that it cannot carry.
pub(crate) fn prepare_links<'p>(plans: impl IntoIterator<Item = &'p Plan>) -> Result<(), Failure> {
    let variants = plans.into_iter().flat_map(|plan| &plan.variants);
    let links = variants.filter_map(|variant| variant.settings.target.link());
    let links: BTreeMap<&str, &NamedLink> = links.map(|link| (&*link.name, link)).collect();
    if links.is_empty() {
        return Ok(());
    }
    rpcgauge_link::prepare().map_err(Failure::cannot)?;
    // No call uses this link, so it does not have to be calibrated.
    let options = rpcgauge_link::Options {
        calibrated: Some(Calibration::default()),
        ..link_options()?
    };
    for (name, link) in links {
        let made = rpcgauge_link::Network::open(&link.terms, &options);
        let tried = made.and_then(|_| rpcgauge_link::too_fast(&link.terms, &options));
        let tried = tried.map_err(|error| Failure::cannot(format!("the link {name}: {error}")))?;
        if let Some(pace) = tried {
            let pace = units::count(pace.into());
            exit::note(&format!(
                "warning: the link {name} may send {pace} full packets per second, but this machine cannot \
                 carry that with at most 0.1 ms of added delay (p99); trials that fill it will be marked as not held"
            ));
        }
    }
    Ok(())
}

/// Runs a plan in a new run directory, and shows its report.
pub(crate) fn start(
    study: &Resolved,
    how: RunContext<'_>,
    exports: Exports,
) -> Result<Ended, Failure> {
    let (plan, writer) = create(study, how)?;
    let lab = lab(writer.directory(), None, how)?;
    carry_out(&lab, &plan, &plan.trials, writer, how, exports)
}

/// Runs a plan of calls to subjects in a new run directory, and does not show its report yet.
pub(super) fn measure(study: &Resolved, how: RunContext<'_>) -> Result<Measured, Failure> {
    let (plan, writer) = create(study, how)?;
    let lab = lab(writer.directory(), None, how)?;
    measured(&lab, &plan, &plan.trials, writer, how)
}

/// Creates a run directory.
fn create(study: &Resolved, how: RunContext<'_>) -> Result<(Plan, RunWriter), Failure> {
    let now = SystemTime::now();
    let mut plan = study.plan.clone();
    plan.name = how.output.name.clone().unwrap_or(plan.name);
    let directory = match &how.output.out {
        Some(directory) => directory.clone(),
        None => default_directory(Path::new(RUNS), &plan.name, now),
    };
    let new = NewRun {
        rpcgauge: env!("CARGO_PKG_VERSION"),
        created_at: now,
        study: study.text.as_deref(),
        plan: &plan,
    };
    let writer = RunWriter::create(&directory, &new).map_err(|error| match error {
        RunError::Exists(_) if plan.is_live() => Failure::input(format!(
            "{} already exists: give --out another directory",
            directory.display()
        )),
        error => Failure::input(error),
    })?;
    Ok((plan, writer))
}

/// Resumes the interrupted run in `directory` with its original limits, and shows its report.
pub(crate) fn resume(
    directory: &Path,
    args: &RunArgs,
    subjects: &mut Subjects,
    how: RunContext<'_>,
) -> Result<Ended, Failure> {
    let mut resumed: Resumed = RunWriter::resume(directory).map_err(Failure::input)?;
    if resumed.run.plan.is_live() {
        return Err(Failure::input(format!(
            "{}: a run of a live service cannot be resumed, since the service may have changed; start \
             a new run",
            directory.display()
        )));
    }
    inputs::same_limits(&args.limits, resumed.run.plan.limits)?;
    let plans = [&resumed.run.plan];
    let variants = resumed.run.plan.variants.iter();
    let stacks = variants.flat_map(|variant| variant.settings.target.stacks());
    subjects.add_versions(stacks)?;
    prepare_links(plans)?;
    let how = RunContext {
        subjects: &subjects::commands(subjects, plans, how.output.quiet, how.stop)?,
        ..how
    };
    if args.retry_failed {
        resumed.retry_failed();
    }
    let lab = lab(directory, earlier(&resumed)?, how)?;
    let unchanged = lab.check_unchanged(&resumed.run.plan, &resumed.missing);
    unchanged.map_err(|error| {
        Failure::input(format!("cannot resume {}: {error}", directory.display()))
    })?;
    resumed.begin_again().map_err(Failure::input)?;
    let (plan, exports) = (resumed.run.plan, Exports::default());
    carry_out(&lab, &plan, &resumed.missing, resumed.writer, how, exports)
}

/// The environment and provenance of the kept part of a run; `None` if nothing is kept or nothing
/// is left to measure.
pub(super) fn earlier<R: Resumable>(resumed: &Resumed<R>) -> Result<Option<Earlier>, Failure> {
    let Resumed { run, missing, .. } = resumed;
    if !run.is_begun() || missing.is_empty() {
        return Ok(None);
    }
    let refused = |why: &dyn Display| {
        let directory = run.directory().display();
        Failure::input(format!("cannot resume {directory}: {why}"))
    };
    let provenance = run
        .provenance()
        .map_err(|difference| refused(&difference))?;
    match (run.environment(), provenance.is_empty()) {
        (Some(environment), false) => Ok(Some(Earlier {
            environment: environment.clone(),
            provenance,
        })),
        _ => Err(refused(
            &"it does not record what it was measured with, because an earlier rpcgauge wrote it; start a \
              new run, and compare both with `rpcgauge diff`",
        )),
    }
}

fn lab(directory: &Path, earlier: Option<Earlier>, how: RunContext<'_>) -> Result<Lab, Failure> {
    let mut options = Options {
        earlier,
        live: how.live.clone(),
        ..Options::new(subjects::reference()?, directory.join(names::LOGS))
    };
    options.stacks.extend(how.subjects.clone());
    Ok(Lab::new(options))
}

fn carry_out(
    lab: &Lab,
    plan: &Plan,
    trials: &[TrialSpec],
    writer: RunWriter,
    how: RunContext<'_>,
    exports: Exports,
) -> Result<Ended, Failure> {
    if plan.is_live() {
        return carry_out_load(lab, plan, trials, writer, how, exports);
    }
    measured(lab, plan, trials, writer, how)?.report(how)
}

/// A run of calls to subjects whose report is not shown yet.
pub(super) struct Measured {
    directory: PathBuf,
    summary: Summary,
}

impl Measured {
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether every trial was run.
    pub(super) fn is_complete(&self) -> bool {
        matches!(self.summary.ending, RunEnding::Complete)
    }

    /// Whether some trials failed.
    pub(super) fn has_failures(&self) -> bool {
        self.summary.failed > 0
    }

    /// Shows the report of the run, and writes its files.
    pub(super) fn report(self, how: RunContext<'_>) -> Result<Ended, Failure> {
        let run = Run::read(&self.directory).map_err(Failure::cannot)?;
        let findings = Findings::from_run(&run).map_err(Failure::cannot)?;
        report(&run, &findings, how)?;
        let resume = resume_command(&self.directory, how.folders);
        Ok(ended(&run.plan, &resume, self.summary, &findings))
    }
}

fn measured(
    lab: &Lab,
    plan: &Plan,
    trials: &[TrialSpec],
    mut writer: RunWriter,
    how: RunContext<'_>,
) -> Result<Measured, Failure> {
    let directory = writer.directory().to_owned();
    let mut view = ProgressView::new(how.output.quiet, how.subjects);
    let mut measure = || lab.run(plan, trials, &mut writer, &mut view, how.stop);
    let summary = if plan.has_links() {
        // A thread that enters a link's network can never return to the machine's network, so the
        // measurement gets its own thread.
        thread::scope(|scope| scope.spawn(measure).join())
            .unwrap_or_else(|panic| resume_unwind(panic))
    } else {
        measure()
    };
    view.finish();
    // Release the lock before writing the report, which only reads.
    drop(writer);
    let summary = summary.map_err(|error| match error {
        // This error's text already states that the written records are kept, and how to continue.
        LabError::Records(error) => Failure::cannot(error),
        // The run cannot be resumed, so the text must not suggest it.
        error @ LabError::Changed(_) => Failure::cannot(error),
        error => Failure::cannot(format!(
            "{error}; the trials measured so far are in {}; continue with `rpcgauge run --resume`",
            directory.display()
        )),
    })?;
    Ok(Measured { directory, summary })
}

fn carry_out_load(
    lab: &Lab,
    plan: &Plan,
    trials: &[TrialSpec],
    writer: RunWriter,
    how: RunContext<'_>,
    mut exports: Exports,
) -> Result<Ended, Failure> {
    if plan.variants.len() > 1 && !how.output.quiet {
        let estimate = clock(plan.estimate());
        let starts = if plan.has_fresh_starts() {
            ", plus start-up"
        } else {
            ""
        };
        exit::note(&format!("measuring in turn takes about {estimate}{starts}"));
    }
    let mut kept = LoadRecords::new(writer)?;
    let mut view = LoadView::start(plan, how.output.quiet, &mut exports)?;
    let summary = match PlannedSearch::of(plan) {
        Some(search) => {
            let mut search = Searching(search);
            lab.search(plan, &mut search, &mut kept, &mut view, how.stop)
        }
        None => lab.run(plan, trials, &mut kept, &mut view, how.stop),
    };
    let seen = view.finish();
    let (run, unwritten) = kept.finish();
    let summary = summary.map_err(|error| match error {
        LabError::Records(error) => Failure::cannot(error),
        error => Failure::cannot(error),
    })?;
    let findings = Findings::from_run(&run).map_err(Failure::cannot)?;
    // A failure to write in one place must not prevent writing elsewhere.
    let reported = match unwritten {
        None => report(&run, &findings, how),
        Some(unwritten) => show(&findings, how).and(Err(unwritten)),
    };
    let written = seen.and(exports.finish(&run));
    let gate = reported?;
    written?;
    let resume = resume_command(&run.directory, how.folders);
    let ended = ended(plan, &resume, summary, &findings);
    Ok(match gate {
        Some(gate) if !gate.is_passed() => ended.max(Ended::NotReached),
        _ => ended,
    })
}

/// Lets the report's rules choose the rates that the lab measures.
struct Searching(PlannedSearch);

impl RateSearch for Searching {
    fn next_rate(&mut self) -> Option<f64> {
        self.0.next_rate()
    }

    fn ended(&mut self, record: &TrialRecord) {
        self.0.ended(record);
    }
}

/// Prints the findings or, for a gate, its outcome.
fn show(findings: &Findings, how: RunContext<'_>) -> Result<Option<Gate>, Failure> {
    match how.gate {
        None => show::findings(findings, how.output).map(|()| None),
        Some(rule) => rule.apply(findings, how.output).map(Some),
    }
}

/// Prints the findings or the outcome of a gate, and writes the report files.
pub(super) fn report(
    run: &Run,
    findings: &Findings,
    how: RunContext<'_>,
) -> Result<Option<Gate>, Failure> {
    let shown = show(findings, how);
    let written = files::write_all(&run.directory, findings).map_err(|error| {
        Failure::cannot(format!(
            "{error}; the measured trials are kept; write the report with `rpcgauge report {}`",
            run.directory.display()
        ))
    })?;
    let gate = shown?;
    if let Some(gate) = &gate {
        files::write_gate(&run.directory, gate, findings).map_err(Failure::cannot)?;
    }
    if !how.output.json {
        let page = if gate.is_some() {
            files::GATE_HTML
        } else {
            files::HTML
        };
        if !written.is_empty() {
            let page = run.directory.join(page);
            let page = escape::terminal(&page.display().to_string());
            let closing = closing(findings).filter(|_| gate.is_none());
            let closing = closing.map_or_else(String::new, |text| {
                format!("\n{}", show::wrapped("", &text))
            });
            exit::print(&format!("{closing}\nReport: {page}\n"))?;
        }
    }
    Ok(gate)
}

/// The command that resumes a run, including the `--subjects` folders that it needs.
pub(super) fn resume_command(directory: &Path, folders: &[PathBuf]) -> String {
    let folders = folders
        .iter()
        .map(|folder| format!(" --subjects {}", folder.display()));
    let folders: String = folders.collect();
    format!("rpcgauge run --resume {}{folders}", directory.display())
}

/// How the whole run ended. Failures from before it was resumed are included.
fn ended(plan: &Plan, resume: &str, summary: Summary, findings: &Findings) -> Ended {
    match summary.ending {
        RunEnding::Stopped if plan.is_live() => {
            exit::note("interrupted; the report covers the run up to that point");
            Ended::Interrupted
        }
        RunEnding::Stopped => {
            exit::note(&format!(
                "interrupted; the measured trials are kept. Continue with: {resume}"
            ));
            Ended::Interrupted
        }
        RunEnding::Complete if findings.progress.failed > 0 => {
            if !plan.is_live() {
                exit::note(&format!(
                    "some trials failed; once that is fixed, continue with: {resume} --retry-failed"
                ));
            }
            Ended::WithFailures
        }
        RunEnding::Complete if !findings.is_reached() => Ended::NotReached,
        RunEnding::Complete => Ended::Well,
    }
}
