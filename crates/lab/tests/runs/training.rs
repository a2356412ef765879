//! Tests of runtimes that start from an ahead-of-time cache.

use std::path::Path;

use rpcgauge_lab::{RuntimeFlags, SubjectCommand};
use rpcgauge_study::settings::Runtime;
use rpcgauge_study::subject::{AotFlags, Flags};

use crate::common::{Left, failed, plan, run, subject, with};

/// A subject that logs its flag, and needs the file that it is to load.
const SCRIPT: &str = r#"
echo "started with ${1%%=*}" >&2
case "$1" in
--load=*) [ -e "${1#--load=}" ] || exit 3;;
esac
"$0" || exit
case "$1" in
--train=*) : > "${1#--train=}";;
esac
"#;

/// Runs a variant in two invocations.
fn with_cache(script: &str, cache: &Path) -> Left {
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
        aot_cache: cache.to_owned(),
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

#[test]
fn a_training_run_writes_the_cache_that_every_start_loads() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("server.aot");
    let left = with_cache(SCRIPT, &cache);
    assert_eq!((left.summary.measured, left.summary.failed), (2, 0));
    assert!(cache.exists(), "the training run has ended");
    let kept = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(kept, 1, "only the cache is left");
    let files = std::fs::read_dir(left.logs.path().join("logs")).unwrap();
    let logs = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let loaded = logs.filter(|log| log.contains("started with --load"));
    assert_eq!(loaded.count(), 2);
}

#[test]
fn a_training_run_that_leaves_no_cache_fails_the_trials() {
    let folder = tempfile::tempdir().unwrap();
    let left = with_cache("exec \"$0\"", &folder.path().join("server.aot"));
    assert_eq!((left.summary.measured, left.summary.failed), (0, 2));
    for trial in &left.trials {
        let (reason, ..) = failed(trial);
        assert!(reason.contains("left no ahead-of-time cache"), "{reason}");
    }
}
