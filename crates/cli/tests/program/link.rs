//! `link`: programs over an emulated link, on machines that support namespaces.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, getuid, kill_process};

use crate::common::{Finished, Place, interrupt, report, wait_until};

/// Creates a place if links can be created here. Otherwise prints that the test is skipped.
fn place_for(what: &str) -> Option<Place> {
    let place = Place::new();
    let tried = place.run(&["link", "wlan", "--", "true"]);
    match tried.code {
        Some(0) => Some(place),
        Some(3) => {
            println!("left out: {what}: {}", tried.stderr);
            None
        }
        _ => panic!("{tried:?}"),
    }
}

/// Arguments that run a server and a client over a link.
fn call(program: &str) -> [String; 6] {
    let server = format!("exec {program} serve --listen 198.18.0.2:6565");
    let client = format!(
        "exec {program} load http://$RPCGAUGE_SERVER:6565/hello -X POST --calls 20 --warmup 0ms \
         -H 'content-type: application/json' --data '{{\"name\":\"Ada\"}}'"
    );
    [
        "link".into(),
        "wlan".into(),
        "--server".into(),
        server,
        "--client".into(),
        client,
    ]
}

#[track_caller]
fn was_called(finished: Finished) {
    let errors = finished.stderr.clone();
    let output = finished.well();
    assert!(output.contains("20 started: 20 succeeded"), "{output}");
    assert!(errors.contains("rpcgauge: wlan: 100Mbit/s"), "{errors}");
    assert!(
        errors.contains("rpcgauge: round trip of probes"),
        "{errors}"
    );
    let packets = |way: &str| {
        let (_, rest) = errors
            .split_once(&format!("rpcgauge: {way}: "))
            .expect("a line");
        rest.split(' ').next().and_then(|it| it.parse::<u32>().ok())
    };
    assert!(
        packets("up") > Some(20) && packets("down") > Some(20),
        "{errors}"
    );
}

#[test]
fn a_client_calls_a_server_over_a_link() {
    if let Some(place) = place_for("a call over a link") {
        let call = call(env!("CARGO_BIN_EXE_rpcgauge"));
        was_called(place.run(&call.each_ref().map(String::as_str)));
    }
}

/// The program is copied because an ordinary user cannot read a checkout in root's home.
#[test]
fn an_ordinary_user_does_too() {
    let Some(place) = place_for("a call over a link as an ordinary user") else {
        return;
    };
    if !getuid().is_root() {
        return println!("an ordinary user runs all tests here");
    }
    let program = place.path().join("rpcgauge");
    fs::copy(env!("CARGO_BIN_EXE_rpcgauge"), &program).expect("a copy");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).expect("open to all");
    let as_user = |args: &[&str]| {
        let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
        let mut command = Command::new("setpriv");
        command
            .args(user)
            .arg(&program)
            .args(args)
            .current_dir(place.path());
        command.env("XDG_CACHE_HOME", place.path().join("cache"));
        command.output().map(Finished::from)
    };
    let tried = as_user(&["link", "wlan", "--", "true"]);
    if !tried.as_ref().is_ok_and(|it| it.code == Some(0)) {
        return println!("left out: a link of an ordinary user: {tried:?}");
    }
    let call = call(&program.to_string_lossy());
    was_called(as_user(&call.each_ref().map(String::as_str)).expect("it runs"));
}

/// The latency of a study over a link is at least the link's round trip, and the packets of its
/// calls are counted.
#[test]
fn a_study_goes_over_its_links() {
    let Some(place) = place_for("a study over a link") else {
        return;
    };
    place.file(
        "study.toml",
        "question = \"Is far slower?\"\ninvocations = 1\nblocks = 1\n\
         [workload]\nname = \"hello\"\n\
         [base]\nprotocol = \"grpc\"\ncalls = 20\n\
         [[variants]]\nname = \"near\"\n\
         [[variants]]\nname = \"far\"\nlink = { rate = \"10Mbit/s\", delay = \"5ms\" }\n\
         [[pairs]]\nof = \"far\"\nagainst = \"near\"\n",
    );
    place.run_study().well();
    let report = fs::read_to_string(place.path().join("run/report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let variants = report["variants"].as_array().expect("variants");
    let figures = |name: &str| {
        let variant = variants.iter().find(|variant| variant["name"] == name);
        variant.expect("the variant")["cells"][0]["figures"].clone()
    };
    let (near, far) = (figures("near"), figures("far"));
    assert_eq!(near["link"], serde_json::Value::Null);
    assert_eq!(far["cpu"], serde_json::json!({}), "no CPU over a link");
    // 10 ms, minus the machine's own delay, which is measured and subtracted.
    assert!(far["latency"]["p50_ns"].as_f64() > Some(9e6), "{far}");
    let sent = &far["link"]["up"]["packets_per_call"];
    assert!(sent.as_f64() >= Some(1.0), "{far}");
}

/// 10 Gbit/s is 833,333 full packets per second, of which the study's calls need few. A call with
/// its own connection and TLS takes two more round trips.
#[test]
fn a_link_that_is_too_fast_here_is_named_before_the_run() {
    let Some(place) = place_for("a link that is too fast") else {
        return;
    };
    place.file(
        "study.toml",
        "question = \"Is it too fast?\"\ninvocations = 1\nblocks = 1\nwarm-up = { calls = 2 }\n\
         [workload]\nname = \"hello\"\n\
         [base]\nprotocol = \"grpc\"\ncalls = 5\nlink = \"rate=10Gbit/s+delay=5ms\"\n\
         [[variants]]\nname = \"kept\"\n\
         [[variants]]\nname = \"new\"\nconnection = \"per-call\"\ntls = true\n",
    );
    let finished = place.run_study();
    let warning =
        "warning: the link rate=10Gbit/s+delay=5ms may send 833,333 full packets per second";
    assert!(finished.stderr.contains(warning), "{}", finished.stderr);
    finished.well();
    let report = report(&place.path().join("run"));
    let variants = report["variants"].as_array().expect("variants");
    let new = variants.iter().find(|variant| variant["name"] == "new");
    let p50_ns = &new.expect("the variant")["cells"][0]["figures"]["latency"]["p50_ns"];
    assert!(p50_ns.as_f64() > Some(28e6), "three round trips: {p50_ns}");
}

#[test]
fn the_exit_code_is_the_clients() {
    if let Some(place) = place_for("exit codes over a link") {
        let finished = place.run(&["link", "wlan", "--", "sh", "-c", "exit 7"]);
        assert_eq!(finished.code, Some(7), "{finished:?}");
        let finished = place.run(&["link", "wlan", "--client", "kill -TERM $$"]);
        assert_eq!(finished.code, Some(128 + 15), "{finished:?}");
    }
}

#[test]
fn what_cannot_work_is_refused_in_a_line() {
    let place = Place::new();
    place
        .run(&["link", "wlam", "--", "true"])
        .refused(&["\"wlam\""]);
    place
        .run(&["link", "wlan"])
        .refused(&["nothing to run", "--client"]);
    place
        .run(&["link", "wlan+los=1%", "--", "true"])
        .refused(&["\"wlan+los=1%\"", "did you mean \"loss\"?"]);
    place.run(&["link", "check", "wlam"]).refused(&["\"wlam\""]);
    if place_for("refusals over a link").is_none() {
        return;
    }
    let refusal = |args: &[&str], part: &str| {
        let finished = place.run(&[&["link", "wlan"], args].concat());
        assert_eq!(finished.code, Some(2), "{finished:?}");
        let last = finished.stderr.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("rpcgauge: ") && last.contains(part),
            "{last}"
        );
    };
    refusal(&["--", "no-such-program"], "no-such-program");
    let program = env!("CARGO_BIN_EXE_rpcgauge");
    refusal(
        &["--server", "exit 3", "--client", "true"],
        "exit status: 3",
    );
    let server = format!("exec {program} serve --listen 127.0.0.1:6565");
    refusal(
        &["--server", &server, "--client", "true"],
        "listens only on 127.0.0.1:6565",
    );
    // This line comes before the figures of the outer link.
    let inner = place.run(&["link", "wlan", "--", program, "link", "wlan", "--", "true"]);
    assert_eq!(inner.code, Some(2), "{inner:?}");
    assert!(
        inner.stderr.contains("already inside an emulated link"),
        "{inner:?}"
    );
}

/// Starts a long-running client with a child process, outside any terminal's process group. Returns
/// the link's process and the client's network namespace.
fn staying(place: &Place) -> (Child, String) {
    let pid = place.path().join("pid");
    let script = format!(
        "sleep 1000 & echo $$ > {0}.part; mv {0}.part {0}; exec sleep 1000",
        pid.display()
    );
    let mut command = place.command(&["link", "wlan", "--client", &script]);
    command.stderr(Stdio::null()).process_group(0);
    let link = command.spawn().expect("it starts");
    wait_until("the client", || pid.exists());
    let pid = fs::read_to_string(&pid)
        .expect("its number")
        .trim()
        .to_owned();
    let namespace = fs::read_link(format!("/proc/{pid}/ns/net")).expect("a namespace");
    (link, namespace.to_string_lossy().into_owned())
}

/// Whether any process is in the namespace.
fn is_used(namespace: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    processes
        .filter_map(|it| fs::read_link(it.path().join("ns/net")).ok())
        .any(|it| it.as_os_str() == namespace)
}

#[test]
fn nothing_is_left_when_it_is_killed() {
    let Some(place) = place_for("a link that is killed") else {
        return;
    };
    let (mut link, namespace) = staying(&place);
    assert!(is_used(&namespace));
    kill_process(Pid::from_child(&link), Signal::KILL).expect("a signal is sent");
    link.wait().expect("it ends");
    wait_until("the end of the namespace", || !is_used(&namespace));
}

#[test]
fn a_signal_is_handed_to_the_client() {
    if let Some(place) = place_for("a signal over a link") {
        let (mut link, namespace) = staying(&place);
        interrupt(&link);
        assert_eq!(link.wait().expect("it ends").code(), Some(130));
        wait_until("the end of the namespace", || !is_used(&namespace));
    }
}

#[test]
fn links_with_names_are_listed() {
    let text = Place::new().run(&["link"]).well();
    let line = text.lines().find(|line| line.starts_with("wlan "));
    assert!(
        line.is_some_and(|it| it.contains("100Mbit/s, round trip 1.8ms")),
        "{text}"
    );
    assert!(text.contains("source: IEEE 802.3"), "{text}");
}
