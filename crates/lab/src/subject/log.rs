//! The log of a subject or of a build, in a file of limited size.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::files::regular;

/// The maximum size of a process's log, bytes. Output beyond it is counted but not stored.
const MAX_LOG_BYTES: u64 = 4 << 20;

/// The maximum size of the log's tail in the record of a failed trial, bytes.
const TAIL_BYTES: usize = 4 << 10;

/// The maximum number of lines in the tail.
const TAIL_LINES: usize = 20;

/// How often to poll the threads that fill a log.
const POLL_EVERY: Duration = Duration::from_millis(1);

/// A log filled by threads of this program. The file is created with the first byte.
#[derive(Debug, Clone)]
pub(crate) struct Log(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    path: PathBuf,
    file: Option<File>,
    limit: u64,
    kept: u64,
    dropped: u64,
    tail: VecDeque<u8>,
}

impl Log {
    pub(crate) fn new(path: &Path) -> Self {
        Self::with_limit(path, MAX_LOG_BYTES)
    }

    fn with_limit(path: &Path, limit: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            path: path.to_owned(),
            file: None,
            limit,
            kept: 0,
            dropped: 0,
            tail: VecDeque::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies `stream` to the log until it ends, in a separate thread.
    ///
    /// # Errors
    /// Fails if the thread cannot be started.
    pub(crate) fn follow(&self, stream: impl Read + Send + 'static) -> io::Result<JoinHandle<()>> {
        let log = self.clone();
        thread::Builder::new().spawn(move || log.copy(stream))
    }

    fn copy(&self, mut stream: impl Read) {
        let mut chunk = [0; 8 << 10];
        loop {
            match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(n) => self.add(&chunk[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    }

    pub(crate) fn add(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.tail.extend(bytes);
        let excess = state.tail.len().saturating_sub(TAIL_BYTES);
        state.tail.drain(..excess);

        let room = (state.limit - state.kept).min(bytes.len() as u64) as usize;
        let kept = if state.write(&bytes[..room]) { room } else { 0 };
        state.kept += kept as u64;
        state.dropped += (bytes.len() - kept) as u64;
    }

    /// The path of the file, which exists once something has been logged.
    pub(crate) fn path(&self) -> PathBuf {
        self.state().path.clone()
    }

    /// The last lines, as text.
    pub(crate) fn tail(&self) -> String {
        last_lines(self.state().tail.make_contiguous())
    }

    /// Appends a note to the file if some output was not stored.
    pub(crate) fn finish(&self) {
        let mut state = self.state();
        if state.dropped > 0 {
            let note = format!("\n[rpcgauge: {} more bytes were not kept]\n", state.dropped);
            state.write(note.as_bytes());
            state.dropped = 0;
        }
    }
}

/// Waits at most `limit` for the threads that fill a log.
pub(crate) fn wait_for_log(followers: &[JoinHandle<()>], limit: Duration) {
    let deadline = Instant::now() + limit;
    while !followers.iter().all(JoinHandle::is_finished) && Instant::now() < deadline {
        thread::sleep(POLL_EVERY);
    }
}

impl State {
    /// Returns whether the bytes were written. A log that cannot be written does not fail a trial,
    /// because its tail is still in memory.
    fn write(&mut self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        if self.file.is_none() {
            // Append, because a resumed run starts the same subject again.
            let mut options = OpenOptions::new();
            self.file = regular::open_with(options.create(true).append(true), &self.path).ok();
        }
        self.file
            .as_mut()
            .is_some_and(|file| file.write_all(bytes).is_ok())
    }
}

/// The last lines of a file, limited like a log's tail.
pub(crate) fn file_tail(path: &Path) -> io::Result<String> {
    let mut file = regular::open(path)?;
    let skipped = file.metadata()?.len().saturating_sub(TAIL_BYTES as u64);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(last_lines(&bytes))
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_kept_up_to_its_limit_and_says_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let log = Log::with_limit(&path, 10);
        log.add(b"123456");
        log.add(b"789012345");
        log.finish();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "1234567890\n[rpcgauge: 5 more bytes were not kept]\n");
        assert_eq!(log.tail(), "123456789012345");
    }

    #[test]
    fn a_silent_subject_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        let log = Log::new(&path);
        log.follow(io::empty()).unwrap().join().unwrap();
        log.finish();
        assert!(!path.exists());
    }

    #[test]
    fn the_tail_is_the_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::new(&folder.path().join("a.log"));
        let lines: Vec<String> = (0..2_000).map(|n| format!("line {n}")).collect();
        let follower = log.follow(io::Cursor::new(lines.join("\n"))).unwrap();
        follower.join().unwrap();
        let tail = log.tail();
        assert_eq!(tail.lines().count(), TAIL_LINES);
        assert!(
            tail.starts_with("line 1980") && tail.ends_with("line 1999"),
            "{tail}"
        );
    }

    #[test]
    fn a_log_that_cannot_be_written_still_has_its_tail() {
        let log = Log::new(Path::new("/nonexistent/folder/a.log"));
        log.add(b"why it failed");
        assert_eq!(log.tail(), "why it failed");
    }
}
