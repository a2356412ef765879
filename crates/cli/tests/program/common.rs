//! Runs the built program as a user would.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A folder in which the program runs.
pub(crate) struct Place {
    folder: TempDir,
}

/// The exit code and output of a finished program.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// A place with a small study, `study.toml`.
    pub(crate) fn with_study() -> Self {
        let place = Self::new();
        place.file("study.toml", SMALL_STUDY);
        place
    }

    /// A place with a run of the small study in `run`.
    pub(crate) fn with_run() -> Self {
        let place = Self::with_study();
        place.run_study().well();
        place
    }

    /// Runs `study.toml` into `run`.
    pub(crate) fn run_study(&self) -> Finished {
        self.run(&["run", "study.toml", "--out", "run", "--quiet"])
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, creating its parent folders.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rpcgauge"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command.env_remove("NO_COLOR");
        command.env("XDG_CACHE_HOME", self.folder.path().join("cache"));
        command
    }

    /// Runs the program to completion.
    pub(crate) fn run(&self, args: &[&str]) -> Finished {
        self.command(args)
            .output()
            .expect("the program starts")
            .into()
    }

    /// Like [`Place::run`], with the arguments in one string, separated by spaces.
    pub(crate) fn line(&self, line: &str) -> Finished {
        self.run(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Starts the program with its output captured.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        self.command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    }

    /// The names of the folder's entries, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path())
            .expect("the folder")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Finished {
    /// Asserts exit code 0 and returns the standard output.
    #[track_caller]
    pub(crate) fn well(self) -> String {
        assert_eq!(
            self.code,
            Some(0),
            "stdout: {}\nstderr: {}",
            self.stdout,
            self.stderr
        );
        self.stdout
    }

    /// Asserts this exit code, and that standard error contains each of `parts`.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, parts: &[&str]) {
        assert_eq!(
            self.code,
            Some(code),
            "stdout: {}\nstderr: {}",
            self.stdout,
            self.stderr
        );
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "\"{part}\" is not in:\n{}",
                self.stderr
            );
        }
    }

    /// Asserts that the input was rejected: exit code 2, nothing on standard output, and each of
    /// `parts` on standard error, which is a single line unless clap reports the error.
    #[track_caller]
    pub(crate) fn refused(self, parts: &[&str]) {
        self.failed(2, parts);
        assert_eq!(self.stdout, "", "nothing is printed except the error");
        let said = self.stderr.trim_end();
        assert!(
            said.starts_with("error: ") || said.starts_with("rpcgauge: ") && !said.contains('\n'),
            "neither clap's nor one line:\n{said}"
        );
    }
}

/// A timeout that is sufficient for a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// The findings in a run directory.
pub(crate) fn report(run: &Path) -> Value {
    json(&fs::read_to_string(run.join("report.json")).expect("report.json"))
}

/// The trial records in a run directory.
pub(crate) fn trial_lines(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("trials.jsonl")).expect("trials.jsonl");
    text.lines()
        .map(json)
        .filter(|line| line["record"] == "trial")
        .collect()
}

/// Sends SIGINT, as Ctrl-C does.
pub(crate) fn interrupt(child: &Child) {
    let pid = Pid::from_child(child);
    kill_process(pid, Signal::INT).expect("a signal is sent");
}

/// Waits until `ready` returns true. Panics after a timeout.
pub(crate) fn wait_until(what: &str, mut ready: impl FnMut() -> bool) {
    let start = Instant::now();
    while !ready() {
        assert!(start.elapsed() < PATIENCE, "timeout: waited for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The path of a file in examples/orders.
pub(crate) fn orders(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/orders")
        .join(file);
    path.canonicalize()
        .expect("the example")
        .to_string_lossy()
        .into_owned()
}

/// A study that takes a second or two, even in a debug build.
pub(crate) const SMALL_STUDY: &str = r#"
question = "Is a greeting faster by gRPC than by REST?"
workload = { name = "hello" }
invocations = 2
blocks = 1
warm-up = { calls = 20 }

[base]
calls = 50

[[variants]]
name = "grpc"
protocol = "grpc"

[[variants]]
name = "rest"
protocol = "rest"

[[pairs]]
of = "grpc"
against = "rest"
headline = true
"#;

/// Puts a fake protoc into `bin` whose version and accepted syntax are too old for editions.
pub(crate) fn put_old_protoc(place: &Place) {
    let protoc = place.file(
        "bin/protoc",
        "#!/bin/sh\n\
         [ \"$1\" = --version ] && echo 'libprotoc 3.21.12' && exit 0\n\
         echo '[libprotobuf WARNING parser.cc:646] No syntax specified for the proto file: new.proto.' >&2\n\
         echo 'new.proto:1:1: Expected top-level statement (e.g. \"message\").' >&2\n\
         exit 1\n",
    );
    fs::set_permissions(&protoc, fs::Permissions::from_mode(0o755)).expect("permissions");
}
