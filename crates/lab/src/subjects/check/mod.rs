//! Checks that a subject does what it declares: tries the ways of every stack, each with processes of its
//! own.

mod client;
mod codec;
mod pairs;
mod server;
mod slices;
mod versions;

use std::fmt;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rpcgauge_message::contract::{self, END_TIMEOUT, READY_TIMEOUT};
use rpcgauge_message::workload::{MessageSet, OwnWorkload};
use rpcgauge_message::{Compression, Encoding, Limits, Schema, Workload, WorkloadSpec};
use rpcgauge_study::features::{CompressionKind, Features, Role, WorkloadKind};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{
    Client, HttpVersion, Protocol, Runtime, Settings, Stop, Style, Target, Transport,
};
use rpcgauge_study::subject::Stack;
use rpcgauge_study::words::{Word as _, size_word};
use serde_json::{Value, json};

use self::pairs::all_pairs;
use self::versions::Reported;
use super::{Built, Package, Step, SubjectsError};
use crate::error::{TrialFailure, TrialResult};
use crate::scratch::Scratch;
use crate::stacks::Stacks;
use crate::subject::{EventsFile, Start, Subject, SubjectCommand};

/// Rows of the workloads: enough to see that lists are lists.
const ROWS: u32 = 3;

/// A heap that every runtime can start with.
const HEAP_BYTES: u64 = 256 << 20;

/// A call that has not ended after this has failed, ms.
const DEADLINE_MS: u64 = 10_000;

/// A client or codec that has not answered a line after this hangs: a slice is a few calls. Its library
/// may need a while to connect anew.
const PATIENCE: Duration = Duration::from_secs(15);

/// One thing that a subject was tried in.
#[derive(Debug)]
pub struct Tried<'a> {
    /// A stack, as a study writes it, and its role; or the subject's name.
    pub who: &'a str,
    /// What was tried, in words.
    pub what: &'a str,
    /// How it ended.
    pub outcome: TrialResult,
}

/// What a check needs beside the subject.
pub struct Check<'a> {
    /// The subject.
    pub package: &'a Package,
    /// The folder that it was built in.
    pub built: &'a Built,
    /// The embedded server, which clients are tried against.
    pub reference: &'a SubjectCommand,
    /// Whether to try every combination of what a stack declares, and not only every two values together.
    pub every_combination: bool,
    /// Set when it should end.
    pub stop: &'a AtomicBool,
}

impl Check<'_> {
    /// Tries all that the stack declares, or all stacks, and reports each thing that was tried.
    ///
    /// # Errors
    /// There is no such stack, it was asked to stop, or no folder can be made for sockets.
    pub fn run(
        &self,
        only: Option<&str>,
        step: &mut dyn FnMut(Step<'_>),
        report: &mut dyn FnMut(&Tried<'_>),
    ) -> Result<(), SubjectsError> {
        let manifest = &self.package.manifest;
        let stacks: Vec<&Stack> = match only {
            None => manifest.stacks.iter().collect(),
            Some(name) => vec![manifest.stack(name).ok_or_else(|| {
                let nearest = manifest.nearest_stack(name);
                SubjectsError::Unknown(format!("{}/{name}", manifest.name), nearest)
            })?],
        };
        let log = self.built.check_log();
        match std::fs::remove_file(&log) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(SubjectsError::Cache(log, source));
            }
            _ => {}
        }
        let pinned = &manifest.versions;
        let is_whole = stacks.len() == manifest.stacks.len();
        let mut reported = Reported::default();
        let mut have_all_started = true;
        for stack in stacks {
            let name = format!("{}/{}", manifest.name, stack.name);
            let stacks = self.stacks(&name, stack, step)?;
            for role in &stack.features.roles {
                let mut check = StackCheck {
                    asked: self,
                    stacks: &stacks,
                    who: format!("{name} as {}", role.word()),
                    stack: &name,
                    declared: stack,
                    features: &stack.features,
                    scratch: Scratch::make()?,
                    log: log.clone(),
                    runtime: Runtime::default(),
                    events: None,
                    files: 0,
                    reported: Reported::default(),
                    stop: self.stop,
                    report,
                };
                match role {
                    Role::Server => check.server(),
                    Role::Client => check.client(),
                    Role::Codec => check.codec(),
                }?;
                if !pinned.is_empty() && check.reported.is_known() {
                    check.attempt("reports the versions of its subject.toml", |check| {
                        check.reported.agree(pinned)
                    })?;
                }
                have_all_started &= check.reported.is_known();
                reported.add(check.reported);
            }
        }
        // A stack that never starts fails above, and says nothing about versions.
        if is_whole && have_all_started && !pinned.is_empty() {
            report(&Tried {
                who: &manifest.name,
                what: "reports every version of its subject.toml",
                outcome: reported.is_complete(pinned),
            });
        }
        Ok(())
    }

    /// How a stack is started for each set of messages that it declares.
    fn stacks(
        &self,
        name: &str,
        stack: &Stack,
        step: &mut dyn FnMut(Step<'_>),
    ) -> Result<Stacks, SubjectsError> {
        let mut stacks = Stacks::default();
        let mut sets: Vec<MessageSet> = Vec::new();
        for kind in &stack.features.workloads {
            let set = match (kind, &*OWN) {
                (WorkloadKind::Own, Ok(own)) => MessageSet::from(own),
                // Its trials say what is wrong with the sample.
                (WorkloadKind::Own, Err(_)) => continue,
                _ => MessageSet::BuiltIn,
            };
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
        for set in sets {
            let manifest = &self.package.manifest;
            let built = self.built;
            let command = built.command(manifest, &stack.name, &set, step, self.stop);
            if matches!(command, Err(SubjectsError::Stopped)) {
                return Err(SubjectsError::Stopped);
            }
            stacks.add_for(name, set, command.as_ref());
        }
        Ok(stacks)
    }
}

/// The check of one stack in one role.
struct StackCheck<'a> {
    asked: &'a Check<'a>,
    /// The stack and its role.
    who: String,
    stacks: &'a Stacks,
    /// As a study writes it.
    stack: &'a str,
    declared: &'a Stack,
    features: &'a Features,
    /// Where sockets and records lie.
    scratch: Scratch,
    log: PathBuf,
    /// What is asked of its runtime, and the file for its events.
    runtime: Runtime,
    events: Option<PathBuf>,
    /// Sockets and records so far.
    files: u32,
    reported: Reported,
    stop: &'a AtomicBool,
    report: &'a mut dyn FnMut(&Tried<'_>),
}

impl StackCheck<'_> {
    /// Tries one thing and reports the outcome.
    fn attempt(
        &mut self,
        what: &str,
        attempt: impl FnOnce(&mut Self) -> TrialResult,
    ) -> Result<(), SubjectsError> {
        let outcome = attempt(self);
        if self.stop.load(Ordering::Relaxed) {
            return Err(SubjectsError::Stopped);
        }
        (self.report)(&Tried {
            who: &self.who,
            what,
            outcome,
        });
        Ok(())
    }

    /// The ways to try.
    fn chosen<T>(&self, ways: Vec<T>, values: impl Fn(&T) -> Vec<String>) -> Vec<T> {
        match self.asked.every_combination {
            true => ways,
            false => all_pairs(ways, values),
        }
    }

    /// A path that is not in use.
    fn path(&mut self) -> PathBuf {
        self.files += 1;
        self.scratch.path(&self.files.to_string())
    }

    fn starts<'s>(
        &'s self,
        command: &'s SubjectCommand,
        settings: &'s contract::Settings,
    ) -> Start<'s> {
        Start {
            command,
            settings,
            cores: None,
            log: &self.log,
            ready_timeout: command.ready_timeout.unwrap_or(READY_TIMEOUT),
            end_timeout: END_TIMEOUT,
        }
    }

    fn start(&mut self, settings: &contract::Settings) -> TrialResult<Subject> {
        let command = self.command(settings)?;
        let needed = &self.declared.disk;
        if !needed.is_empty() && command.disk.is_none() {
            return Err(wrong(format!(
                "its subject.toml says that it needs {}, and not all of that is there",
                needed.join(", ")
            )));
        }
        let subject = Subject::start(&self.starts(&command, settings), self.stop)?;
        self.reported.note(&subject.ready().versions);
        Ok(subject)
    }

    /// How the stack is started for the messages in its settings.
    fn command(&self, settings: &contract::Settings) -> TrialResult<SubjectCommand> {
        let workload = match settings {
            contract::Settings::Server(server) => Some(&server.workload),
            contract::Settings::Client(client) => Some(&client.workload),
            contract::Settings::Codec(codec) => Some(&codec.workload),
            contract::Settings::Floor(_) => None,
        };
        let command = self.stacks.command(self.stack, workload)?;
        Ok(command.with_runtime(&self.runtime, self.events.as_deref()))
    }

    /// Starts with each setting of its runtime, and reads its events.
    fn runtimes(&mut self, settings: &contract::Settings) -> Result<(), SubjectsError> {
        let has = &self.features.runtime;
        for gc in &has.gc {
            self.runtime.gc = Some(gc.clone());
            let what = format!("starts with the garbage collector {gc}");
            self.attempt(&what, |check| check.start(settings)?.end_well())?;
        }
        self.runtime = Runtime::default();
        if has.heap {
            self.runtime.heap_bytes = Some(HEAP_BYTES);
            let what = format!("starts with a heap of {}", size_word(HEAP_BYTES));
            self.attempt(&what, |check| check.start(settings)?.end_well())?;
        }
        self.runtime = Runtime::default();
        if has.events {
            self.attempt("tells what its runtime does", |check| {
                let file = check.path();
                let events = EventsFile::of(&check.command(settings)?, file.clone());
                check.events = Some(file);
                let started = check.start(settings);
                check.events = None;
                started?.end_well()?;
                let events = events.map_or(Ok(Vec::new()), |file| file.read(self.stop));
                events.map(|_| ()).map_err(wrong)
            })?;
        }
        Ok(())
    }

    /// What every subject must refuse with an error line.
    fn refusals(&mut self, settings: &contract::Settings) -> Result<(), SubjectsError> {
        let line: Value = serde_json::from_str(&settings.to_line()).unwrap_or_default();
        for (what, key, value) in [
            ("refuses an unknown setting", "pace", json!("brisk")),
            ("refuses an unknown stack", "stack", json!("no-such-stack")),
            (
                "refuses an unknown encoding",
                "encoding",
                json!("semaphore"),
            ),
            (
                "refuses an unknown workload",
                "workload",
                json!({"name": "siesta"}),
            ),
            ("refuses another contract", "contract", json!(2)),
        ] {
            let mut line = line.clone();
            line[key] = value;
            self.attempt(what, |check| {
                let command = check.command(settings)?;
                let start = check.starts(&command, settings);
                Subject::refusal(&start, &line.to_string(), check.stop).map(|_| ())
            })?;
        }
        Ok(())
    }
}

/// A way to call, or to encode.
#[derive(Debug, Clone)]
struct Way {
    protocol: Protocol,
    http: HttpVersion,
    encoding: Encoding,
    compression: Compression,
    transport: Transport,
    workload: WorkloadKind,
    /// A server's.
    threads: u32,
}

impl Way {
    /// Every way that a server or client declares.
    fn calls(features: &Features) -> Vec<Self> {
        let mut ways = Vec::new();
        for (&protocol, versions) in &features.protocols {
            for &http in versions {
                for &transport in &features.transports {
                    ways.extend(Self::codecs(features).into_iter().map(|way| Self {
                        protocol,
                        http,
                        transport,
                        ..way
                    }));
                }
            }
        }
        ways
    }

    /// Every way that a codec declares.
    fn codecs(features: &Features) -> Vec<Self> {
        let mut ways = Vec::new();
        for &encoding in &features.encodings {
            for &kind in &features.compressions {
                for &workload in &features.workloads {
                    ways.push(Self {
                        protocol: Protocol::Rest,
                        http: HttpVersion::Http1,
                        encoding,
                        compression: match kind {
                            CompressionKind::None => Compression::None,
                            CompressionKind::Gzip => Compression::GZIP,
                            CompressionKind::Zstd => Compression::ZSTD,
                        },
                        transport: Transport::Tcp,
                        workload,
                        threads: 1,
                    });
                }
            }
        }
        ways
    }

    fn spec(&self) -> TrialResult<WorkloadSpec> {
        Ok(match self.workload {
            WorkloadKind::Echo => WorkloadSpec::Echo { n: ROWS },
            WorkloadKind::Hello => WorkloadSpec::Hello {},
            WorkloadKind::List => WorkloadSpec::List { n: ROWS },
            WorkloadKind::Records => WorkloadSpec::Records { n: ROWS },
            WorkloadKind::Profile => WorkloadSpec::Profile {},
            WorkloadKind::Followers => WorkloadSpec::Followers { n: ROWS },
            WorkloadKind::Own => OWN.clone().map_err(broken)?,
        })
    }

    /// The settings of a server, or of a client that calls it in this style.
    fn call(&self, style: Option<Style>) -> TrialResult<Settings> {
        Ok(self.settings(Target::Subject {
            server: String::new(),
            client: style.map(|style| Client {
                stack: String::new(),
                style,
            }),
            workload: self.spec()?,
        }))
    }

    fn settings(&self, target: Target) -> Settings {
        Settings {
            http: self.http,
            encoding: Some(self.encoding),
            request_compression: self.compression,
            response_compression: self.compression,
            transport: self.transport,
            threads: self.threads,
            stop: Stop {
                calls: Some(1),
                time_ms: None,
            },
            deadline_ms: DEADLINE_MS,
            ..Settings::new(target, self.protocol)
        }
    }

    /// What varies from one way to another.
    fn values(&self) -> Vec<String> {
        let (protocol, http) = (self.protocol.word(), self.http.word());
        let (transport, workload) = (self.transport.word(), self.workload.word());
        let values = [protocol, http, transport, workload].map(str::to_owned);
        let coded = [self.encoding.to_string(), self.compression.to_string()];
        [&values[..], &coded].concat()
    }

    /// The part that a codec has too.
    fn coded(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workload = self.workload.word();
        write!(f, "{}, {}, {workload}", self.encoding, self.compression)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (protocol, http) = (self.protocol.word(), self.http.word());
        let transport = self.transport.word();
        write!(f, "{protocol} on HTTP/{http} by {transport}, ")?;
        self.coded(f)
    }
}

/// A method of a user's own, as a user would hand it over.
static OWN: LazyLock<Result<WorkloadSpec, String>> = LazyLock::new(|| {
    let own = || -> Result<OwnWorkload, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let proto = folder.path().join("own.proto");
        std::fs::write(&proto, include_str!("own.proto"))?;
        let schema = Schema::compile(&[proto], &[])?;
        let request = json!({"type": "any", "afterId": u64::MAX.to_string()});
        let part = json!({"partName": "a part", "weights": [0.5, -2, 1e300]});
        let response = json!({
            "signedId": i64::MIN.to_string(),
            "unsignedId": u64::MAX.to_string(),
            "rawBytes": "AAH+/w==",
            "kind": "KIND_LARGE",
            "kinds": ["KIND_SMALL", "KIND_UNSPECIFIED"],
            "partsByName": {"first": part, "": {}},
            "namesById": {"-7": "minus seven", "9007199254740993": "no double"},
            "number": "-9007199254740993",
            "setToZero": 0,
            "madeAt": "2026-01-02T03:04:05.678Z",
            "ids": ["9007199254740993", "0", "-1"],
            "ratio": 0.25,
            "isNew": true,
            "children": [{"part": part}, {"text": "\u{e9}\"\\\n"}],
        });
        Ok(OwnWorkload::new(
            &schema,
            "check.v1.Things/Find",
            &request.to_string(),
            &response.to_string(),
        )?)
    };
    let own = own().map_err(|error| error.to_string())?;
    Ok(WorkloadSpec::Own(Box::new(own)))
});

fn workload(spec: &WorkloadSpec) -> TrialResult<Workload> {
    Workload::new(spec).map_err(broken)
}

/// This program cannot do what it should.
fn broken(error: impl ToString) -> TrialFailure {
    TrialFailure::new(Fault::Instrument, error.to_string())
}

/// The subject does not do what it should.
fn wrong(reason: impl Into<String>) -> TrialFailure {
    TrialFailure::new(Fault::Subject, reason)
}

const LIMITS: Limits = Limits::DEFAULT;
