//! The command line: help, completions, and errors.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use crate::common::{Finished, Place, SMALL_STUDY};

#[test]
fn without_arguments_the_help_shows_examples() {
    let finished = Place::new().run(&[]);
    assert_eq!(finished.code, Some(2));
    assert!(
        finished.stderr.contains("rpcgauge run quickstart"),
        "{}",
        finished.stderr
    );
}

#[test]
fn every_command_has_help_with_examples() {
    let place = Place::new();
    for command in [
        "run",
        "compare",
        "load",
        "plan",
        "studies",
        "size",
        "report",
        "diff",
        "serve",
        "subjects",
        "doctor",
        "completions",
    ] {
        let help = place.run(&[command, "--help"]).well();
        assert!(help.contains("Examples:"), "{command} has no examples");
        assert!(
            help.contains(&format!("rpcgauge {command}")),
            "{command}: {help}"
        );
    }
}

#[test]
fn every_shell_has_a_completion_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Place::new().run(&["completions", shell]).well();
        assert!(script.contains("RPCGAUGE_COMPLETE"), "{shell}: {script}");
    }
}

#[test]
fn bash_completes_commands_studies_stacks_and_links() {
    let folder = Path::new(env!("CARGO_BIN_EXE_rpcgauge"))
        .parent()
        .expect("the program is in a folder");
    let complete = |line: &str| {
        let script = format!(
            "PATH={}:$PATH; source <(rpcgauge completions bash); COMP_WORDS=({line}); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_TYPE=9; \
             _clap_complete_rpcgauge rpcgauge \"${{COMP_WORDS[COMP_CWORD]}}\"; \
             echo \"${{COMPREPLY[*]}}\"",
            folder.display()
        );
        let bash = Command::new("bash").args(["-c", &script]).output().unwrap();
        String::from_utf8(bash.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("rpcgauge subj"), "subjects", "`subject` is hidden");
    assert_eq!(complete("rpcgauge run quick"), "quickstart");
    assert_eq!(
        complete("rpcgauge compare --stack rust/tonic,go/grpc-g"),
        "rust/tonic,go/grpc-gateway rust/tonic,go/grpc-gateway-apart rust/tonic,go/grpc-go"
    );
    assert_eq!(complete("rpcgauge compare --client go/net"), "go/net-http");
    assert_eq!(complete("rpcgauge link wl"), "wlan");
}

#[test]
fn help_and_version_are_printed_and_end_well() {
    let place = Place::new();
    assert_eq!(
        place.run(&["--version"]).well(),
        concat!("rpcgauge ", env!("CARGO_PKG_VERSION"), "\n")
    );
    assert!(place.run(&["--help"]).well().contains("Usage: rpcgauge"));
}

#[test]
fn a_mistake_is_named_with_what_is_right() {
    let place = Place::new();
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["run", "quickstart", "--bloks", "3"],
            &["'--bloks'", "'--blocks'"],
        ),
        (&["plann"], &["'plann'", "'plan'"]),
        (&["plan", "quickstart", "gzip"], &["'gzip'"]),
        (&["run"], &["<STUDY>"]),
        (
            &["compare", "--request", "r.json"],
            &["--method <METHOD>", "--response <FILE>"],
        ),
        (&["run", "quickstart", "--out"], &["'--out <DIR>'"]),
        (
            &["run", "--resume", "a", "--seed", "3"],
            &["--resume <RUN>", "--seed <N>"],
        ),
        (&["report", "run", "--format", "jsn"], &["'jsn'", "'json'"]),
        (
            &["run", "quickstart", "--seed", "x"],
            &["--seed <N>", "'x'"],
        ),
        (
            &["plan", "quickstart", "--blocks", "0"],
            &["--blocks <N>", "zero"],
        ),
    ];
    for (words, parts) in cases {
        let finished = place.run(words);
        assert!(finished.stderr.contains("Usage: rpcgauge") || finished.stderr.contains("--help"));
        finished.refused(parts);
    }
}

#[test]
fn an_option_of_another_load_generator_is_answered_with_its_own() {
    let place = Place::new();
    for (option, own) in [("--qps", "use --rate"), ("-c", "use --in-flight")] {
        let finished = place.run(&["load", "http://127.0.0.1:1/", option, "5"]);
        finished.refused(&[option, own]);
    }
    let elsewhere = place.run(&["run", "quickstart", "--qps", "5"]);
    assert!(
        !elsewhere.stderr.contains("use --rate"),
        "{}",
        elsewhere.stderr
    );
    elsewhere.refused(&["--qps"]);
}

#[test]
fn what_is_not_text_is_refused() {
    let place = Place::new();
    let output = place
        .command(&["run"])
        .arg(OsStr::from_bytes(b"a\xff"))
        .output()
        .expect("the program starts");
    Finished::from(output).refused(&["invalid UTF-8"]);
}

#[test]
fn no_argument_steers_the_terminal() {
    let place = Place::new();
    let hostile = "a\r\u{1b}[31m\u{202e}c";
    for words in [
        &[hostile][..],
        &["plan", hostile],
        &["report", "run", "--format", hostile],
    ] {
        let finished = place.run(words);
        assert!(
            !finished.stderr.contains(['\r', '\u{1b}', '\u{202e}']),
            "{}",
            finished.stderr
        );
        finished.refused(&[]);
    }
}

#[test]
fn no_refused_value_that_may_be_a_secret_is_shown() {
    let place = Place::new();
    let target = "http://x/";
    for words in [
        &["http://me:secret@"][..],
        &[target, "--vs", "ftp://me:secret@x/"],
        &[target, "-H", "authorization secret"],
        &[
            target,
            "--vs",
            target,
            "--vs-header",
            "authorization secret",
        ],
    ] {
        let finished = place.run(&[&["load"], words].concat());
        assert!(!finished.stderr.contains("secret"), "{}", finished.stderr);
        finished.refused(&["error: "]);
    }
}

#[test]
fn no_text_of_a_study_steers_the_terminal() {
    let place = Place::new();
    let asked = "question = \"Is a greeting";
    assert!(SMALL_STUDY.contains(asked));
    let steering = format!("{asked}\\u00ad\\u202e\\U000e0041");
    place.file("study.toml", &SMALL_STUDY.replace(asked, &steering));
    for more in [&[][..], &["--json"]] {
        let words = [&["plan", "study.toml"], more].concat();
        let shown = place.run(&words).well();
        assert!(
            !shown.contains(['\u{ad}', '\u{202e}', '\u{e0041}']),
            "{shown}"
        );
        assert!(shown.contains("202e"), "{shown}");
    }
}
