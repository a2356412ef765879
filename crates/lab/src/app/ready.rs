//! Checks whether a process of an application is ready.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rpcgauge_load::Fetch;
use rpcgauge_study::app::{Ready, Template};

use super::process::Running;
use crate::error::TrialResult;

/// The time limit for one check.
const LOOK_WITHIN: Duration = Duration::from_secs(2);

/// [`Ready`] with its placeholders replaced.
pub(super) enum ReadyWhen {
    Tcp(Vec<String>),
    Http {
        port: String,
        path: String,
        status: u16,
    },
    Log {
        text: String,
        file: PathBuf,
        /// The file's size before the start, because an earlier run of the process may have written to
        /// it.
        skipped: usize,
    },
}

impl ReadyWhen {
    /// Replaces the placeholders in `ready`. Must be called before the process starts.
    pub(super) fn of(
        ready: &Ready,
        log: &Path,
        fill: &dyn Fn(&Template) -> TrialResult<String>,
    ) -> TrialResult<Self> {
        Ok(match ready {
            Ready::Tcp(ports) => Self::Tcp(ports.clone()),
            Ready::Http { port, path, status } => Self::Http {
                port: port.clone(),
                path: path.clone(),
                status: *status,
            },
            Ready::Log { text, file } => {
                let file = file.as_ref().map(fill).transpose()?;
                let file = file.map_or_else(|| log.to_owned(), PathBuf::from);
                Self::Log {
                    text: fill(text)?,
                    skipped: fs::metadata(&file).map_or(0, |found| found.len() as usize),
                    file,
                }
            }
        })
    }

    /// Why the process is not ready yet; `None` if it is ready.
    pub(super) fn why_not(&self, running: &Running) -> Option<String> {
        match self {
            Self::Tcp(ports) => ports.iter().find_map(|port| {
                let refused =
                    TcpStream::connect_timeout(&running.address(port), LOOK_WITHIN).err()?;
                Some(format!(
                    "its port \"{port}\" accepts no connection ({refused})"
                ))
            }),
            Self::Http { port, path, status } => {
                match Fetch::get(running.address(port), path).send(LOOK_WITHIN) {
                    Ok(fetched) if fetched.status == *status => None,
                    Ok(fetched) => Some(format!(
                        "GET {path} responds with {}, not {status}",
                        fetched.status
                    )),
                    Err(error) => Some(format!("GET {path} has no response ({error})")),
                }
            }
            Self::Log {
                text,
                file,
                skipped,
            } => {
                let read = fs::read(file).unwrap_or_default();
                let own = read.get(*skipped..).unwrap_or(&read);
                if String::from_utf8_lossy(own).contains(text.as_str()) {
                    None
                } else {
                    Some(format!("no line of {} contains \"{text}\"", file.display()))
                }
            }
        }
    }
}
