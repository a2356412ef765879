//! Subject processes: starts them, sends them requests, and stops them (contract/README.md).

mod ask;
mod ending;
mod error;
mod events;
mod guard;
mod handshake;
mod log;
mod orphans;
mod process;
mod records;
mod started;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use rpcgauge_study::record::Build;
use rpcgauge_study::settings::Runtime;
use rpcgauge_study::subject::{AOT_CACHE, EVENTS, Flags, HEAP, version_of};

pub(crate) use ending::{MAX_PRINTED_BYTES, bound_output, run};
pub use ending::{end, end_with_this_program, spawn};
pub(crate) use error::{SubjectError, one_line};
pub(crate) use events::EventsFile;
pub(crate) use handshake::{Reply, exchange};
pub(crate) use log::{Log, wait_for_log};
pub use process::{Start, Subject};
pub(crate) use records::{RecordsFile, SliceRecords};
pub(crate) use started::Process;

/// How to start a subject: its program and command-line arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectCommand {
    /// The program, looked up in `PATH` if it is a bare name.
    pub program: PathBuf,
    /// The program's arguments.
    pub args: Vec<OsString>,
    /// The working directory; `None` for this program's own.
    pub folder: Option<PathBuf>,
    /// The name of the stack to run; `None` for the subject's first stack.
    pub stack: Option<String>,
    /// Whether the subject also needs its samples as protobuf bytes.
    pub protobuf_samples: bool,
    /// How long the subject may take to become ready; `None` for the lab's default.
    pub ready_timeout: Option<Duration>,
    /// How long the subject may take to exit; `None` for the lab's default.
    pub end_timeout: Option<Duration>,
    /// What the subject was built from; `None` for the embedded subject, which is part of this program.
    pub build: Option<Build>,
    /// The subject's size on disk without its language's runtime, bytes; `None` if unknown.
    pub disk: Option<u64>,
    /// The arguments that runtime settings add.
    pub runtime: RuntimeFlags,
}

/// The arguments that runtime settings add to a command, and how to read the runtime's events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuntimeFlags {
    /// The index at which to insert the arguments.
    pub place: usize,
    /// The arguments for each runtime setting.
    pub flags: Flags,
    /// The arguments that make the runtime write its events.
    pub events: Vec<String>,
    /// The program that prints the events, with its arguments; `None` if the runtime does not support
    /// events.
    pub read: Option<(PathBuf, Vec<String>)>,
}

impl SubjectCommand {
    /// A command that runs in this program's own working directory.
    pub fn new(
        program: impl Into<PathBuf>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self {
            program: program.into(),
            args,
            folder: None,
            stack: None,
            protobuf_samples: false,
            ready_timeout: None,
            end_timeout: None,
            build: None,
            disk: None,
            runtime: RuntimeFlags::default(),
        }
    }

    /// The same command for the stack `SUBJECT/STACK`, with or without a version.
    pub(crate) fn with_stack(&self, stack: &str) -> Self {
        let (stack, _) = version_of(stack).unwrap_or((stack, ""));
        Self {
            stack: stack.split_once('/').map(|(_, stack)| stack.to_owned()),
            ..self.clone()
        }
    }

    /// The command with those of these runtime settings that its stack supports, and with these files.
    pub(crate) fn with_runtime(&self, asked: &Runtime, files: &RuntimeFiles) -> Self {
        let has = &self.runtime;
        let usual = &has.flags.usual;
        // A setting that this stack does not support applies to another stack of the variant.
        let gc = asked
            .gc
            .as_ref()
            .filter(|gc| has.flags.gc.contains_key(*gc));
        let gc = gc.or(usual.gc.as_ref());
        let mut words = gc
            .and_then(|gc| has.flags.gc.get(gc))
            .cloned()
            .unwrap_or_default();
        if let Some(bytes) = asked.heap_bytes.or(usual.heap_bytes) {
            words.extend(filled(&has.flags.heap, HEAP, &bytes.to_string()));
        }
        let mut command = self.clone();
        if let (Some(flags), Some(cache)) = (&has.flags.aot_cache, &files.aot_cache) {
            let (flags, file) = match cache {
                AotCache::Write(file) => {
                    command.end_timeout = Some(TRAINING_END_TIMEOUT);
                    (&flags.train, file)
                }
                AotCache::Load(file) => (&flags.load, file),
            };
            words.extend(filled(flags, AOT_CACHE, &file.display().to_string()));
        }
        if let Some(file) = &files.events {
            words.extend(filled(&has.events, EVENTS, &file.display().to_string()));
        }
        let place = has.place.min(command.args.len());
        let words = words.into_iter().map(OsString::from);
        command.args.splice(place..place, words);
        command
    }
}

/// The files that a runtime writes or reads, if its settings need them.
#[derive(Debug, Default)]
pub(crate) struct RuntimeFiles {
    pub(crate) aot_cache: Option<AotCache>,
    /// Where it writes its events.
    pub(crate) events: Option<PathBuf>,
}

/// The file of an ahead-of-time cache.
#[derive(Debug)]
pub(crate) enum AotCache {
    /// A training run writes the file when it exits.
    Write(PathBuf),
    Load(PathBuf),
}

/// How long the process of a training run may take to write its cache and exit.
const TRAINING_END_TIMEOUT: Duration = Duration::from_secs(120);

/// Replaces a placeholder in the words of a manifest.
pub(crate) fn filled(words: &[String], place: &str, value: &str) -> Vec<String> {
    let words = words.iter();
    words.map(|word| word.replace(place, value)).collect()
}
