//! The sources of a subject or an application: read from a folder or embedded in this program, and unpacked
//! into a folder of the cache that is unique to them.

use std::borrow::Cow;
use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::build::Built;
use super::error::SubjectsError;
use super::folders::unwritable;
use super::tools::FoundTool;
use super::walk;

/// The maximum size of a folder, bytes. A larger folder must contain more than sources.
const MAX_BYTES: u64 = 64 << 20;

/// One source file.
#[derive(Clone)]
pub(crate) struct SourceFile {
    /// The path within the folder.
    pub(crate) name: Cow<'static, str>,
    pub(crate) bytes: Cow<'static, [u8]>,
    pub(crate) executable: bool,
}

/// The source files of a folder.
#[derive(Clone)]
pub(crate) struct Sources(pub(super) Vec<SourceFile>);

impl Sources {
    /// Sources embedded in this program.
    pub(crate) fn carried(files: &[SourceFile]) -> Self {
        Self(files.to_vec())
    }

    /// Reads the sources from a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, SubjectsError> {
        let walked = walk::walk(folder).map_err(unreadable(folder))?;
        if walked.iter().map(|file| file.bytes).sum::<u64>() > MAX_BYTES {
            let most = MAX_BYTES >> 20;
            let what = format!(
                "the folder contains more than {most} MiB; keep build output in a folder named target or \
                 venv, which is left out"
            );
            return Err(SubjectsError::Folder(folder.to_owned(), what));
        }
        let source_file = |file: walk::Walked| {
            Ok(SourceFile {
                bytes: fs::read(&file.path).map_err(unreadable(&file.path))?.into(),
                name: file.name.into(),
                executable: file.executable,
            })
        };
        let files = walked.into_iter().map(source_file);
        files.collect::<Result<_, SubjectsError>>().map(Self)
    }

    /// Removes the files in a folder, and returns them with their names within it.
    pub(super) fn take_folder(&mut self, folder: &str) -> Self {
        let within = |name: &str| Some(name.strip_prefix(folder)?.strip_prefix('/')?.to_owned());
        let taken = self.0.extract_if(.., |file| within(&file.name).is_some());
        let named = taken.filter_map(|file| {
            let name = within(&file.name)?.into();
            Some(SourceFile { name, ..file })
        });
        Self(named.collect())
    }

    /// The text of a file; empty if the file does not exist.
    pub(crate) fn text(&self, name: &str) -> Cow<'_, str> {
        let file = self.0.iter().find(|file| file.name == name);
        let bytes = file.map(|file| &*file.bytes).unwrap_or_default();
        String::from_utf8_lossy(bytes)
    }

    /// Where these sources are built with this toolchain: a unique folder in the cache for this `kind`.
    pub(crate) fn place(
        &self,
        kind: &str,
        name: &str,
        tools: Vec<FoundTool>,
    ) -> Result<Built, SubjectsError> {
        let mut digest = DefaultHasher::new();
        for file in &self.0 {
            (&file.name, &file.bytes, file.executable).hash(&mut digest);
        }
        for tool in &tools {
            (&tool.path, &tool.version).hash(&mut digest);
        }
        let digest = format!("{:016x}", digest.finish());
        let folder = cache(kind)?.join(format!("{name}-{digest}"));
        Ok(Built::new(folder, digest, tools))
    }

    /// Writes the files into an empty folder.
    pub(crate) fn unpack(&self, folder: &Path) -> Result<(), SubjectsError> {
        for file in &self.0 {
            let path = folder.join(&*file.name);
            let parent = path.parent().unwrap_or(folder);
            fs::create_dir_all(parent).map_err(unwritable(parent))?;
            fs::write(&path, &file.bytes).map_err(unwritable(&path))?;
            if file.executable {
                let program = fs::Permissions::from_mode(0o755);
                fs::set_permissions(&path, program).map_err(unwritable(&path))?;
            }
        }
        Ok(())
    }
}

/// The user's cache folder for one kind of content, such as `subjects` or `apps`.
pub(crate) fn cache(kind: &str) -> Result<PathBuf, SubjectsError> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("rpcgauge").join(kind))
        .ok_or(SubjectsError::NoCache)
}

pub(crate) fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> SubjectsError {
    |source| SubjectsError::Read(path.to_owned(), source)
}
