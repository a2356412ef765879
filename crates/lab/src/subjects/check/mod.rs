//! Checks that a subject does what it declares: tries every way of every stack, each with processes of
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
    Callee, Client, HttpVersion, Protocol, Settings, Stop, Style, Transport,
};
use rpcgauge_study::subject::Stack;
use rpcgauge_study::words::Word as _;
use serde_json::{Value, json};

use super::{Built, Package, SubjectsError};
use crate::error::{TrialFailure, TrialResult};
use crate::scratch::Scratch;
use crate::subject::{Start, Subject, SubjectCommand};

/// Rows of the workloads: enough to see that lists are lists.
const ROWS: u32 = 3;

/// A call that has not ended after this has failed, ms.
const DEADLINE_MS: u64 = 10_000;

/// A client or codec that has not answered a line after this hangs: a slice is a few calls. Its library
/// may need a while to connect anew.
const PATIENCE: Duration = Duration::from_secs(15);

/// One thing that a stack was tried in.
#[derive(Debug)]
pub struct Tried<'a> {
    /// As a study writes it.
    pub stack: &'a str,
    /// In which role.
    pub role: Role,
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
        report: &mut dyn FnMut(&Tried<'_>),
    ) -> Result<(), SubjectsError> {
        let manifest = &self.package.manifest;
        let stacks: Vec<&Stack> = match only {
            None => manifest.stacks.iter().collect(),
            Some(name) => vec![manifest.stack(name).ok_or_else(|| SubjectsError::Unknown {
                name: format!("{}/{name}", manifest.name),
                hint: manifest.nearest_stack(name),
            })?],
        };
        let log = self.built.check_log();
        match std::fs::remove_file(&log) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(SubjectsError::Cache { path: log, source });
            }
            _ => {}
        }
        for stack in stacks {
            let name = format!("{}/{}", manifest.name, stack.name);
            for role in &stack.features.roles {
                let mut check = StackCheck {
                    command: self.built.command(manifest, &stack.name),
                    stack: &name,
                    features: &stack.features,
                    versions: &manifest.versions,
                    role: *role,
                    reference: self.reference,
                    scratch: Scratch::make()?,
                    log: log.clone(),
                    files: 0,
                    stop: self.stop,
                    report,
                };
                match role {
                    Role::Server => check.server(),
                    Role::Client => check.client(),
                    Role::Codec => check.codec(),
                }?;
            }
        }
        Ok(())
    }
}

/// The check of one stack in one role.
struct StackCheck<'a> {
    command: SubjectCommand,
    stack: &'a str,
    features: &'a Features,
    /// The versions that it declares.
    versions: &'a BTreeMap<String, String>,
    role: Role,
    reference: &'a SubjectCommand,
    /// Where sockets and records lie.
    scratch: Scratch,
    log: PathBuf,
    /// Sockets and records so far.
    files: u32,
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
            stack: self.stack,
            role: self.role,
            what,
            outcome,
        });
        Ok(())
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

    fn start(&self, settings: &contract::Settings) -> TrialResult<Subject> {
        let subject = Subject::start(&self.starts(&self.command, settings), self.stop)?;
        let given = &subject.ready().versions;
        let mut pinned = self.versions.iter();
        match pinned.find(|(name, version)| given.get(*name).is_some_and(|given| given != *version))
        {
            None => Ok(subject),
            Some((name, version)) => Err(wrong(format!(
                "it reports {name} {}, and its subject.toml says {version}",
                given[name]
            ))),
        }
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
                let start = check.starts(&check.command, settings);
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

    fn spec(&self) -> TrialResult<WorkloadSpec> {
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

    /// The settings of a server, or of a client that calls it in this style.
    fn call(&self, style: Option<Style>) -> TrialResult<Settings> {
        Ok(self.settings(Callee::Subject {
            server: String::new(),
            client: style.map(|style| Client {
                stack: String::new(),
                style,
            }),
            workload: self.spec()?,
        }))
    }

    fn settings(&self, callee: Callee) -> Settings {
        Settings {
            http: self.http,
            encoding: Some(self.encoding),
            request_compression: self.compression,
            response_compression: self.compression,
            transport: self.transport,
            stop: Stop {
                calls: Some(1),
                time_ms: None,
            },
            deadline_ms: DEADLINE_MS,
            ..Settings::new(callee, self.protocol)
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
    /// The part that a codec has too.
    fn coded(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workload = self.workload.word();
        write!(f, "{}, {}, {workload}", self.encoding, self.compression)
    }
}

/// A method of a user's own: the greeting's, as a user would hand it over.
fn own() -> TrialResult<WorkloadSpec> {
    let hello = workload(&WorkloadSpec::Hello {})?;
    let descriptor_set = hello.schema().descriptor_set().to_vec();
    Ok(WorkloadSpec::Own(Box::new(OwnWorkload {
        descriptor_set: STANDARD.encode(descriptor_set),
        method: "hello.Hello/SayHello".to_owned(),
        request: json!({"name": "somebody"}),
        response: json!({"message": "something"}),
    })))
}

fn workload(spec: &WorkloadSpec) -> TrialResult<Workload> {
    Workload::new(spec).map_err(|error| broken(&error))
}

/// This program cannot do what it should.
fn broken(error: &impl ToString) -> TrialFailure {
    TrialFailure::new(Fault::Instrument, error.to_string())
}

/// The subject does not do what it should.
fn wrong(reason: impl Into<String>) -> TrialFailure {
    TrialFailure::new(Fault::Subject, reason)
}

const LIMITS: Limits = Limits::DEFAULT;
