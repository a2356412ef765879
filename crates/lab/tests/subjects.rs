//! Tests of well-behaved and misbehaving subjects, each a few lines of shell.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_contract::{FloorSettings, Listen, SettingsLine};
use rpcgauge_lab::TrialFailure;
use rpcgauge_lab::machine::placement::Placements;
use rpcgauge_lab::machine::process::ProcessMeter;
use rpcgauge_lab::subject::{Start, Subject, SubjectCommand};
use rpcgauge_message::workload::{OwnWorkload, WorkloadSpec};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::Placement;

const READY: &str = r#"echo '{"contract":1,"ready":true,"address":"127.0.0.1:9"}';"#;

/// Longer than anything takes, even on a busy machine.
const LONG: Duration = Duration::from_secs(30);

/// How long a test waits for something that never happens.
const SHORT: Duration = Duration::from_millis(500);

/// The parts of a start that tests vary.
struct Case<'a> {
    script: &'a str,
    settings: SettingsLine,
    placement: Option<Placement>,
    ready_timeout: Duration,
    end_timeout: Duration,
    stop: bool,
}

impl<'a> Case<'a> {
    fn new(script: &'a str) -> Self {
        let listen = Listen::Tcp {
            host: "127.0.0.1".to_owned(),
        };
        let settings = SettingsLine::Floor(FloorSettings { listen });
        Self {
            script,
            settings,
            placement: None,
            ready_timeout: LONG,
            end_timeout: LONG,
            stop: false,
        }
    }

    fn start(&self, folder: &Path) -> Result<Subject, TrialFailure> {
        let layout = self
            .placement
            .map(|p| Placements::detect().unwrap().layout(p).unwrap());
        let start = Start {
            command: &SubjectCommand {
                folder: Some(folder.to_owned()),
                ..SubjectCommand::new("/bin/sh", ["-c", self.script])
            },
            settings: &self.settings,
            cores: layout.as_ref().map(|layout| &layout.server),
            log: &folder.join("subject.log"),
            ready_timeout: self.ready_timeout,
            end_timeout: self.end_timeout,
        };
        Subject::start(&start, &AtomicBool::new(self.stop))
    }

    fn failure(&self) -> TrialFailure {
        let folder = tempfile::tempdir().unwrap();
        self.start(folder.path()).map(|_| ()).unwrap_err()
    }
}

fn failure(script: &str) -> TrialFailure {
    Case::new(script).failure()
}

fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap()
            .trim_start()
            .starts_with('Z')
    })
}

/// Waits for a condition that must soon become true.
fn eventually(holds: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "the condition never became true"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn log(folder: &tempfile::TempDir) -> String {
    std::fs::read_to_string(folder.path().join("subject.log")).unwrap_or_default()
}

#[test]
fn one_that_behaves_is_ready_and_ends_when_its_input_closes() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("read line; echo \"got $line\" >&2; {READY} read more; echo bye >&2");
    let subject = Case::new(&script).start(folder.path()).unwrap();
    let address = subject.said().address.as_ref().unwrap();
    assert_eq!(address.to_string(), "127.0.0.1:9");
    assert_eq!(subject.ended(), None);
    assert!(subject.meter().peak_bytes().unwrap() > 0);
    drop(subject);
    let log = log(&folder);
    assert!(
        log.contains("\"role\":\"floor\"") && log.ends_with("bye\n"),
        "{log}"
    );
}

#[test]
fn one_that_ends_at_once_fails_with_its_log_and_status() {
    let failure = failure("echo 'no such library' >&2; exit 3");
    assert_eq!(failure.fault, Fault::Subject);
    assert!(failure.reason.contains("exit code 3"), "{}", failure.reason);
    assert_eq!(failure.log, "no such library");
}

#[test]
fn one_that_is_killed_says_so() {
    let failure = failure("kill -9 $$");
    assert!(failure.reason.contains("signal 9"), "{}", failure.reason);
}

#[test]
fn garbage_is_a_broken_contract() {
    for (script, text) in [
        ("echo hello", "it wrote: hello"),
        ("echo '{\"ready\":true}'", "version"),
        ("echo '{\"contract\":9,\"ready\":true}'", "version 9"),
        ("echo '{\"contract\":1}'", "ready"),
        (
            "printf 'half a li'",
            "in the middle of its first line: half a li",
        ),
        ("printf '\\377\\n'", "UTF-8"),
    ] {
        let failure = failure(script);
        assert_eq!(failure.fault, Fault::Subject, "{script}");
        assert!(
            failure.reason.contains(text),
            "{script}: {}",
            failure.reason
        );
        assert_eq!(
            failure.reason.lines().count(),
            1,
            "{script}: {}",
            failure.reason
        );
    }
}

#[test]
fn one_that_is_never_ready_is_given_up() {
    let mut case = Case::new("echo starting >&2; exec sleep 60");
    case.ready_timeout = SHORT;
    let failure = case.failure();
    assert!(
        failure.reason.contains("not ready after 0.5 s"),
        "{}",
        failure.reason
    );
    assert_eq!(failure.log, "starting");
}

#[test]
fn one_that_does_not_read_a_large_settings_line_is_given_up() {
    let mut case = Case::new("exec sleep 60");
    let own = OwnWorkload {
        descriptor_set: "x".repeat(1 << 20),
        method: "a.B/C".to_owned(),
        request: serde_json::json!({}),
        response: serde_json::json!({}),
    };
    case.settings = server(WorkloadSpec::Own(Box::new(own)), 1);
    case.ready_timeout = SHORT;
    let failure = case.failure();
    assert!(failure.reason.contains("not ready"), "{}", failure.reason);

    case.script = "read line; echo ${#line} >&2; exit 1";
    case.ready_timeout = LONG;
    let failure = case.failure();
    let read: usize = failure.log.trim().parse().unwrap();
    assert_eq!(read, case.settings.to_line().len());
}

/// A server with 16 threads on two cores starts them one after another.
#[test]
fn more_threads_than_cores_may_take_longer_to_be_ready() {
    let cores = std::thread::available_parallelism().unwrap().get() as u32;
    let script = format!("read line; sleep 1; {READY} read more");
    let mut case = Case::new(&script);
    case.ready_timeout = SHORT;
    case.settings = server(WorkloadSpec::Hello {}, cores);
    let failure = case.failure();
    let limit = "not ready after 0.5 s";
    assert!(failure.reason.contains(limit), "{}", failure.reason);

    let folder = tempfile::tempdir().unwrap();
    case.settings = server(WorkloadSpec::Hello {}, 60 * cores);
    assert!(case.start(folder.path()).is_ok());
    // If it is bound to one core, all threads share that core.
    case.placement = Some(Placement::OneCore);
    case.settings = server(WorkloadSpec::Hello {}, 60);
    assert!(case.start(folder.path()).is_ok());
}

fn server(workload: WorkloadSpec, threads: u32) -> SettingsLine {
    SettingsLine::Server(Box::new(rpcgauge_contract::ServerSettings {
        stack: None,
        workload,
        protocol: rpcgauge_contract::Protocol::Grpc,
        http: rpcgauge_contract::HttpVersion::Http2,
        encoding: rpcgauge_message::Encoding::Protobuf,
        listen: Listen::Tcp {
            host: "127.0.0.1".to_owned(),
        },
        response_compression: rpcgauge_message::Compression::None,
        threads,
        marks: false,
        tls: false,
        stream: None,
        protobuf_samples: Vec::new(),
        limits: rpcgauge_contract::Limits::default(),
    }))
}

#[test]
fn a_refusal_keeps_its_words_and_its_fault() {
    let failure = failure(
        r#"printf '%s\n' '{"contract":1,"error":"no zstd here;\nrebuild with it","fault":"user"}'"#,
    );
    assert_eq!(failure.fault, Fault::User);
    assert_eq!(
        failure.reason,
        "the subject reported an error: no zstd here; rebuild with it"
    );
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let case = Case::new("");
    let start = Start {
        command: &SubjectCommand::new("/nonexistent/subject", ["x"]),
        settings: &case.settings,
        cores: None,
        log: &folder.path().join("subject.log"),
        ready_timeout: Duration::from_secs(1),
        end_timeout: Duration::from_secs(1),
    };
    let failure = Subject::start(&start, &AtomicBool::new(false))
        .map(|_| ())
        .unwrap_err();
    assert_eq!(failure.fault, Fault::Machine);
    assert!(
        failure.reason.contains("/nonexistent/subject"),
        "{}",
        failure.reason
    );
}

#[test]
fn one_that_will_not_end_is_killed_with_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        format!("trap '' TERM; sleep 60 & echo $! >&2; {READY} while :; do sleep 60; done");
    let mut case = Case::new(&script);
    case.end_timeout = SHORT;
    let subject = case.start(folder.path()).unwrap();
    eventually(|| !subject.log_tail().is_empty());
    let child = subject.log_tail().trim().to_owned();
    assert!(is_alive(&child));
    drop(subject);
    // The child was killed by a signal, but its new parent may reap it only later.
    eventually(|| !is_alive(&child));
}

#[test]
fn its_temporary_files_go_with_it() {
    for (folder, then) in [
        ("$TMPDIR", "read a; read b"),
        ("{temporary}", "read a; read b"),
        ("$TMPDIR", "trap '' TERM; while :; do sleep 60; done"),
    ] {
        let make = format!("f=$(mktemp -d {folder}/XXXXXX); touch $f/a; echo $f >&2;");
        let folder = tempfile::tempdir().unwrap();
        let script = format!("{make} {READY} {then}");
        let mut case = Case::new(&script);
        case.end_timeout = SHORT;
        let subject = case.start(folder.path()).unwrap();
        eventually(|| !subject.log_tail().is_empty());
        let made = std::path::PathBuf::from(subject.log_tail().trim());
        assert!(made.join("a").exists(), "{}", made.display());
        drop(subject);
        assert!(!made.exists(), "{}", made.display());
    }
}

#[test]
fn one_that_dies_later_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("{READY} read line; read line; exit 7");
    let subject = Case::new(&script).start(folder.path()).unwrap();
    assert_eq!(subject.ended(), None);

    let script = format!("{READY} exit 7");
    let subject = Case::new(&script).start(folder.path());
    // The process may exit before its processor time can be read, which is also an error.
    if let Ok(subject) = subject {
        eventually(|| subject.ended().is_some());
        assert_eq!(subject.ended().as_deref(), Some("exit code 7"));
    }
}

#[test]
fn the_pid_that_it_names_is_the_one_that_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let script = "sleep 1000 & echo \"{\\\"contract\\\":1,\\\"ready\\\":true,\\\"pid\\\":$!}\"; read a; read b";
    let subject = Case::new(script).start(folder.path()).unwrap();
    let named = subject.ready().pid.expect("its number");
    assert_ne!(named, subject.pid());
    let peak = |meter: &ProcessMeter| meter.peak_bytes().unwrap();
    // The process may still be growing at the first reading.
    eventually(|| peak(subject.meter()) == peak(&ProcessMeter::of(named).unwrap()));
    let both = ProcessMeter::with_started(subject.pid()).unwrap();
    assert!(peak(&both) > peak(subject.meter()));

    let failure = failure("echo '{\"contract\":1,\"ready\":true,\"pid\":4194305}'; read a; read b");
    assert!(failure.reason.contains("4194305"), "{}", failure.reason);
}

#[test]
fn a_process_that_it_did_not_start_is_not_measured() {
    let own = std::process::id();
    for pid in [0, 1, own] {
        let script = format!(r#"echo '{{"contract":1,"ready":true,"pid":{pid}}}'; read a; read b"#);
        let failure = failure(&script);
        assert_eq!(failure.fault, Fault::Subject, "{pid}");
        let says = format!("names process {pid}, which is not one of its descendants");
        assert!(failure.reason.contains(&says), "{}", failure.reason);
    }
}

#[test]
fn versions_that_no_report_can_show_are_refused() {
    let many = r#"printf '{"contract":1,"ready":true,"versions":{'; seq -f '"library %.0f":"1",' 10000 | tr -d '\n'; echo '"last":"1"}}'; read a; read b"#;
    let control = r#"printf '%s\n' '{"contract":1,"ready":true,"versions":{"a":"\u001b[2J"}}'; read a; read b"#;
    let long = r#"printf '{"contract":1,"ready":true,"versions":{"a":"'; head -c 1000 /dev/zero | tr '\0' x; echo '"}}'; read a; read b"#;
    for (script, says) in [
        (many, "at most 64"),
        (control, "printable ASCII"),
        (long, "at most 100"),
    ] {
        let failure = failure(script);
        assert_eq!(failure.fault, Fault::Subject, "{says}");
        assert!(failure.reason.contains(says), "{}", failure.reason);
    }
}

#[test]
fn its_cores_are_its_own_from_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("grep Cpus_allowed_list /proc/self/status >&2; {READY} read a; read b");
    let mut case = Case::new(&script);
    case.placement = Some(Placement::OneCore);
    let subject = case.start(folder.path()).unwrap();
    let layout = Placements::detect()
        .unwrap()
        .layout(Placement::OneCore)
        .unwrap();
    // Another thread reads the subject's output.
    eventually(|| !subject.log_tail().is_empty());
    let expected = format!("Cpus_allowed_list:\t{}", layout.server);
    assert_eq!(subject.log_tail().trim(), expected);
}

#[test]
fn chatter_on_its_output_neither_blocks_it_nor_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "{READY} i=0; while [ $i -lt 5000 ]; do echo 'chatter that nobody asked for'; i=$((i+1)); \
         done; echo done >&2; read a; read b"
    );
    let _subject = Case::new(&script).start(folder.path()).unwrap();
    eventually(|| log(&folder).contains("done"));
    assert!(log(&folder).contains("chatter"));
}

#[test]
fn a_stopped_run_does_not_wait_for_a_slow_start() {
    let mut case = Case::new("exec sleep 60");
    case.stop = true;
    let failure = case.failure();
    assert!(failure.reason.contains("stopped"), "{}", failure.reason);
}

#[test]
fn a_subject_dies_with_the_lab_whatever_happens_to_it() {
    let test = std::env::current_exe().unwrap();
    let example = test
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/dying_lab");
    let output = std::process::Command::new(example).output().unwrap();
    assert!(!output.status.success(), "the lab must be aborted");
    let pid = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    assert!(
        !pid.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    eventually(|| !is_alive(&pid));
}
