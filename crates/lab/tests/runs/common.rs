//! Small plans and subjects for the tests.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_lab::{Event, Lab, Options, SubjectCommand, Summary};
use rpcgauge_message::{Limits, WorkloadSpec};
use rpcgauge_study::plan::{Plan, SLICE_US, TrialSpec, Variant};
use rpcgauge_study::record::{
    EventsRecord, FloorRecord, Record, TrialFigures, TrialOutcome, TrialRecord,
};
use rpcgauge_study::settings::{Idle, Placement, Protocol, Settings, SubjectCall, Wire};
use rpcgauge_trial::Stop;

/// The reference subject. Cargo builds a package's examples before its tests.
pub(crate) fn subject() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/subject")
}

pub(crate) fn reference() -> SubjectCommand {
    SubjectCommand::new(subject(), Vec::<String>::new())
}

/// A subject written in shell. `$SUBJECT` is the path of the reference subject.
pub(crate) fn shell(script: &str) -> SubjectCommand {
    let script = format!("SUBJECT='{}'; {script}", subject().display());
    SubjectCommand::new("/bin/sh", ["-c", &script])
}

/// Settings for short trials of a call modified by `change`.
pub(crate) fn with(change: impl FnOnce(&mut SubjectCall)) -> Settings {
    let mut call = SubjectCall::new(WorkloadSpec::List { n: 3 }, Protocol::Grpc);
    call.options.deadline_ms = 2_000;
    change(&mut call);
    Settings {
        stop: Stop {
            calls: Some(50),
            time_ms: Some(5_000),
        },
        ..Settings::new(call)
    }
}

/// Settings for short trials of another subject.
pub(crate) fn settings_of(subject: &str) -> Settings {
    with(|call| subject.clone_into(&mut call.server))
}

/// Settings for short trials.
pub(crate) fn settings() -> Settings {
    with(|_| ())
}

pub(crate) fn rest_json() -> Settings {
    with(|call| call.wire = Wire::default_for(Protocol::Rest))
}

/// A plan that contains every variant once in each block, under one placement.
pub(crate) fn plan(variants: Vec<(&str, Settings)>, invocations: u32, blocks: u32) -> Plan {
    let count = variants.len() as u32;
    let mut trials = Vec::new();
    for invocation in 0..invocations {
        for block in 0..blocks {
            for variant in 0..count {
                let index = trials.len() as u32;
                let placement = Placement::Free;
                trials.push(TrialSpec {
                    index,
                    invocation,
                    block,
                    variant,
                    placement,
                    // Each trial is a rotation of its own.
                    rotation: variant,
                });
            }
        }
    }
    let variant = |(name, settings): (&str, Settings)| Variant {
        name: name.to_owned(),
        group: None,
        repeats: None,
        scale: None,
        warm_up: None,
        settings,
    };
    Plan {
        name: "small".to_owned(),
        question: "Does a plan run to its end?".to_owned(),
        seed: 7,
        variants: variants.into_iter().map(variant).collect(),
        shared_processes: Vec::new(),
        own_processes: BTreeMap::new(),
        pairs: Vec::new(),
        claims: Vec::new(),
        objectives: Vec::new(),
        codecs: BTreeMap::new(),
        capacity: None,
        invocations,
        blocks,
        placements: vec![Placement::Free],
        idle: Idle::AsIs,
        margin: 0.03,
        confidence: 0.95,
        warmup: Stop {
            calls: Some(40),
            time_ms: Some(1_000),
        },
        stack_needs: BTreeMap::new(),
        slice_us: SLICE_US,
        limits: Limits::DEFAULT,
        trials,
    }
}

/// What a run left behind.
pub(crate) struct Left {
    pub(crate) summary: Summary,
    pub(crate) trials: Vec<TrialRecord>,
    pub(crate) floors: Vec<FloorRecord>,
    /// The events of runtimes.
    pub(crate) told: Vec<EventsRecord>,
    /// Variants that did not share processes as planned, and why.
    pub(crate) apart: Vec<(Vec<u32>, String)>,
    /// The observer's events, each in a few words.
    pub(crate) events: Vec<String>,
    pub(crate) logs: tempfile::TempDir,
}

/// Options with the reference subject, optionally another subject, and short timeouts.
pub(crate) fn options(other: Option<SubjectCommand>, logs: &tempfile::TempDir) -> Options {
    let mut options = Options::new(reference(), logs.path().join("logs"));
    if let Some(command) = other {
        options.stacks.add("other", command);
    }
    options.ready_timeout = Duration::from_secs(3);
    options.answer_timeout = Duration::from_secs(3);
    options.end_timeout = Duration::from_millis(500);
    options
}

/// Runs a plan and keeps its records in memory.
pub(crate) fn run(plan: &Plan, other: Option<SubjectCommand>) -> Left {
    run_until(plan, other, |_, _| {})
}

/// Runs a plan and keeps its records in memory. `watch` may set the stop flag.
pub(crate) fn run_until(
    plan: &Plan,
    other: Option<SubjectCommand>,
    watch: impl Fn(&Event<'_>, &'static AtomicBool),
) -> Left {
    let logs = tempfile::tempdir().unwrap();
    let lab = Lab::new(options(other, &logs));
    // Leaked, because a test may set it from a thread that outlives the run.
    let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let mut records: Vec<Record> = Vec::new();
    let mut events = Vec::new();
    let mut observer = |event: &Event<'_>| {
        events.push(word(event));
        watch(event, stop);
    };
    let summary = lab
        .run(plan, &plan.trials, &mut records, &mut observer, stop)
        .unwrap();
    let (mut trials, mut floors, mut told) = (Vec::new(), Vec::new(), Vec::new());
    let mut apart = Vec::new();
    for record in records {
        match record {
            Record::Invocation(_) | Record::Subjects(_) => {}
            Record::Trial(trial) => trials.push(*trial),
            Record::Floor(floor) => floors.push(floor),
            Record::Events(record) => told.push(record),
            Record::OwnProcesses { variants, reason } => apart.push((variants, reason)),
            Record::Restart { invocation } => panic!("invocation {invocation} was restarted"),
        }
    }
    Left {
        summary,
        trials,
        floors,
        told,
        apart,
        events,
        logs,
    }
}

fn word(event: &Event<'_>) -> String {
    match event {
        Event::InvocationStarted { invocation, .. } => format!("invocation {invocation}"),
        Event::SubjectStarting { variant, .. } => format!("start {}", variant.name),
        Event::TrialStarted { trial, .. } => format!("trial {}", trial.index),
        Event::TrialEnded { record, .. } => format!("ended {}", record.trial.index),
        Event::Warning { text } => format!("warning: {text}"),
        _ => "unknown".to_owned(),
    }
}

pub(crate) fn measured(record: &TrialRecord) -> &TrialFigures {
    match &record.outcome {
        TrialOutcome::Measured(measured) => measured,
        TrialOutcome::Failed { reason, log, .. } => {
            panic!("{} failed: {reason}\n{log}", record.variant)
        }
    }
}

/// The reason, fault and log of a failed trial.
pub(crate) fn failed(record: &TrialRecord) -> (&str, rpcgauge_study::record::Fault, &str) {
    match &record.outcome {
        TrialOutcome::Failed {
            reason, fault, log, ..
        } => (reason, *fault, log),
        TrialOutcome::Measured(_) => panic!("{} did not fail", record.variant),
    }
}
