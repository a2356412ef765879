//! Subject processes: started, asked, ended (contract/README.md).

mod ask;
pub(crate) mod ending;
mod error;
mod guard;
mod handshake;
mod log;
mod process;
mod records;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub use error::SubjectError;
pub(crate) use error::one_line;
pub use process::{Start, Subject};
pub use records::RecordsFile;

/// How a subject is started: the program and what follows it on its command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectCommand {
    /// The program, looked up in `PATH` when it is a bare name.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The folder it is started in, this program's own when absent.
    pub folder: Option<PathBuf>,
    /// Which of its stacks is meant, its first when absent.
    pub stack: Option<String>,
    /// How long it may take until it is ready, the lab's own patience when absent.
    pub ready_timeout: Option<Duration>,
    /// What it needs on the disk without its language's runtime, bytes, where that is known.
    pub disk: Option<u64>,
}

impl SubjectCommand {
    /// A command in this program's own folder.
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
            ready_timeout: None,
            disk: None,
        }
    }
}
