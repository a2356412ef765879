//! An application's sources, built once in the cache.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rpcgauge_message::nearest::Nearest;
use rpcgauge_study::app::{App, MANIFEST};

use crate::subjects::sources::Sources;
use crate::subjects::tools::find_all;
use crate::subjects::{BUILT_IN_APPS, Built, Commands, Step, SubjectsError, beside, empty};

/// An application's `app.toml` with its sources.
pub struct AppPackage {
    app: App,
    sources: Sources,
}

impl AppPackage {
    /// The built-in application of that name, or the one in a folder: a path has a `/`, or is `.`.
    ///
    /// # Errors
    /// There is none, or its `app.toml` is wrong.
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

    /// The names of the built-in ones.
    pub fn built_in() -> impl Iterator<Item = &'static str> {
        BUILT_IN_APPS.iter().map(|(name, _)| *name)
    }

    /// The one in a folder.
    ///
    /// # Errors
    /// As [`AppPackage::find`].
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
            let what = format!("the locustfile {} is not there, or empty", load.locustfile);
            return Err(SubjectsError::Folder(file.into(), what));
        }
        Ok(Self { app, sources })
    }

    /// What its `app.toml` says.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Builds it, unless that was done before, and reports each step.
    ///
    /// # Errors
    /// Something that it needs is missing, or a command failed; its log is kept.
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

/// An application that can be started.
pub struct BuiltApp<'a> {
    pub(super) app: &'a App,
    pub(super) built: Built,
}

impl BuiltApp<'_> {
    /// The folder that it was built in.
    pub fn folder(&self) -> &Path {
        self.built.folder()
    }

    /// What it takes on the disk, bytes.
    pub fn bytes(&self) -> u64 {
        self.built.bytes()
    }

    /// What it was built from.
    pub fn build(&self) -> rpcgauge_study::record::Build {
        self.built.build()
    }

    /// An empty folder for the logs of its processes, beside that of the build.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn logs(&self) -> Result<PathBuf, SubjectsError> {
        let folder = beside(self.folder(), "logs");
        empty(&folder)?;
        std::fs::create_dir_all(&folder)
            .map_err(|source| SubjectsError::Cache(folder.clone(), source))?;
        Ok(folder)
    }
}
