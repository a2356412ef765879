//! Whether a subject does what it declares: every way of every stack tried, each with processes of
//! its own.

mod client;
mod codec;
mod server;
mod slices;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rpcgauge_message::contract::{self, END_TIMEOUT, READY_TIMEOUT};
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{Compression, Encoding, Limits, Workload, WorkloadSpec};
use rpcgauge_study::features::{CompressionKind, Features, Role, WorkloadKind};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{
    Callee, ConnectionUse, HttpVersion, Protocol, Schedule, Settings, Stop, Transport,
};
use rpcgauge_study::subject::Stack;
use rpcgauge_study::words::Word as _;
use serde_json::{Value, json};

use super::{Built, Package, SubjectsError};
use crate::TrialFailure;
use crate::subject::{Start, Subject, SubjectCommand};

/// Rows of the workloads: enough to see that lists are lists.
const ROWS: u32 = 3;

/// A call that has not ended after this has failed, ms.
const DEADLINE_MS: u64 = 10_000;

/// A client or codec that has not answered after this hangs: a few calls are all it is asked for. It
/// may have to wait a while until its library connects anew.
const PATIENCE: Duration = Duration::from_secs(15);

type Trialled<T = ()> = Result<T, TrialFailure>;

/// One thing that a stack was tried in.
#[derive(Debug)]
pub struct Tried<'a> {
    /// As a study writes it.
    pub stack: &'a str,
    /// In which role.
    pub role: Role,
    /// What was tried, in words.
    pub what: &'a str,
    /// What came of it.
    pub outcome: Result<(), TrialFailure>,
}

/// What a check needs beside the subject.
pub struct Check<'a> {
    /// The subject.
    pub package: &'a Package,
    /// The folder that it was built in.
    pub built: &'a Built,
    /// The embedded server, which clients are tried against.
    pub reference: &'a SubjectCommand,
    /// Set when it should end.
    pub stop: &'a AtomicBool,
}

impl Check<'_> {
    /// Tries all that the stack declares, or all stacks, and tells each thing that was tried.
    ///
    /// # Errors
    /// There is no such stack, it was asked to stop, or no folder can be made for sockets.
    pub fn run(
        &self,
        only: Option<&str>,
        tell: &mut dyn FnMut(&Tried<'_>),
    ) -> Result<(), SubjectsError> {
        let manifest = &self.package.manifest;
        let stacks: Vec<&Stack> = match only {
            None => manifest.stacks.iter().collect(),
            Some(name) => vec![manifest.stack(name).ok_or_else(|| SubjectsError::Unknown {
                name: format!("{}/{name}", manifest.name),
                hint: manifest.nearest_stack(name),
            })?],
        };
        let unwritable = |path: PathBuf| move |source| SubjectsError::Cache { path, source };
        let log = self.built.check_log();
        match std::fs::remove_file(&log) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(unwritable(log)(error));
            }
            _ => {}
        }
        for stack in stacks {
            let name = format!("{}/{}", manifest.name, stack.name);
            for role in &stack.features.roles {
                let folder = tempfile::tempdir().map_err(unwritable(std::env::temp_dir()))?;
                let mut trial = Trial {
                    command: self.built.command(manifest, &stack.name),
                    stack: &name,
                    features: &stack.features,
                    versions: &manifest.versions,
                    role: *role,
                    reference: self.reference,
                    folder: folder.path().to_owned(),
                    log: log.clone(),
                    files: 0,
                    stop: self.stop,
                    tell,
                };
                let ended = match role {
                    Role::Server => trial.server(),
                    Role::Client => trial.client(),
                    Role::Codec => trial.codec(),
                };
                ended.map_err(|Stopped| SubjectsError::Stopped)?;
            }
        }
        Ok(())
    }
}

/// It was asked to stop.
struct Stopped;

/// One stack under trial in one role.
struct Trial<'a> {
    command: SubjectCommand,
    stack: &'a str,
    features: &'a Features,
    /// The versions that it declares.
    versions: &'a BTreeMap<String, String>,
    role: Role,
    reference: &'a SubjectCommand,
    folder: PathBuf,
    log: PathBuf,
    /// Sockets and records so far.
    files: u32,
    stop: &'a AtomicBool,
    tell: &'a mut dyn FnMut(&Tried<'_>),
}

impl Trial<'_> {
    /// Tries one thing and tells what came of it.
    fn attempt(
        &mut self,
        what: &str,
        attempt: impl FnOnce(&mut Self) -> Trialled,
    ) -> Result<(), Stopped> {
        let outcome = attempt(self);
        if self.stop.load(Ordering::Relaxed) {
            return Err(Stopped);
        }
        (self.tell)(&Tried {
            stack: self.stack,
            role: self.role,
            what,
            outcome,
        });
        Ok(())
    }

    /// A path that nothing has.
    fn path(&mut self) -> PathBuf {
        self.files += 1;
        self.folder.join(self.files.to_string())
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

    fn start(&self, settings: &contract::Settings) -> Trialled<Subject> {
        let subject = Subject::start(&self.starts(&self.command, settings), self.stop)?;
        let told = &subject.ready().versions;
        let mut pinned = self.versions.iter();
        match pinned.find(|(name, version)| told.get(*name).is_some_and(|told| told != *version)) {
            None => Ok(subject),
            Some((name, version)) => Err(wrong(format!(
                "it says that {name} is {}, and its subject.toml says {version}",
                told[name]
            ))),
        }
    }

    /// What every subject must refuse, told by an error line.
    fn refusals(&mut self, settings: &contract::Settings) -> Result<(), Stopped> {
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
            self.attempt(what, |trial| {
                let start = trial.starts(&trial.command, settings);
                Subject::refusal(&start, &line.to_string(), trial.stop).map(|_| ())
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
                    });
                }
            }
        }
        ways
    }

    fn spec(&self) -> Trialled<WorkloadSpec> {
        Ok(match self.workload {
            WorkloadKind::Echo => WorkloadSpec::Echo { n: ROWS },
            WorkloadKind::Hello => WorkloadSpec::Hello {},
            WorkloadKind::List => WorkloadSpec::List { n: ROWS },
            WorkloadKind::Records => WorkloadSpec::Records { n: ROWS },
            WorkloadKind::Profile => WorkloadSpec::Profile {},
            WorkloadKind::Followers => WorkloadSpec::Followers { n: ROWS },
            WorkloadKind::Own => own()?,
        })
    }

    fn settings(&self, spec: &WorkloadSpec) -> Settings {
        Settings {
            callee: Callee::Subject {
                server: String::new(),
                client: None,
                workload: spec.clone(),
            },
            protocol: self.protocol,
            http: self.http,
            encoding: Some(self.encoding),
            request_compression: self.compression,
            response_compression: self.compression,
            transport: self.transport,
            connection: ConnectionUse::Reuse,
            connections: 1,
            schedule: Schedule::Closed { in_flight: 1 },
            stop: Stop {
                calls: Some(1),
                time_ms: None,
            },
            deadline_ms: DEADLINE_MS,
        }
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

impl Way {
    /// The part of it that a codec has.
    fn coded(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workload = self.workload.word();
        write!(f, "{}, {}, {workload}", self.encoding, self.compression)
    }
}

/// A method of a user's own: the greeting's, as a user would hand it over.
fn own() -> Trialled<WorkloadSpec> {
    let hello = workload(&WorkloadSpec::Hello {})?;
    let descriptor_set = hello.schema().descriptor_set().to_vec();
    Ok(WorkloadSpec::Own(Box::new(OwnWorkload {
        descriptor_set: STANDARD.encode(descriptor_set),
        method: "hello.Hello/SayHello".to_owned(),
        request: json!({"name": "somebody"}),
        response: json!({"message": "something"}),
    })))
}

fn workload(spec: &WorkloadSpec) -> Trialled<Workload> {
    Workload::new(spec).map_err(|error| broken(&error))
}

/// This side cannot do what every side should.
fn broken(error: &impl ToString) -> TrialFailure {
    TrialFailure::new(Fault::Instrument, error.to_string())
}

/// The subject does not do what it should.
fn wrong(reason: impl Into<String>) -> TrialFailure {
    TrialFailure::new(Fault::Subject, reason)
}

const LIMITS: Limits = Limits::DEFAULT;
