//! Sends a line of the contract and reads the subject's reply, within a time limit.
//!
//! Neither pipe is trusted: a subject that does not read must not block writing, and one that does
//! not write must not block reading. Both are therefore polled together until the deadline.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rpcgauge_contract::MAX_LINE_BYTES;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::ending::how_it_ended;
use super::error::SubjectError;

/// How often the stop flag is checked.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// A subject's reply to a line.
pub(crate) enum Reply {
    /// A line without its line feed, and any output that already followed it.
    Line(String, Vec<u8>),
    /// The stream ended before a full line; contains the bytes so far.
    End(Vec<u8>),
}

/// Writes `line` to a process and reads one line in reply.
pub(crate) fn exchange(
    child: &mut Child,
    line: &str,
    limit: Duration,
    stop: &AtomicBool,
) -> Result<Reply, SubjectError> {
    let (Some(stdin), Some(stdout)) = (&child.stdin, &mut child.stdout) else {
        let status = how_it_ended(child).unwrap_or_else(|| "its input closed".to_owned());
        return Err(SubjectError::Died(status));
    };
    // The line may exceed the pipe's capacity. Reads never block, because `poll` precedes them.
    let flags = fcntl_getfl(stdin).map_err(failed)?;
    fcntl_setfl(stdin, flags | OFlags::NONBLOCK).map_err(failed)?;
    let mut handshake = Handshake {
        stdin,
        stdout,
        to_write: format!("{line}\n").into_bytes(),
        written: 0,
        read: Vec::new(),
    };
    let deadline = Instant::now() + limit;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(SubjectError::Stopped);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let (can_read, can_write) = handshake.wait(left.min(POLL_EVERY))?;
        if can_write {
            handshake.write()?;
        }
        if can_read && let Some(reply) = handshake.read()? {
            return Ok(reply);
        }
        // Checked last, because the reply may have arrived while this program itself was not
        // running.
        if left.is_zero() && !can_read {
            return Err(SubjectError::NotReady(limit));
        }
    }
}

struct Handshake<'a> {
    stdin: &'a ChildStdin,
    stdout: &'a mut ChildStdout,
    to_write: Vec<u8>,
    written: usize,
    /// The part of the reply read so far.
    read: Vec<u8>,
}

impl Handshake<'_> {
    /// Waits until there is something to read or room to write; returns whether each is possible.
    fn wait(&self, wait: Duration) -> Result<(bool, bool), SubjectError> {
        let mut fds = vec![PollFd::new(&*self.stdout, PollFlags::IN)];
        if self.written < self.to_write.len() {
            fds.push(PollFd::new(self.stdin, PollFlags::OUT));
        }
        let wait = Timespec {
            tv_sec: wait.as_secs() as i64,
            tv_nsec: wait.subsec_nanos().into(),
        };
        match poll(&mut fds, Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(failed(error)),
        }
        let is_up = |fd: &PollFd<'_>| !fd.revents().is_empty();
        Ok((is_up(&fds[0]), fds.get(1).is_some_and(is_up)))
    }

    fn write(&mut self) -> Result<(), SubjectError> {
        let mut stdin = self.stdin;
        match stdin.write(&self.to_write[self.written..]) {
            Ok(n) => self.written += n,
            // The subject closed its input. Its reply or its exit status explains why.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.written = self.to_write.len();
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(SubjectError::Pipe(error)),
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Option<Reply>, SubjectError> {
        let mut chunk = [0; 16 << 10];
        let n = match self.stdout.read(&mut chunk) {
            Ok(0) => return Ok(Some(Reply::End(std::mem::take(&mut self.read)))),
            Ok(n) => n,
            Err(error) if is_passing(&error) => return Ok(None),
            Err(error) => return Err(SubjectError::Pipe(error)),
        };
        let from = self.read.len();
        self.read.extend_from_slice(&chunk[..n]);
        match self.read[from..].iter().position(|&byte| byte == b'\n') {
            Some(at) => self.line(from + at).map(Some),
            None if self.read.len() > MAX_LINE_BYTES => Err(SubjectError::Contract(format!(
                "it wrote a line longer than {MAX_LINE_BYTES} bytes"
            ))),
            None => Ok(None),
        }
    }

    fn line(&mut self, end: usize) -> Result<Reply, SubjectError> {
        let rest = self.read.split_off(end + 1);
        let mut line = std::mem::take(&mut self.read);
        line.truncate(end);
        String::from_utf8(line)
            .map(|line| Reply::Line(line, rest))
            .map_err(|_| SubjectError::Contract("it wrote a line that is not UTF-8".to_owned()))
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

fn failed(error: rustix::io::Errno) -> SubjectError {
    SubjectError::Pipe(error.into())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_reply_that_is_there_counts_however_late_it_is_looked_for() {
        let script = "echo replied; read line";
        let mut child = Command::new("/bin/sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = child.stdout.as_ref().unwrap();
        poll(&mut [PollFd::new(stdout, PollFlags::IN)], None).unwrap();
        let stop = AtomicBool::new(false);
        let mut ask = |limit| exchange(&mut child, "ask", limit, &stop);
        let reply = ask(Duration::ZERO);
        assert!(matches!(reply, Ok(Reply::Line(line, _)) if line == "replied"));
        // Now only the end of its output is left.
        assert!(matches!(ask(Duration::from_secs(60)), Ok(Reply::End(_))));
        child.wait().unwrap();
    }
}
