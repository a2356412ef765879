//! An application's sources, built once in the cache.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rpcgauge_message::nearest::Nearest;
use rpcgauge_study::app::{App, MANIFEST};
use rustix::fs::{FlockOperation, flock};

use crate::subjects::sources::Sources;
use crate::subjects::tools::find_all;
use crate::subjects::{BUILT_IN_APPS, Built, Commands, Step, SubjectsError, beside};

/// An application's `app.toml` and its sources.
pub struct AppPackage {
    app: App,
    sources: Sources,
}

impl AppPackage {
    /// Finds a built-in application by name, or an application in a folder. An argument that contains a `/` or
    /// starts with `.` is a path.
    ///
    /// # Errors
    /// Fails if there is no such application or its `app.toml` is invalid.
    pub fn find(name_or_path: &str) -> Result<Self, SubjectsError> {
        if name_or_path.contains('/') || name_or_path.starts_with('.') {
            return Self::read(Path::new(name_or_path));
        }
        let built_in = BUILT_IN_APPS.iter().find(|(name, _)| *name == name_or_path);
        let Some((name, files)) = built_in else {
            let known: Vec<&str> = BUILT_IN_APPS.iter().map(|(name, _)| *name).collect();
            return Err(SubjectsError::UnknownApp(
                name_or_path.to_owned(),
                Nearest::or_known(name_or_path, known),
            ));
        };
        Self::new(&format!("apps/{name}/{MANIFEST}"), Sources::carried(files))
    }

    /// The names of the built-in applications.
    pub fn built_in() -> impl Iterator<Item = &'static str> {
        BUILT_IN_APPS.iter().map(|(name, _)| *name)
    }

    /// Reads the application in a folder.
    ///
    /// # Errors
    /// See [`AppPackage::find`].
    pub fn read(folder: &Path) -> Result<Self, SubjectsError> {
        if !folder.join(MANIFEST).is_file() {
            let what = format!("there is no {MANIFEST} in this folder");
            return Err(SubjectsError::Folder(folder.to_owned(), what));
        }
        let file = folder.join(MANIFEST).display().to_string();
        Self::new(&file, Sources::read(folder)?)
    }

    fn new(file: &str, sources: Sources) -> Result<Self, SubjectsError> {
        let app = App::parse(&sources.text(MANIFEST), file)?;
        if let Some(load) = &app.load
            && sources.text(&load.locustfile).is_empty()
        {
            let what = format!(
                "the locustfile {} does not exist, or is empty",
                load.locustfile
            );
            return Err(SubjectsError::Folder(file.into(), what));
        }
        Ok(Self { app, sources })
    }

    /// The parsed `app.toml`.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Builds the application unless it is already in the cache, and reports each step.
    ///
    /// # Errors
    /// Fails if a required tool is missing or a command failed. The command's log is kept.
    pub fn build(
        &self,
        report: &mut dyn FnMut(Step<'_>),
        stop: &AtomicBool,
    ) -> Result<BuiltApp<'_>, SubjectsError> {
        let owner = format!("the application \"{}\"", self.app.name);
        let tools = find_all(&self.app.toolchain).map_err(|missing| SubjectsError::Missing {
            owner: owner.clone(),
            missing,
        })?;
        let built = self.sources.place("apps", &self.app.name, tools)?;
        let commands = Commands {
            failed: "could not be built",
            is_about_messages: false,
            owner: &owner,
            libraries: &BTreeMap::new(),
            folder: built.folder(),
            program: &|word| built.program(word),
            commands: self.app.build.clone(),
        };
        let prepare = || self.sources.unpack(built.folder());
        commands.fill_once(built.folder(), &prepare, report, stop)?;
        Ok(BuiltApp {
            app: &self.app,
            built,
        })
    }
}

/// A built application, ready to be started.
pub struct BuiltApp<'a> {
    pub(super) app: &'a App,
    pub(super) built: Built,
}

impl BuiltApp<'_> {
    /// The folder that the application was built in.
    pub fn folder(&self) -> &Path {
        self.built.folder()
    }

    /// The application's size on disk, bytes.
    pub fn bytes(&self) -> u64 {
        self.built.bytes()
    }

    /// What the application was built from.
    pub fn build(&self) -> rpcgauge_study::record::Build {
        self.built.build()
    }

    /// Returns an empty folder for the logs of the application's processes, next to the build folder.
    ///
    /// # Errors
    /// Fails if the folder cannot be created.
    pub fn logs(&self) -> Result<Logs, SubjectsError> {
        Logs::in_one_of(&beside(self.folder(), "logs"))
    }
}

/// A log folder that no other program uses while this value lives.
#[derive(Debug)]
pub struct Logs {
    folder: PathBuf,
    // The system releases the lock no matter how the program ends.
    _lock: File,
}

impl Logs {
    /// Takes the first folder in `all` that no other program has locked, and empties it.
    fn in_one_of(all: &Path) -> Result<Self, SubjectsError> {
        let mut number = 1;
        loop {
            let folder = all.join(number.to_string());
            let taken = Self::take(&folder);
            match taken.map_err(|source| SubjectsError::Cache(folder.clone(), source))? {
                Some(lock) => {
                    return Ok(Self {
                        folder,
                        _lock: lock,
                    });
                }
                None => number += 1,
            }
        }
    }

    /// Locks a folder and empties it; `None` if another program has locked it.
    fn take(folder: &Path) -> io::Result<Option<File>> {
        fs::create_dir_all(folder)?;
        let lock = File::open(folder)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            locked => locked?,
        }
        for log in fs::read_dir(folder)? {
            fs::remove_file(log?.path())?;
        }
        Ok(Some(lock))
    }

    /// The path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_programs_have_logs_of_their_own_and_the_next_one_an_empty_folder() {
        let place = tempfile::tempdir().unwrap();
        let take = || Logs::in_one_of(place.path()).unwrap();
        let (one, other) = (take(), take());
        assert_ne!(one.folder(), other.folder());
        fs::write(one.folder().join("gateway.log"), "began").unwrap();
        let first = one.folder().to_owned();
        drop(one);
        let next = take();
        assert_eq!(next.folder(), first);
        assert_eq!(fs::read_dir(first).unwrap().count(), 0);
    }
}
