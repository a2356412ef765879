//! What a load shows while it runs.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::{Child, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::{BUSY, OK, answering};
use crate::common::{Place, interrupt, wait_until};

/// Collects the bytes written to a stream as they arrive.
#[derive(Clone, Default)]
pub(super) struct Seen(Arc<Mutex<Vec<u8>>>);

impl Seen {
    /// Reads the stream to its end on another thread.
    pub(super) fn of(mut from: impl Read + Send + 'static) -> Self {
        let seen = Self::default();
        let to = seen.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = from.read(&mut buffer) {
                to.0.lock().expect("no panic").extend(&buffer[..read]);
            }
        });
        seen
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic")).into_owned()
    }

    pub(super) fn wait_for(&self, part: &str) {
        wait_until(part, || self.text().contains(part));
    }
}

/// The command line of a load that runs until it is interrupted.
fn endless<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["load", target, "--duration", "10m", "--warmup", "0s"];
    let mut words = [&words[..], &["--out", "run"]].concat();
    words.extend(more);
    words
}

/// Interrupts a load and asserts its exit code.
pub(super) fn stop(child: Child) {
    interrupt(&child);
    let finished = child.wait_with_output().expect("it ends");
    let shown = String::from_utf8_lossy(&finished.stderr).into_owned();
    assert_eq!(finished.status.code(), Some(130), "{shown}");
}

#[test]
fn a_terminal_shows_how_the_last_second_went() {
    let place = Place::new();
    let (child, seen) = on_terminal(&place, "xterm");
    for part in ["left", "/s, succeeded ", " in flight", "p50 ", "0 failed"] {
        seen.wait_for(part);
    }
    assert!(seen.text().contains('\x1b'), "a bar is drawn");
    // There, an echoed ^C does not wrap a line.
    wait_until("the cursor at the start of a line", || {
        seen.text().ends_with('\r')
    });
    stop(child);
}

#[test]
fn a_terminal_that_cannot_be_drawn_on_gets_lines() {
    let place = Place::new();
    let (child, seen) = on_terminal(&place, "dumb");
    seen.wait_for("0 failed");
    assert!(!seen.text().contains('\x1b'), "{}", seen.text());
    stop(child);
}

/// Starts a load of 200 calls per second on a terminal of this kind (TERM). Returns its process and
/// its output.
fn on_terminal(place: &Place, kind: &str) -> (Child, Seen) {
    let target = format!("http://{}/", answering(OK).address);
    let (master, terminal) = terminal();
    let mut command = place.command(&endless(&target, &["--rate", "200"]));
    let command = command.env("TERM", kind);
    let command = command.stdout(Stdio::piped()).stderr(terminal);
    let child = command.spawn().expect("the program starts");
    (child, Seen::of(master))
}

/// A pseudoterminal with 80 columns. Returns its master, to read from, and its slave, for the
/// program.
fn terminal() -> (File, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("it is ours");
    unlockpt(&master).expect("it can be opened");
    let name = ptsname(&master, Vec::new()).expect("its name");
    let path = name.to_str().expect("a path");
    let terminal = OpenOptions::new().read(true).write(true).open(path);
    let terminal = terminal.expect("its other end");
    let size = Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size).expect("a size");
    (File::from(master), terminal)
}

#[test]
fn lines_tell_it_where_there_is_no_terminal() {
    let place = Place::new();
    let server = answering(BUSY);
    let target = format!("http://{}/", server.address);
    let mut child = place.start(&endless(&target, &["--rate", "200"]));
    let seen = Seen::of(child.stderr.take().expect("its standard error"));
    seen.wait_for(" × http-503\n");
    let text = seen.text();
    let line = text.lines().find(|line| line.contains("http-503"));
    let line = line.expect("the line that was waited for");
    assert!(line.contains("succeeded 0/s"), "{line}");
    assert!(line.contains("p50 –, p99 –; failed: "), "{line}");
    stop(child);
}

#[test]
fn quiet_shows_nothing_of_it() {
    let place = Place::new();
    let server = answering(OK);
    let target = format!("http://{}/", server.address);
    let finished = place.line(&format!(
        "load {target} --duration 1500ms --warmup 0s --out run --quiet"
    ));
    // Warnings about the machine, such as a busy host, are still shown.
    let mut lines = finished.stderr.lines();
    assert!(
        lines.all(|line| line.starts_with("warning: ")),
        "{}",
        finished.stderr
    );
    finished.well();
}

#[test]
fn a_load_that_nobody_watches_has_no_thread_for_it() {
    for (more, watched) in [(&[][..], false), (&["--interval-log", "log.hlog"], true)] {
        let place = Place::new();
        let server = answering(OK);
        let target = format!("http://{}/", server.address);
        let more = [&["--quiet"], more].concat();
        let child = place.start(&endless(&target, &more));
        // More calls than before the load starts.
        wait_until("a hundred calls", || {
            server.calls.load(Ordering::Relaxed) > 100
        });
        assert_eq!(
            threads(&child).contains(&"watch".to_owned()),
            watched,
            "{more:?}"
        );
        stop(child);
    }
}

/// The names of a process's threads (proc(5)).
fn threads(child: &Child) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).expect("it runs");
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
    let names = tasks.filter_map(|task| name(task.ok()?).ok());
    names.map(|name| name.trim().to_owned()).collect()
}
