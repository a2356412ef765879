//! Builds subjects and applications from their sources, and generates code for messages, once for all runs.
//!
//! ```text
//! CACHE/rpcgauge/subjects/
//!   NAME-DIGEST/                the unpacked sources, built in place
//!   NAME-DIGEST.messages/SET/   the code generated for a set of messages
//! ```

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_message::workload::MessageSet;
use rpcgauge_study::record::Build;
use rpcgauge_study::subject::{AotFlags, FLAGS, Flags, MESSAGES, Manifest, PROGRAM, STACK};

use super::commands::{Commands, Step};
use super::error::SubjectsError;
use super::folders::{beside, empty, forget, has_part, is_whole, unwritable};
use super::tools::{FoundTool, find_all, in_path, matching};
use super::{Package, State};
use crate::subject::{RuntimeFlags, SubjectCommand, filled};

/// A subject or an application that has been built.
#[derive(Debug, Clone)]
pub struct Built {
    folder: PathBuf,
    /// The digest of the sources and the toolchain.
    digest: String,
    tools: Vec<FoundTool>,
}

impl Built {
    pub(super) fn new(folder: PathBuf, digest: String, tools: Vec<FoundTool>) -> Self {
        Self {
            folder,
            digest,
            tools,
        }
    }

    /// The folder in which its programs start.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it was built from.
    pub(crate) fn build(&self) -> Build {
        let tools = self.tools.iter();
        let tools = tools.map(|tool| (tool.name.clone(), tool.version.clone()));
        Build {
            digest: self.digest.clone(),
            toolchain: tools.collect(),
        }
    }

    /// The log of the last `check` of the subject.
    pub fn check_log(&self) -> PathBuf {
        beside(&self.folder, "check.log")
    }

    /// Resolves the program of a command: a tool of the manifest, a file in the folder, or a program in
    /// `PATH`.
    pub(crate) fn program(&self, word: &str) -> PathBuf {
        match self.tools.iter().find(|tool| tool.name == word) {
            Some(tool) => tool.path.clone(),
            None if word.contains('/') => self.folder.join(word),
            None => PathBuf::from(word),
        }
    }

    /// The folder that contains the generated code of all sets of messages.
    fn sets(&self) -> PathBuf {
        beside(&self.folder, "messages")
    }

    /// Returns the command that starts one of the subject's stacks for a set of messages. Generates the code
    /// for these messages unless it already exists.
    ///
    /// # Errors
    /// Fails if a command of the generator fails; its log is kept.
    pub(super) fn command(
        &self,
        manifest: &Manifest,
        stack: &str,
        messages: &MessageSet,
        report: &mut dyn FnMut(Step<'_>),
        stop: &AtomicBool,
    ) -> Result<SubjectCommand, SubjectsError> {
        let of_stack = manifest.stack(stack);
        let own = [stack.to_owned()];
        let programs = of_stack.map_or(&own[..], |stack| &stack.programs);
        let program = &programs[0];
        let mut make = || {
            let mut set = None;
            for program in programs {
                set = self.generate(manifest, program, messages, report, stop)?;
            }
            Ok::<_, SubjectsError>(set)
        };
        let set = make()?;
        let filled = |words: &[String]| {
            let words = filled(&with_messages(words, set.as_deref()), STACK, stack);
            filled(&words, PROGRAM, program)
        };
        let disk = filled(of_stack.map_or(&[][..], |stack| &stack.disk));
        let lost = || self.lost(&filled(&manifest.run), &disk);
        if let (Some(folder), Some(_)) = (&set, lost()) {
            // Forgetting the folder empties it, so that everything is generated again. That includes its other
            // programs, which stacks prepared earlier may need.
            let others = manifest.program_names().into_iter();
            let others: Vec<&str> = others.filter(|other| has_part(folder, other)).collect();
            forget(folder)?;
            make()?;
            for other in others {
                self.generate(manifest, other, messages, report, stop)?;
            }
            if let Some(path) = lost() {
                let log = beside(folder, &format!("{program}.log"));
                return Err(SubjectsError::incomplete(manifest, path, log));
            }
        }
        let mut run = filled(&manifest.run);
        let place = run.iter().position(|word| word == FLAGS);
        run.retain(|word| word != FLAGS);
        let (events, flags) = (manifest.events.as_ref(), &manifest.flags);
        let gc = flags.gc.iter();
        let gc = gc.map(|(name, words)| (name.clone(), filled(words)));
        let runtime = RuntimeFlags {
            // `run` begins with the program, which is not one of the arguments.
            place: place.map_or(0, |place| place.saturating_sub(1)),
            flags: Flags {
                gc: gc.collect(),
                heap: filled(&flags.heap),
                aot_cache: flags.aot_cache.as_ref().map(|aot| AotFlags {
                    train: filled(&aot.train),
                    load: filled(&aot.load),
                }),
                usual: flags.usual.clone(),
            },
            events: events.map_or_else(Vec::new, |events| filled(&events.flags)),
            read: events.map(|events| {
                let mut words = filled(&events.read);
                let args = words.split_off(1);
                (self.program(&words[0]), args)
            }),
        };
        Ok(SubjectCommand {
            stack: Some(stack.to_owned()),
            protobuf_samples: manifest.protobuf_samples,
            ready_timeout: Some(Duration::from_millis(manifest.ready_timeout_ms)),
            folder: Some(self.folder.clone()),
            disk: self.disk(&disk),
            build: Some(self.build()),
            runtime,
            ..SubjectCommand::new(self.program(&run[0]), &run[1..])
        })
    }

    /// The first missing file of those in the subject's folders that a stack's command and the stack need. A
    /// cache may lose files, and a tool may succeed without having done anything.
    fn lost(&self, run: &[String], disk: &[String]) -> Option<PathBuf> {
        let program = run.first().map(|word| self.program(word));
        let is_ours =
            |path: &PathBuf| path.starts_with(&self.folder) || path.starts_with(self.sets());
        if let Some(program) = program.filter(is_ours).filter(|path| !path.exists()) {
            return Some(program);
        }
        let sets = self.sets().display().to_string();
        let words = run
            .iter()
            .skip(1)
            .filter_map(|word| Some(&word[word.find(&sets)?..]));
        let mut paths = words.chain(disk.iter().map(String::as_str));
        let lost = paths.find(|path| {
            !matching(&self.folder, path)
                .iter()
                .any(|path| path.exists())
        });
        lost.map(|path| self.folder.join(path))
    }

    /// Generates the code for a set of messages, and one program that uses it, unless they already exist.
    /// Returns the folder of the set; `None` if the subject generates no code.
    ///
    /// # Errors
    /// Fails if a command of the generator fails; its log is kept.
    pub(super) fn generate(
        &self,
        manifest: &Manifest,
        program: &str,
        messages: &MessageSet,
        report: &mut dyn FnMut(Step<'_>),
        stop: &AtomicBool,
    ) -> Result<Option<PathBuf>, SubjectsError> {
        let Some(code) = &manifest.messages else {
            return Ok(None);
        };
        let files = messages.files()?;
        let mut digest = DefaultHasher::new();
        (&files.descriptors, &files.list).hash(&mut digest);
        // Once the user installs one of them, the code is generated again.
        for program in &code.optional {
            in_path(program).hash(&mut digest);
        }
        let kind = match messages {
            MessageSet::BuiltIn => "builtin",
            MessageSet::Own { .. } => "own",
        };
        let set = format!("{kind}-{:016x}", digest.finish());
        let folder = self.sets().join(set);
        let (shared, own) = code.parts();
        let words = |commands: Vec<&[String]>| -> Vec<Vec<String>> {
            let filled_in =
                |words: &[String]| filled(&with_messages(words, Some(&folder)), PROGRAM, program);
            commands.into_iter().map(filled_in).collect()
        };
        let program_of = |word: &str| self.program(word);
        let owner = owner(manifest);
        let commands = |commands| Commands {
            failed: "has no code for these messages",
            is_about_messages: true,
            owner: &owner,
            libraries: &manifest.versions,
            folder: &self.folder,
            program: &program_of,
            commands,
        };
        let prepare = || {
            let put = |name: &str, bytes: &[u8]| {
                let path = folder.join(name);
                fs::write(&path, bytes).map_err(unwritable(&path))
            };
            fs::create_dir_all(&folder).map_err(unwritable(&folder))?;
            put("descriptors.binpb", &files.descriptors)?;
            put("files.json", files.list.as_bytes())
        };
        commands(words(shared)).fill_once(&folder, &prepare, report, stop)?;
        commands(words(own)).add_once(&folder, program, report, stop)?;
        Ok(Some(folder))
    }

    /// The size of the files that a stack needs to run, including its code for a set of messages, bytes.
    /// `None` if no paths are declared or one of them is missing.
    fn disk(&self, paths: &[String]) -> Option<u64> {
        let own = [
            fs::canonicalize(&self.folder),
            fs::canonicalize(self.sets()),
        ];
        let is_own = |path: &Path| own.iter().flatten().any(|folder| path.starts_with(folder));
        // A link that leads out of the subject's folders is treated as missing.
        let bytes_at = |path: &PathBuf| {
            let path = fs::canonicalize(path).ok().filter(|path| is_own(path))?;
            Some(bytes_of(&path, &fs::metadata(&path).ok()?))
        };
        let bytes = paths.iter().map(|path| {
            let found = matching(&self.folder, path);
            let bytes = found.iter().map(bytes_at);
            let bytes: Option<u64> = bytes.sum();
            bytes.filter(|_| !found.is_empty())
        });
        bytes.sum::<Option<u64>>().filter(|_| !paths.is_empty())
    }

    /// The size on disk, including all code generated for messages, bytes.
    pub fn bytes(&self) -> u64 {
        bytes_in(&self.folder) + bytes_in(&self.sets())
    }
}

/// The subject's name in messages.
pub(super) fn owner(subject: &Manifest) -> String {
    format!("the subject \"{}\"", subject.name)
}

/// The size on disk of a file, or of all files in a folder, bytes.
fn bytes_of(path: &Path, metadata: &fs::Metadata) -> u64 {
    /// The unit of `st_blocks` (stat(2)).
    const BLOCK: u64 = 512;
    if metadata.is_dir() {
        bytes_in(path)
    } else {
        metadata.blocks() * BLOCK
    }
}

/// The size on disk of all files in a folder, bytes. Unreadable files count as 0.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.flat_map(|entry| Some(bytes_of(&entry.path(), &entry.metadata().ok()?)));
    bytes.sum()
}

/// Replaces the placeholder for the folder of a set of messages in a command's words.
fn with_messages(words: &[String], folder: Option<&Path>) -> Vec<String> {
    let folder = folder.map_or_else(String::new, |folder| folder.display().to_string());
    filled(words, MESSAGES, &folder)
}

impl Package {
    /// Whether the subject can be started.
    ///
    /// # Errors
    /// Fails if there is no folder for the cache.
    pub fn state(&self) -> Result<State, SubjectsError> {
        Ok(match find_all(&self.manifest.toolchain) {
            Err(missing) => State::Missing(missing),
            Ok(tools) => {
                if is_whole(&self.place(tools)?.folder) {
                    State::Built
                } else {
                    State::NotBuilt
                }
            }
        })
    }

    /// Builds the subject unless it is already built, and reports each step.
    ///
    /// # Errors
    /// Fails if a required tool is missing or a command fails; the command's log is kept.
    pub fn build(
        &self,
        report: &mut dyn FnMut(Step<'_>),
        stop: &AtomicBool,
    ) -> Result<Built, SubjectsError> {
        let tools =
            find_all(&self.manifest.toolchain).map_err(|missing| SubjectsError::Missing {
                owner: owner(&self.manifest),
                missing,
            })?;
        let built = self.place(tools)?;
        let owner = owner(&self.manifest);
        let commands = Commands {
            failed: "could not be built",
            is_about_messages: false,
            owner: &owner,
            libraries: &self.manifest.versions,
            folder: &built.folder,
            program: &|word| built.program(word),
            commands: self.manifest.build.clone(),
        };
        let prepare = || {
            // Removes the code that an earlier build generated.
            empty(&built.sets())?;
            self.sources.unpack(&built.folder)
        };
        commands.fill_once(&built.folder, &prepare, report, stop)?;
        let of_build = |word: &&String| !word.contains(MESSAGES) && !word.contains(PROGRAM);
        let disk = self.manifest.stacks.iter().flat_map(|stack| &stack.disk);
        let disk = disk.chain(self.generators());
        let disk: Vec<String> = disk.filter(of_build).cloned().collect();
        let run = self.manifest.run[..1].iter().filter(of_build);
        let run: Vec<String> = run.cloned().collect();
        let lost = || built.lost(&run, &disk);
        if lost().is_some() {
            forget(&built.folder)?;
            commands.fill_once(&built.folder, &prepare, report, stop)?;
        }
        match lost() {
            None => Ok(built),
            Some(path) => {
                let log = beside(&built.folder, "log");
                Err(SubjectsError::incomplete(&self.manifest, path, log))
            }
        }
    }

    /// The code generators that the build itself produces, in its folder.
    fn generators(&self) -> impl Iterator<Item = &String> {
        let code = self.manifest.messages.iter();
        let programs = code.flat_map(|code| code.generate.iter().filter_map(|words| words.first()));
        programs.filter(|word| word.contains('/') && !word.starts_with('/'))
    }

    /// The build folder, unique to these sources and this toolchain.
    fn place(&self, tools: Vec<FoundTool>) -> Result<Built, SubjectsError> {
        let name = self.manifest.name.replace(['/', '@'], "_");
        self.sources.place("subjects", &name, tools)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_needs_on_the_disk_what_it_declares() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: usize| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, vec![1; bytes]).unwrap();
        };
        put("built/main.py", 10_000);
        put("built/venv/lib/python3.14/packages/http/a.py", 20_000);
        put("built/venv/lib/python3.14/packages/pip/b.py", 400_000);
        put("built.messages/set/code.py", 30_000);
        let built = Built {
            folder: folder.path().join("built"),
            digest: String::new(),
            tools: Vec::new(),
        };
        let set = built.sets().join("set");
        let bytes = |disk: &[&str]| {
            let disk: Vec<String> = disk.iter().map(|path| (*path).to_owned()).collect();
            built.disk(&with_messages(&disk, Some(&set)))
        };
        let packages = "venv/lib/python*/packages/http";
        let all = bytes(&["main.py", packages, "{messages}"]).unwrap();
        assert!((60_000..100_000).contains(&all), "{all}");
        assert_eq!(bytes(&["main.py", "venv/lib/python*/packages/htpt"]), None);
        assert_eq!(bytes(&["venv/lib/ruby*"]), None);
        put("other/large", 1_000_000);
        std::os::unix::fs::symlink("../other", built.folder.join("link")).unwrap();
        assert_eq!(bytes(&["link"]), None);
        assert_eq!(bytes(&["../other"]), None);
        assert_eq!(bytes(&[]), None);
    }
}
