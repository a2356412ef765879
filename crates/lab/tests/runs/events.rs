//! Tests of runtime settings and events, with a shell script around the reference subject in place of a
//! runtime.

use std::path::PathBuf;

use rpcgauge_lab::{RuntimeFlags, SubjectCommand};
use rpcgauge_study::features::Role;
use rpcgauge_study::record::EventKind;
use rpcgauge_study::settings::{Runtime, Settings};
use rpcgauge_study::subject::{Flags, UsualFlags};

use crate::common::{Left, measured, plan, run, subject, with};

/// Serves, and on exit reports a pause that covers its whole run, with its flags as the detail.
const SCRIPT: &str = r#"
now() { python3 -c 'import time; print(time.monotonic_ns())'; }
for file; do :; done
begin=$(now); "$0"; end=$(now)
{
    printf '{"kind":"gc-pause","begin_ns":%s,"end_ns":%s,"detail":"%s"}\n' "$begin" "$end" "$1 $2"
    printf '{"kind":"compilation","begin_ns":1,"end_ns":2}\n'
} > "$file"
"#;

/// Writes an event at its start and dies while it is measured, but only the first time: the file `$MARK`
/// records that it has died.
const DIES_ONCE: &str = r#"
for file; do :; done
printf '{"kind":"compilation","begin_ns":1,"end_ns":2}\n' > "$file"
[ -e "$MARK" ] && exec "$0"
: > "$MARK"
exec 3<&0
"$0" <&3 & sleep 0.7; kill -9 $!; exit 9
"#;

fn runtime(read: &[&str]) -> SubjectCommand {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let server = subject().display().to_string();
    let mut command = SubjectCommand::new("/bin/sh", ["-c", SCRIPT, &server]);
    command.runtime = RuntimeFlags {
        place: 3,
        flags: Flags {
            gc: [("g1".to_owned(), words(&["-g1"]))].into(),
            heap: words(&["-heap={heap}"]),
            aot_cache: None,
            usual: UsualFlags {
                gc: None,
                heap_bytes: Some(1 << 20),
            },
        },
        events: words(&["{events}"]),
        read: Some((PathBuf::from(read[0]), words(&read[1..]))),
    };
    command
}

fn asked(events: bool) -> Settings {
    with_heap(events, Some(64 << 20))
}

fn with_heap(events: bool, heap_bytes: Option<u64>) -> Settings {
    with(|call| {
        "other".clone_into(&mut call.server);
        call.runtime = Runtime {
            gc: Some("g1".to_owned()),
            heap_bytes,
            aot_cache: false,
            events,
        };
    })
}

fn measure(settings: Settings, read: &[&str]) -> Left {
    let left = run(&plan(vec![("told", settings)], 2, 2), Some(runtime(read)));
    assert_eq!(left.summary.measured, 4);
    left
}

#[test]
fn what_a_runtime_did_is_kept_once_its_process_has_ended() {
    let left = measure(asked(true), &["cat", "{events}"]);
    let invocations: Vec<u32> = left.told.iter().map(|told| told.invocation).collect();
    assert_eq!(invocations, [0, 1]);
    for told in &left.told {
        assert_eq!((&*told.variant, told.process), ("told", Role::Server));
        // The event in the first nanosecond was before anything was measured.
        assert_eq!((told.events.len(), told.outside), (1, 1));
        let pause = &told.events[0];
        assert_eq!(pause.kind, EventKind::GcPause);
        assert_eq!(pause.detail, "-g1 -heap=67108864");
        let trials = left.trials.iter();
        for trial in trials.filter(|trial| trial.trial.invocation == told.invocation) {
            let figures = measured(trial);
            let from = figures.watched.as_ref().expect("it was watched").from_ns;
            let to = from + figures.spanned_ns();
            assert!(pause.begin_ns < from && to < pause.end_ns, "on one clock");
        }
    }
}

#[test]
fn events_that_cannot_be_read_fail_no_trial() {
    for (read, says) in [
        (
            &["sh", "-c", "echo no such recording >&2; exit 3"][..],
            "no such recording",
        ),
        (&["echo", "{\"kind\":\"nap\"}"], "printed an invalid line"),
        (&["/nonexistent/reader"], "could not be started"),
    ] {
        let left = measure(with_heap(true, None), read);
        assert!(left.told.is_empty(), "{read:?}");
        let said = left.events.iter().any(|event| event.contains(says));
        assert!(said, "{read:?}: {:?}", left.events);
    }
}

#[test]
fn the_events_of_a_process_that_died_are_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("died").display().to_string();
    let mut settings = asked(true);
    settings.stop.calls = None;
    settings.stop.time_ms = Some(1_500);
    let mut command = runtime(&["cat", "{events}"]);
    command.args[1] = format!("MARK='{mark}'; {DIES_ONCE}").into();
    let left = run(&plan(vec![("told", settings)], 1, 2), Some(command));
    assert_eq!((left.summary.failed, left.summary.measured), (1, 1));
    let outside: Vec<u64> = left.told.iter().map(|told| told.outside).collect();
    assert_eq!(
        outside,
        [1, 1],
        "one each from the first and the second process"
    );
}

#[test]
fn a_process_that_never_started_has_no_events_to_be_missed() {
    let mut command = runtime(&["cat", "{events}"]);
    command.args[1] = "exit 4".into();
    let left = run(&plan(vec![("told", asked(true))], 1, 1), Some(command));
    assert_eq!(left.summary.failed, 1);
    let said = left.events.iter().find(|event| event.contains("events of"));
    assert_eq!(said, None);
}

#[test]
fn nothing_is_recorded_where_no_events_are_asked_for() {
    let settings = with_heap(false, None);
    let mut command = runtime(&["cat"]);
    // Without a file for events, the last flag is that of the collector.
    command.runtime.flags.heap.clear();
    command.runtime.flags.usual.heap_bytes = None;
    command.runtime.flags.gc = [("g1".to_owned(), vec!["/dev/null".to_owned()])].into();
    let left = run(&plan(vec![("told", settings)], 1, 1), Some(command));
    assert!(left.told.is_empty());
    assert_eq!(measured(&left.trials[0]).watched, None);
}
