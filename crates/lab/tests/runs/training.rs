//! Tests of runtimes that start from an ahead-of-time cache.

use rpcgauge_lab::{RuntimeFlags, SubjectCommand};
use rpcgauge_study::settings::Runtime;
use rpcgauge_study::subject::{AotFlags, Flags};

use crate::common::{Left, failed, plan, run, subject, with};

/// A subject that loads a cache, or writes one when it exits. The log shows which.
const SCRIPT: &str = r#"
echo "started with ${1%%=*}" >&2
case "$1" in
--load=*) [ "$(cat "${1#--load=}")" = trained ] || exit 3;;
esac
"$0" || exit
case "$1" in
--train=*) echo trained > "${1#--train=}";;
esac
"#;

/// Runs a variant in two invocations.
fn with_cache(script: &str) -> Left {
    let server = subject().display().to_string();
    let mut command = SubjectCommand::new("/bin/sh", ["-c", script, &server]);
    let words = |word: &str| vec![word.to_owned()];
    command.runtime = RuntimeFlags {
        place: 3,
        flags: Flags {
            aot_cache: Some(AotFlags {
                train: words("--train={aot-cache}"),
                load: words("--load={aot-cache}"),
            }),
            ..Flags::default()
        },
        ..RuntimeFlags::default()
    };
    let settings = with(|call| {
        "other".clone_into(&mut call.server);
        call.runtime = Runtime {
            aot_cache: true,
            ..Runtime::default()
        };
    });
    run(&plan(vec![("a", settings)], 2, 1), Some(command))
}

/// The reasons why both trials failed.
#[track_caller]
fn reasons(left: &Left) -> Vec<String> {
    assert_eq!((left.summary.measured, left.summary.failed), (0, 2));
    let reasons = left.trials.iter().map(|trial| failed(trial).0);
    reasons.map(|reason| reason.to_string()).collect()
}

#[test]
fn one_training_run_writes_the_cache_that_every_start_loads() {
    let left = with_cache(SCRIPT);
    assert_eq!((left.summary.measured, left.summary.failed), (2, 0));
    let files = std::fs::read_dir(left.logs.path().join("logs")).unwrap();
    let mut logs: Vec<(String, bool)> = files
        .map(|file| {
            let path = file.unwrap().path();
            let is_training = path.display().to_string().ends_with("-training.log");
            (std::fs::read_to_string(path).unwrap(), is_training)
        })
        .collect();
    logs.sort();
    let [loaded, also_loaded, trained] = &logs[..] else {
        panic!("{logs:?}");
    };
    for (log, is_training) in [loaded, also_loaded] {
        assert!(log.contains("started with --load") && !is_training, "{log}");
    }
    assert!(trained.0.contains("started with --train") && trained.1);
}

#[test]
fn a_training_run_that_writes_no_cache_fails_the_trials() {
    for reason in reasons(&with_cache("\"$0\"")) {
        let says =
            "the training run wrote no ahead-of-time cache; its log, which ends in \"-training\"";
        assert!(reason.contains(says), "{reason}");
    }
}

#[test]
fn a_training_run_that_does_not_end_well_fails_the_trials() {
    let broken = SCRIPT.replace("echo trained", "exit 4; echo trained");
    for reason in reasons(&with_cache(&broken)) {
        let says = "it did not exit with code 0: exit code 4";
        assert!(reason.contains(says), "{reason}");
    }
}
