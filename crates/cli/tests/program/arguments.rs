//! The command line itself: help, completions, and what is said when it is wrong.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

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
fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Place::new().run(&["completions", shell]).well();
        assert!(script.contains("rpcgauge"), "{shell}");
        assert!(script.contains("compare"), "{shell}");
        // As each shell lists a command.
        let hidden = [
            "rpcgauge,subject)",
            "'subject:",
            "-a \"subject\"",
            "cand subject ",
            "'subject',",
        ];
        let shown = hidden.into_iter().find(|listed| script.contains(listed));
        assert_eq!(shown, None, "{shell}: a hidden command shows");
        let listed = hidden.map(|listed| listed.replace("subject", "compare"));
        let is_listed = listed.iter().any(|listed| script.contains(listed));
        assert!(is_listed, "{shell}: commands are listed in another way");
    }
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
fn nothing_is_not_run_so_and_so_often() {
    let place = Place::new();
    for option in ["--invocations", "--blocks"] {
        place
            .run(&["plan", "quickstart", option, "0"])
            .refused(&[option, "must be at least 1"]);
    }
}

#[test]
fn an_unknown_option_comes_with_the_nearest_one() {
    let place = Place::new();
    place.run(&["run", "quickstart", "--bloks", "3"]).refused(&[
        "--bloks",
        "did you mean \"--blocks\"?",
        "`rpcgauge run --help`",
    ]);
    place
        .run(&["--seed", "3"])
        .refused(&["unknown option --seed", "`rpcgauge --help`"]);
    place
        .run(&["studies", "show", "--json"])
        .refused(&["unknown option --json", "`rpcgauge studies show --help`"]);
}

#[test]
fn an_unknown_command_comes_with_the_nearest_one() {
    let place = Place::new();
    place
        .run(&["plann"])
        .refused(&["\"plann\"", "did you mean \"plan\"?", "`rpcgauge --help`"]);
    place
        .run(&["studies", "shw"])
        .refused(&["\"shw\"", "\"show\"", "`rpcgauge studies --help`"]);
}

#[test]
fn a_word_too_many_is_named() {
    let place = Place::new();
    place
        .run(&["plan", "quickstart", "gzip"])
        .refused(&["\"gzip\" is one word too many", "`rpcgauge plan --help`"]);
    place
        .run(&["run", "quickstart", "--quiet=yes"])
        .refused(&["--quiet", "\"yes\" is one too many"]);
}

#[test]
fn what_is_missing_is_named() {
    let place = Place::new();
    place
        .run(&["run"])
        .refused(&["missing <STUDY>", "`rpcgauge run --help`"]);
    place
        .run(&["compare", "--request", "request.json"])
        .refused(&["missing --method <METHOD>, --response <FILE>"]);
    place
        .run(&["run", "quickstart", "--out"])
        .refused(&["--out <DIR> needs a value"]);
}

#[test]
fn options_that_exclude_each_other_are_both_named() {
    let place = Place::new();
    place
        .run(&["run", "--resume", "a", "--only", "b", "--seed", "3"])
        .refused(&["--resume <RUN>", "--only <NAME>, --seed <N>"]);
    place
        .run(&["run", "--resume", "a", "--resume", "b"])
        .refused(&["--resume <RUN> is given more than once"]);
}

#[test]
fn a_value_that_cannot_be_is_named_with_what_can() {
    let place = Place::new();
    let report = |format: &str| place.run(&["report", "run", "--format", format]);
    report("jsn").refused(&["--format", "\"jsn\"", "did you mean \"json\"?"]);
    report("q").refused(&["\"q\"", "known are text, json, markdown, csv, html"]);
    let seed = |seed: &str| place.run(&["run", "quickstart", "--seed", seed]);
    seed("x").refused(&["--seed <N>", "\"x\" is no whole number"]);
    seed("99999999999999999999").refused(&["--seed <N>", "99999999999999999999 is too large"]);
    place
        .run(&["run", "quickstart", "--blocks=-1"])
        .refused(&["--blocks <N>", "-1"]);
}

#[test]
fn what_is_not_text_is_named() {
    let place = Place::new();
    let output = place
        .command(&["run"])
        .arg(OsStr::from_bytes(b"a\xff"))
        .output()
        .expect("the program starts");
    Finished::from(output).refused(&["not UTF-8: \"a\\xFF\"", "`rpcgauge run --help`"]);
}

#[test]
fn a_refusal_is_one_line_whatever_is_refused() {
    let place = Place::new();
    let hostile = "a\nrpcgauge: b\r\u{1b}[31m\u{202e}c";
    place.run(&[hostile]).refused(&["a rpcgauge: b"]);
    place.run(&["plan", hostile]).refused(&["a rpcgauge: b"]);
    place
        .run(&["report", "run", "--format", hostile])
        .refused(&["a rpcgauge: b"]);
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
