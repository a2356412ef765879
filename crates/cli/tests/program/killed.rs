//! Processes started by subjects and builds end with rpcgauge, however rpcgauge ends.

use std::fs;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Place, interrupt, wait_until};

/// A script that starts a long-running process, writes both process ids to a file, and waits.
const STARTS_ANOTHER: &str = "sleep 1000 & echo $! > \"$PIDS.part\"; echo $$ >> \"$PIDS.part\"; \
    mv \"$PIDS.part\" \"$PIDS\"; wait";

/// A subject that is built and run by these shell scripts.
pub(crate) fn place(build: &str, run: &str) -> Place {
    let place = Place::new();
    let quoted = |script: &str| format!("[\"sh\", \"-c\", '''{script}''']");
    place.file(
        "mine/made/subject.toml",
        &format!(
            "name = \"made\"\nlanguage = \"sh\"\nbuild = [{}]\nrun = {}\n[[stacks]]\n\
             name = \"http\"\nroles = [\"server\"]\nprotocols = {{ rest = [\"1.1\"] }}\n\
             encodings = [\"json\"]\ntransports = [\"tcp\"]\nworkloads = [\"hello\"]\n",
            quoted(build),
            quoted(run)
        ),
    );
    place.file(
        "study.toml",
        "question = \"Is it?\"\na-a = \"made/http\"\n[workload]\nname = \"hello\"\n[base]\nprotocol = \"rest\"\n\
         [factors]\nserver = [\"made/http\"]\n",
    );
    place
}

/// Starts rpcgauge, which starts the processes, and asserts that they end soon after `end`.
#[track_caller]
fn end_with_it(place: &Place, args: &[&str], end: impl Fn(&Child)) {
    let path = place.path().join("pids");
    let mut command = place.command(&[args, &["--subjects", "mine"]].concat());
    let mut rpcgauge = command.env("PIDS", &path).spawn().expect("it starts");
    wait_until("the processes", || path.exists());
    let text = fs::read_to_string(&path).expect("their numbers");
    let pids: Vec<&str> = text.split_whitespace().collect();
    assert!(pids.len() == 2 && pids.iter().all(|pid| is_there(pid)));
    end(&rpcgauge);
    rpcgauge.wait().expect("it ends");
    wait_until("the end of the processes", || {
        !pids.iter().any(|pid| is_there(pid))
    });
}

/// Whether a process is alive. Zombies are not.
fn is_there(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| &rest[..1]);
    state.is_some_and(|state| state != "Z" && state != "X")
}

fn kill(child: &Child) {
    kill_process(Pid::from_child(child), Signal::KILL).expect("a signal is sent");
}

fn twice(child: &Child) {
    interrupt(child);
    interrupt(child);
}

#[test]
fn what_a_build_has_started_ends_with_rpcgauge() {
    for end in [kill, interrupt, twice] {
        let place = place(STARTS_ANOTHER, "true");
        end_with_it(&place, &["subjects", "build", "made"], end);
    }
}

#[test]
fn what_has_left_its_group_ends_with_rpcgauge() {
    let script = STARTS_ANOTHER.replace("sleep 1000 &", "setsid sleep 1000 &");
    for end in [kill, interrupt] {
        let place = place(&script, "true");
        end_with_it(&place, &["subjects", "build", "made"], end);
    }
}

/// Starts a process that can only be identified by its parent: it has left its process group and
/// session, and its environment is empty.
const HIDES: &str = "env -i setsid sleep 1000 & ";

#[test]
fn what_has_left_its_group_and_its_environment_ends_with_what_started_it() {
    let with_parent = STARTS_ANOTHER.replace("sleep 1000 & ", HIDES);
    let without_parent = STARTS_ANOTHER.replace(
        "sleep 1000 & echo $! > \"$PIDS.part\";",
        &format!("({HIDES} echo $! > \"$PIDS.part\");"),
    );
    for script in [with_parent, without_parent] {
        let script = script.replace("wait", "exec sleep 1000");
        let place_of_build = place(&script, "true");
        end_with_it(&place_of_build, &["subjects", "build", "made"], interrupt);
        let place_of_subject = place("true", &script);
        end_with_it(
            &place_of_subject,
            &["run", "study.toml", "--quiet"],
            interrupt,
        );
    }
}

#[test]
fn what_a_build_leaves_running_or_hides_ends_with_the_build() {
    for starts in ["sleep 1000 & ", HIDES] {
        let place = place(&format!("{starts} echo $! > \"$PIDS\""), "true");
        let path = place.path().join("pids");
        let mut command = place.command(&["subjects", "build", "made", "--subjects", "mine"]);
        let ended = command.env("PIDS", &path).output().expect("it starts");
        assert!(ended.status.success(), "{ended:?}");
        let pid = fs::read_to_string(&path).expect("its number");
        wait_until("its end", || !is_there(pid.trim()));
    }
}

#[test]
fn the_workers_of_a_subject_end_with_rpcgauge() {
    for end in [kill, interrupt, twice] {
        let place = place("true", STARTS_ANOTHER);
        end_with_it(&place, &["run", "study.toml", "--quiet"], end);
    }
}
