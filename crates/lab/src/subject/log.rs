//! The log of a subject or of a build, kept in a file of bounded size.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::files::regular;

/// The maximum size of a process's log, bytes. What exceeds it is only counted.
const MAX_LOG_BYTES: u64 = 4 << 20;

/// The maximum size of the end of a log that goes into a failed trial's record, bytes.
const TAIL_BYTES: usize = 4 << 10;

/// The maximum number of lines in that end.
const TAIL_LINES: usize = 20;

/// How often the threads that fill a log are polled.
const POLL_EVERY: Duration = Duration::from_millis(1);

/// A log that threads of this program fill. The file is created with its first byte.
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

    /// Copies everything from `stream` until it ends, on its own thread.
    ///
    /// # Errors
    /// The thread cannot be started.
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

    /// The path of its file, which exists once something was logged.
    pub(crate) fn path(&self) -> PathBuf {
        self.state().path.clone()
    }

    /// The last lines, as text.
    pub(crate) fn tail(&self) -> String {
        last_lines(self.state().tail.make_contiguous())
    }

    /// Says at the end of the file how much was not kept.
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
    /// A log that cannot be written fails no trial: its tail is still in memory.
    fn write(&mut self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        if self.file.is_none() {
            // Appends: a resumed run starts the same subject again.
            let mut options = OpenOptions::new();
            self.file = regular::open_with(options.create(true).append(true), &self.path).ok();
        }
        self.file
            .as_mut()
            .is_some_and(|file| file.write_all(bytes).is_ok())
    }
}

/// The last lines of a file, as many as of a log.
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
