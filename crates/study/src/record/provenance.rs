//! The provenance of an invocation. Invocations of different provenance are never pooled: the lab refuses to measure
//! them in one run, and a run directory that contains both counts as damaged.

use std::collections::BTreeMap;
use std::fmt;

use rpcgauge_contract::check_versions;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::Environment;

/// The program and the machine of an invocation, written when the invocation begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InvocationRecord {
    /// Its number, from 0.
    pub invocation: u32,
    /// The machine at that time, without subjects.
    pub environment: Environment,
}

/// The subjects of a variant in an invocation, written when they are first ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectsRecord {
    /// The invocation, from 0.
    pub invocation: u32,
    /// The variant's name.
    pub variant: String,
    /// The server, then the client; or the codec.
    pub stacks: Vec<StackRecord>,
}

/// A stack that was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackRecord {
    /// SUBJECT/STACK.
    pub stack: String,
    /// What it was built from; absent for the embedded reference server, which is part of rpcgauge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// The versions in its ready line.
    #[serde(deserialize_with = "checked_versions")]
    pub versions: BTreeMap<String, String>,
}

fn checked_versions<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    let versions = BTreeMap::deserialize(deserializer)?;
    check_versions(&versions).map_err(D::Error::custom)?;
    Ok(versions)
}

/// What a subject was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// A digest of its sources and toolchain, which also names its folder in the cache.
    pub digest: String,
    /// The version of each tool.
    pub toolchain: BTreeMap<String, String>,
}

/// What differs between an invocation and those before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Difference {
    what: String,
    before: String,
    now: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, before, now } = self;
        write!(f, "{what} was {before} before and is {now} now")
    }
}

/// Refuses two values that differ.
fn same(what: &str, before: &str, now: &str) -> Result<(), Difference> {
    if before == now {
        return Ok(());
    }
    let named = |value: &str| match value {
        "" => "unknown".to_owned(),
        value => value.to_owned(),
    };
    Err(Difference {
        what: what.to_owned(),
        before: named(before),
        now: named(now),
    })
}

/// Refuses maps that differ. The error is about the first name whose versions differ; `what` turns the name into a
/// phrase.
fn same_versions(
    what: impl Fn(&str) -> String,
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Result<(), Difference> {
    let version = |of: &BTreeMap<String, String>, name| of.get(name).cloned().unwrap_or_default();
    before
        .keys()
        .chain(now.keys())
        .try_for_each(|name| same(&what(name), &version(before, name), &version(now, name)))
}

/// What a run has been measured with so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Provenance {
    environment: Option<Environment>,
    /// By what was built: a subject, whose stacks are built together, or an application.
    builds: BTreeMap<String, Build>,
    /// By the variant's name.
    stacks: BTreeMap<String, Vec<StackRecord>>,
    /// The program that generates the load for an application.
    load_generator: Option<String>,
}

impl Provenance {
    /// Whether no invocation has been added.
    pub fn is_empty(&self) -> bool {
        self.environment.is_none()
    }

    /// Adds an invocation.
    ///
    /// # Errors
    /// The earlier invocations were measured by another build of rpcgauge or on another machine.
    pub fn add_environment(&mut self, now: &Environment) -> Result<(), Difference> {
        let Some(before) = &self.environment else {
            self.environment = Some(now.clone());
            return Ok(());
        };
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        for (what, before, now) in [
            ("the version of rpcgauge", &before.rpcgauge, &now.rpcgauge),
            (
                "the digest of rpcgauge's executable",
                &text(&before.executable),
                &text(&now.executable),
            ),
            ("the system", &before.system, &now.system),
            ("the processor", &before.processor, &now.processor),
            (
                "the number of cores",
                &before.cores.to_string(),
                &now.cores.to_string(),
            ),
            (
                "the virtualization",
                &text(&before.virtualization),
                &text(&now.virtualization),
            ),
            (
                "the digest of the machine's id",
                &text(&before.machine_id),
                &text(&now.machine_id),
            ),
        ] {
            same(what, before, now)?;
        }
        // The memory that the kernel reserves varies a little from boot to boot.
        if before.memory_bytes.abs_diff(now.memory_bytes) > before.memory_bytes / 16 {
            let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
            same(
                "the machine's memory",
                &mib(before.memory_bytes),
                &mib(now.memory_bytes),
            )?;
        }
        Ok(())
    }

    /// Adds the subjects of a variant.
    ///
    /// # Errors
    /// A stack's build or its reported versions differ from before.
    pub fn add_subjects(&mut self, now: &SubjectsRecord) -> Result<(), Difference> {
        for stack in &now.stacks {
            self.check_build(&stack.stack, stack.build.as_ref())?;
        }
        if let Some(before) = self.stacks.get(&now.variant) {
            for (before, now) in before.iter().zip(&now.stacks) {
                same("the stack", &before.stack, &now.stack)?;
                let what = |name: &str| format!("the version of {name} in {}", now.stack);
                same_versions(what, &before.versions, &now.versions)?;
            }
            return Ok(());
        }
        for stack in &now.stacks {
            if let Some(build) = &stack.build {
                let built = self.builds.entry(subject(&stack.stack));
                built.or_insert_with(|| build.clone());
            }
        }
        self.stacks.insert(now.variant.clone(), now.stacks.clone());
        Ok(())
    }

    /// Checks the build of a stack that is about to be measured.
    ///
    /// # Errors
    /// The build differs from before.
    pub fn check_build(&self, stack: &str, now: Option<&Build>) -> Result<(), Difference> {
        now.map_or(Ok(()), |now| self.same_build(&subject(stack), now))
    }

    /// Adds a start of an application.
    ///
    /// # Errors
    /// Its build or its load generator differs from before.
    pub fn add_application(
        &mut self,
        name: &str,
        build: &Build,
        load_generator: &str,
    ) -> Result<(), Difference> {
        let application = format!("the application {name}");
        self.same_build(&application, build)?;
        self.builds
            .entry(application)
            .or_insert_with(|| build.clone());
        let before = self
            .load_generator
            .get_or_insert_with(|| load_generator.to_owned());
        same("the load generator", before, load_generator)
    }

    fn same_build(&self, built: &str, now: &Build) -> Result<(), Difference> {
        let Some(before) = self.builds.get(built) else {
            return Ok(());
        };
        let what = |tool: &str| format!("{tool}, which builds {built},");
        same_versions(what, &before.toolchain, &now.toolchain)?;
        let what = format!("the digest of the sources and toolchain of {built}");
        same(&what, &before.digest, &now.digest)
    }
}

/// The subject of SUBJECT/STACK, as named in a [`Difference`].
fn subject(stack: &str) -> String {
    let subject = stack.split_once('/').map_or(stack, |(subject, _)| subject);
    format!("the subject {subject}")
}
