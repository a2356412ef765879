//! `subject.toml`: what a subject is, what it needs and what it can do.

mod stack;
mod tool;

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_contract::READY_TIMEOUT;
use rpcgauge_message::nearest::Nearest;
use serde::{Deserialize, Deserializer};

pub use self::stack::{Recommended, Stack};
pub use self::tool::{Tool, Version};

use self::stack::check_codecs;
use crate::error::{Source, StudyError};
use crate::features::{Adjustable, Features};
use crate::read::{Line, Size, Table, Time, filled, of};
use crate::words::is_plain;

/// The name of the manifest in a subject's folder.
pub const MANIFEST: &str = "subject.toml";

/// The placeholder in commands for the folder of a set of messages.
pub const MESSAGES: &str = "{messages}";

/// The placeholder for the stack's name in the command that runs a subject.
pub const STACK: &str = "{stack}";

/// The placeholder for the version in the commands that select another version of a stack's library.
pub const VERSION: &str = "{version}";

/// The placeholder in commands for the name of a stack's program.
pub const PROGRAM: &str = "{program}";

/// The placeholder in `run` for the folder of the process's temporary files.
pub const TEMPORARY: &str = "{temporary}";

/// The argument in `run` that the flags of the runtime replace.
pub const FLAGS: &str = "{flags}";

/// The placeholder in flags for the size of the heap, bytes.
pub const HEAP: &str = "{heap}";

/// The placeholder in flags for the file of the ahead-of-time cache.
pub const AOT_CACHE: &str = "{aot-cache}";

/// The placeholder for the event file, in flags and in the command that reads the file.
pub const EVENTS: &str = "{events}";

/// A subject as described by its `subject.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Manifest {
    /// Its name, which is also the name of its folder.
    #[serde(deserialize_with = "of::<_, Name, _>")]
    pub name: String,
    /// The language, as shown in lists.
    #[serde(deserialize_with = "of::<_, Line, _>")]
    pub language: String,
    /// The tools needed to build and run it.
    #[serde(default)]
    pub toolchain: Vec<Tool>,
    /// Commands that build it, run in order; empty if it needs no build.
    #[serde(default, deserialize_with = "commands")]
    pub build: Vec<Vec<String>>,
    /// How code for messages is generated, if not as part of the build.
    pub messages: Option<MessageCode>,
    /// The command that runs it.
    #[serde(deserialize_with = "of::<_, Command, _>")]
    pub run: Vec<String>,
    /// The arguments that runtime settings add to that command.
    #[serde(default)]
    pub flags: Flags,
    /// How the runtime reports its events.
    pub events: Option<Events>,
    /// How long it may take to become ready, ms.
    #[serde(default = "usual_timeout", rename = "ready-timeout")]
    #[serde(deserialize_with = "of::<_, Time, _>")]
    pub ready_timeout_ms: u64,
    /// Whether it also needs the samples of a user's own messages as protobuf bytes.
    #[serde(default)]
    pub protobuf_samples: bool,
    /// Whether one of its processes can play several parts.
    #[serde(default)]
    pub parts: bool,
    /// Programs that contain several stacks.
    #[serde(default)]
    pub programs: Vec<Program>,
    /// Its libraries with their versions.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// Its stacks.
    #[serde(skip)]
    pub stacks: Vec<Stack>,
}

/// A program that contains several stacks, so that they can run in one process.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name.
    #[serde(deserialize_with = "of::<_, Name, _>")]
    pub name: String,
    /// Its stacks.
    #[serde(deserialize_with = "filled")]
    pub stacks: Vec<String>,
}

/// How code for a set of messages is generated.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageCode {
    /// Commands that generate it, run in order once the subject is built. Commands that contain [`PROGRAM`] run last,
    /// once for each program that is needed.
    #[serde(deserialize_with = "commands")]
    pub generate: Vec<Vec<String>>,
    /// Programs in `PATH` that these commands use if they are installed.
    #[serde(default)]
    pub optional: Vec<String>,
}

/// The arguments that settings add to the command that runs a subject.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Flags {
    /// The arguments for each garbage collector.
    #[serde(deserialize_with = "collectors")]
    pub gc: BTreeMap<String, Vec<String>>,
    /// The arguments that set the heap size, with [`HEAP`] where the size goes; empty if it cannot be set.
    #[serde(deserialize_with = "of::<_, Command, _>")]
    pub heap: Vec<String>,
    /// The arguments for an ahead-of-time cache; absent if the runtime has none.
    pub aot_cache: Option<AotFlags>,
    /// The default settings.
    pub usual: UsualFlags,
}

/// The arguments for an ahead-of-time cache, with [`AOT_CACHE`] where its file goes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AotFlags {
    /// Those of a training run, which writes the file when it exits.
    #[serde(deserialize_with = "of::<_, Command, _>")]
    pub train: Vec<String>,
    /// Those that use the file.
    #[serde(deserialize_with = "of::<_, Command, _>")]
    pub load: Vec<String>,
}

/// The default settings of a runtime. A setting without a default adds no arguments unless a study sets it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UsualFlags {
    /// The garbage collector.
    pub gc: Option<String>,
    /// The size of the heap, bytes.
    #[serde(rename = "heap", deserialize_with = "of::<_, Size, _>")]
    pub heap_bytes: Option<u64>,
}

/// How a runtime reports its events.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// The arguments that make the runtime write events, with [`EVENTS`] where the file goes.
    #[serde(deserialize_with = "of::<_, Command, _>")]
    pub flags: Vec<String>,
    /// The command that prints the events once the process has exited.
    #[serde(deserialize_with = "of::<_, Command, _>")]
    pub read: Vec<String>,
}

/// A command's words.
#[derive(Deserialize)]
pub(crate) struct Command(#[serde(deserialize_with = "filled")] Vec<Line>);

/// A name that can be used in a study, a path and a variant's name without escaping.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Name(pub(crate) String);

fn commands<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<String>>, D::Error> {
    let commands: Vec<Command> = filled(deserializer)?;
    Ok(commands.into_iter().map(Into::into).collect())
}

fn collectors<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    let named: BTreeMap<Name, Vec<Line>> = BTreeMap::deserialize(deserializer)?;
    let named = named.into_iter().map(|(Name(name), words)| {
        let words = words.into_iter().map(String::from).collect();
        (name, words)
    });
    Ok(named.collect())
}

fn usual_timeout() -> u64 {
    READY_TIMEOUT.as_millis() as u64
}

impl From<Command> for Vec<String> {
    fn from(Command(words): Command) -> Self {
        words.into_iter().map(String::from).collect()
    }
}

impl From<Name> for String {
    fn from(Name(name): Name) -> Self {
        name
    }
}

/// A range of bytes in a file.
type Place = std::ops::Range<usize>;

impl MessageCode {
    /// The commands that run once for all programs, and those that run for each program.
    pub fn parts(&self) -> (Vec<&[String]>, Vec<&[String]>) {
        let is_of_program = |words: &&[String]| words.iter().any(|word| word.contains(PROGRAM));
        let commands = self.generate.iter().map(Vec::as_slice);
        commands.partition(|words| !is_of_program(words))
    }
}

impl Manifest {
    /// Reads a `subject.toml`. `file` is its name in messages.
    ///
    /// # Errors
    /// The first problem, with its line and column.
    pub fn parse(text: &str, file: &str) -> Result<Self, StudyError> {
        let source = Source {
            file: file.into(),
            text: text.into(),
        };
        let mut table = Table::root(&source)?.hinting(|key| {
            let of_stacks = "roles protocols encodings compressions transports tls workloads styles \
                connections channels in-flight threads start-up warm-up warm-up-calls codecs disk program version recommended";
            let is_stacks = of_stacks.split(' ').any(|of_stacks| of_stacks == key);
            is_stacks.then_some("it belongs to a stack: write it under [[stacks]]")
        });
        let tables = table.tables("stacks")?;
        let codecs: Vec<_> = tables.iter().map(|stack| stack.place("codecs")).collect();
        let stacks = tables.into_iter().map(Stack::read);
        let mut stacks = stacks.collect::<Result<Vec<Stack>, _>>()?;
        if stacks.is_empty() {
            return Err(table.error(
                "has no stack; write [[stacks]] with name = \"http\" and roles = [\"server\"]",
            ));
        }
        let places = ["run", "build", "flags", "events"].map(|key| table.place(key));
        let programs = table.place("programs").unwrap_or_default();
        let mut manifest: Self = table.rest()?;
        if let Some((place, message)) = manifest.wrong_commands(places) {
            return Err(source.error(place, message));
        }
        if let Some(message) = wrong_program(&manifest, &stacks) {
            return Err(source.error(programs, message));
        }
        Tool::name_programs(&mut manifest.toolchain);
        for (place, stack) in stacks.iter().enumerate() {
            if stacks[..place].iter().any(|other| other.name == stack.name) {
                let message = format!("duplicate stack \"{}\"", stack.name);
                return Err(source.whole(message));
            }
        }
        for (stack, place) in codecs.into_iter().enumerate() {
            let checked = check_codecs(&stacks, &stacks[stack]);
            checked.map_err(|message| source.error(place.unwrap_or_default(), message))?;
        }
        // Studies refer to codecs as SUBJECT/STACK.
        let named = stacks
            .iter_mut()
            .flat_map(|stack| stack.features.codecs.values_mut());
        named.for_each(|codec| *codec = format!("{}/{codec}", manifest.name));
        let runtime = Adjustable {
            gc: manifest.flags.gc.keys().cloned().collect(),
            heap: !manifest.flags.heap.is_empty(),
            aot_cache: manifest.flags.aot_cache.is_some(),
            events: manifest.events.is_some(),
        };
        for stack in &mut stacks {
            stack.features.runtime = runtime.clone();
            if manifest.parts {
                let carrying = manifest.programs.iter();
                let carrying = carrying.filter(|program| program.stacks.contains(&stack.name));
                let names = [&stack.name]
                    .into_iter()
                    .chain(carrying.map(|program| &program.name));
                let names = names.map(|name| format!("{}/{name}", manifest.name));
                stack.features.programs = names.collect();
            }
        }
        manifest.stacks = stacks;
        Ok(manifest)
    }

    /// The first problem with the placeholders in its commands, and its position. `places` are the positions of `run`,
    /// `build`, `[flags]` and `[events]`, where present.
    fn wrong_commands(&self, places: [Option<Place>; 4]) -> Option<(Place, String)> {
        let [run, build, flags, events] = places;
        let holds = |words: &[String], what| words.iter().any(|word| word.contains(what));
        if let Some(build) = build
            && self.build.iter().any(|words| holds(words, MESSAGES))
        {
            let what = "does not exist yet when the subject is built; use it in \"generate\"";
            return Some((build, format!("{MESSAGES} {what}")));
        }
        if let Some(run) = &run
            && self.messages.is_none()
            && holds(&self.run, MESSAGES)
        {
            let what = "needs [messages] with \"generate\", which fills that folder";
            return Some((run.clone(), format!("{MESSAGES} {what}")));
        }
        let words = self.run.iter().skip(1).filter(|word| *word == FLAGS);
        let Some(place) = flags.as_ref().or(events.as_ref()) else {
            let message = format!("{FLAGS} needs [flags] or [events], which define its arguments");
            return run
                .filter(|_| holds(&self.run, FLAGS))
                .map(|run| (run, message));
        };
        if words.count() != 1 {
            let message = format!("\"run\" needs the word \"{FLAGS}\" once, where the flags go");
            return Some((place.clone(), message));
        }
        if let Some(flags) = flags {
            let Flags {
                gc,
                heap,
                aot_cache,
                usual,
            } = &self.flags;
            let mut aot_words = aot_cache.iter().flat_map(|aot| [&aot.train, &aot.load]);
            if aot_words.any(|words| !holds(words, AOT_CACHE)) {
                let message =
                    format!("\"train\" and \"load\" need {AOT_CACHE} in a word, for the file");
                return Some((flags, message));
            }
            if !heap.is_empty() && !holds(heap, HEAP) {
                let message = format!("\"heap\" needs {HEAP} in a word, for the size in bytes");
                return Some((flags, message));
            }
            let is_known = usual.gc.as_ref().is_none_or(|usual| gc.contains_key(usual));
            if !is_known || usual.heap_bytes.is_some() && heap.is_empty() {
                let message = "\"usual\" sets a \"gc\" or \"heap\" that [flags] does not define";
                return Some((flags, message.to_owned()));
            }
        }
        let (told, place) = self.events.as_ref().zip(events)?;
        let is_told = holds(&told.flags, EVENTS) && holds(&told.read, EVENTS);
        (!is_told).then(|| {
            let message = format!("\"flags\" and \"read\" need {EVENTS} in a word, for the file");
            (place, message)
        })
    }

    /// The names of the programs that contain its stacks.
    pub fn program_names(&self) -> BTreeSet<&str> {
        let of_stacks = self.stacks.iter().flat_map(|stack| &stack.programs);
        let shared = self.programs.iter().map(|program| &program.name);
        of_stacks.chain(shared).map(String::as_str).collect()
    }

    /// The subject with another version of a stack's library, and only this stack: it is built with the stack's commands
    /// for another version. `None` if the stack has no such commands.
    pub fn at_version(&self, stack: &str, version: &str) -> Option<Self> {
        let mut stack = self
            .stack(stack)
            .filter(|stack| !stack.version.is_empty())?
            .clone();
        let filled = |words: &Vec<String>| -> Vec<String> {
            let words = words.iter();
            words.map(|word| word.replace(VERSION, version)).collect()
        };
        let select = stack.version.iter().map(filled);
        let build = select.chain(self.build.iter().cloned()).collect();
        // It has a process of its own: a program with several stacks contains the usual version.
        stack.features.programs.clear();
        // Another version may depend on other packages.
        stack.disk.clear();
        Some(Self {
            name: at_version(&format!("{}/{}", self.name, stack.name), version),
            // They are those of the usual version.
            versions: BTreeMap::new(),
            build,
            stacks: vec![stack],
            ..self.clone()
        })
    }

    /// The stack with this name.
    pub fn stack(&self, name: &str) -> Option<&Stack> {
        self.stacks.iter().find(|stack| stack.name == name)
    }

    /// Suggests stacks for an unknown name.
    pub fn nearest_stack(&self, name: &str) -> Nearest {
        let known: Vec<&str> = self.stacks.iter().map(|stack| &*stack.name).collect();
        Nearest::or_known(name, known)
    }

    /// Each of its stacks, by its name in studies (SUBJECT/STACK), with its features.
    pub fn features(&self) -> impl Iterator<Item = (String, Features)> {
        let name = |stack: &Stack| format!("{}/{}", self.name, stack.name);
        let stacks = self.stacks.iter();
        stacks.map(move |stack| (name(stack), stack.features.clone()))
    }
}

/// The name in studies of a stack with another version of its library: `go/grpc-go@1.80.0`.
fn at_version(stack: &str, version: &str) -> String {
    format!("{stack}@{version}")
}

/// The stack and the version in a name such as `go/grpc-go@1.80.0`; `None` if it has no version.
pub fn version_of(name: &str) -> Option<(&str, &str)> {
    name.split_once('@')
}

/// The first problem with the programs that contain several stacks.
fn wrong_program(manifest: &Manifest, stacks: &[Stack]) -> Option<String> {
    let known = || stacks.iter().map(|stack| &*stack.name);
    for (place, program) in manifest.programs.iter().enumerate() {
        let name = &program.name;
        if !manifest.parts {
            return Some(
                "[[programs]] needs parts = true: its programs play several parts".to_owned(),
            );
        }
        let before = manifest.programs[..place].iter();
        if known()
            .chain(before.map(|program| &*program.name))
            .any(|other| other == name)
        {
            return Some(format!(
                "the name \"{name}\" is already in use; rename the program"
            ));
        }
        for stack in &program.stacks {
            if !known().any(|other| other == stack) {
                let hint = Nearest::or_known(stack, known().collect::<Vec<_>>());
                return Some(format!(
                    "the program \"{name}\" names no stack \"{stack}\"{hint}"
                ));
            }
        }
    }
    None
}

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if is_plain(&name) {
            Ok(Self(name))
        } else {
            Err(format!(
                "the name \"{name}\" must consist of lower-case letters, digits and - or ., and begin with \
                 a letter or digit"
            ))
        }
    }
}

#[cfg(test)]
mod tests;
