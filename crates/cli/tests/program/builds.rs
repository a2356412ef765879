//! What of a subject is built, and what is built again: only the programs of the stacks that a run needs,
//! and what a cache has lost.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::Place;
use crate::generated::{command, count, left_out, place_with, run};
use crate::killed;

/// Two stacks, each a separate program, which the generator copies.
fn two_programs() -> Place {
    let place = place_with(
        "mine/made/subject.toml",
        r#"generate = [["python3", "generate.py", "{messages}"]]"#,
        r#"generate = [
             ["python3", "generate.py", "{messages}"],
             ["python3", "-c", "import shutil, sys; shutil.copy('server.py', sys.argv[1])", "{messages}/serve-{program}.py"]]"#,
    );
    let manifest = place.path().join("mine/made/subject.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let stack = text.split("[[stacks]]").nth(1).expect("a stack");
    let other = stack
        .replace("\"http\"", "\"other\"")
        .replace("roles", "program = \"second\"\nroles");
    let text = text.replace(
        r#"run = ["python3", "server.py","#,
        r#"run = ["python3", "{messages}/serve-{program}.py","#,
    );
    fs::write(manifest, format!("{text}\n[[stacks]]{other}")).expect("written");
    place
}

/// The file of a name below the cache, but for those beside the sources.
fn cached(place: &Place, name: &str) -> Option<PathBuf> {
    let mut folders = vec![place.path().join("cache")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with(name) {
                return Some(path);
            }
        }
    }
    None
}

#[test]
fn only_the_programs_that_a_run_needs_are_made() {
    let place = two_programs();
    run(&place, "one").well();
    assert!(cached(&place, "serve-http.py").is_some());
    assert_eq!(cached(&place, "serve-second.py"), None);
    // All of them, and nothing twice.
    command(&place, &["subjects", "build", "made", "--subjects", "mine"]).well();
    assert!(cached(&place, "serve-second.py").is_some());
    assert_eq!(
        count(&place),
        2,
        "the study's messages, and the built-in ones"
    );
}

#[test]
fn what_a_cache_has_lost_is_made_again() {
    let place = two_programs();
    run(&place, "one").well();
    fs::remove_file(cached(&place, "serve-http.py").expect("a program")).expect("removed");
    run(&place, "two").well();
    assert_eq!(count(&place), 1, "the program alone");
    fs::remove_file(cached(&place, "code").expect("the code")).expect("removed");
    run(&place, "three").well();
    assert_eq!(count(&place), 2);
    // Nothing names it, and it is needed.
    let server = cached(&place, "server.py").expect("a source");
    fs::remove_file(&server).expect("removed");
    run(&place, "four").well();
    assert!(server.exists());

    let disk = "roles = [\"server\"]\ndisk = [\"built\"]";
    let place = place_with("mine/made/subject.toml", "roles = [\"server\"]", disk);
    run(&place, "one").well();
    let built = cached(&place, "built").expect("what the build made");
    fs::remove_file(&built).expect("removed");
    run(&place, "two").well();
    assert!(built.exists());

    let make = "build = [[\"python3\", \"-c\", \"import os, sys; os.symlink(sys.executable, 'generator'); ";
    let place = place_with(
        "mine/made/subject.toml",
        "build = [[\"python3\", \"-c\", \"",
        make,
    );
    let manifest = place.path().join("mine/made/subject.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let text = text.replace(
        "[\"python3\", \"generate.py\"",
        "[\"./generator\", \"generate.py\"",
    );
    fs::write(manifest, text).expect("written");
    run(&place, "one").well();
    let generator = cached(&place, "generator").expect("what the build made");
    fs::remove_file(&generator).expect("removed");
    run(&place, "two").well();
    assert!(generator.exists());
}

#[test]
fn what_a_cache_has_lost_of_one_stack_takes_nothing_from_another() {
    let place = two_programs();
    let study = fs::read_to_string(place.path().join("study.toml")).expect("a study");
    place.file(
        "study.toml",
        &study.replace("\"made/http\"", "\"made/http\", \"made/other\""),
    );
    let server = fs::read_to_string(place.path().join("mine/made/server.py")).expect("a server");
    place.file(
        "mine/made/server.py",
        &server.replace("== \"http\"", "in (\"http\", \"other\")"),
    );
    run(&place, "one").well();
    fs::remove_file(cached(&place, "serve-second.py").expect("a program")).expect("removed");
    run(&place, "two").well();
    assert!(cached(&place, "serve-second.py").is_some());
}

#[test]
fn a_build_that_does_nothing_leaves_its_stack_out() {
    let disk = "roles = [\"server\"]\ndisk = [\"not/there\"]";
    let place = place_with("mine/made/subject.toml", "roles = [\"server\"]", disk);
    left_out(
        &place,
        &[
            "the subject \"made\" was built without an error, and ",
            "not/there is not there",
        ],
    );
}

#[test]
fn a_generator_that_refuses_is_asked_once_for_all_stacks() {
    let place = two_programs();
    let generator = place.path().join("mine/made/generate.py");
    fs::write(
        generator,
        "import sys; open(__import__('os').environ['COUNT'], 'a').write('x'); sys.exit('no words')",
    )
    .expect("written");
    let study = fs::read_to_string(place.path().join("study.toml")).expect("a study");
    place.file(
        "study.toml",
        &study.replace("\"made/http\"", "\"made/http\", \"made/other\""),
    );
    let finished = run(&place, "run");
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert_eq!(count(&place), 1);
    let line =
        "left out: made/http, made/other: the subject \"made\" has no code for these messages";
    assert!(finished.stderr.contains(line), "{}", finished.stderr);
    assert_eq!(
        finished.stderr.matches("no words").count(),
        2,
        "the end of its log, and the line: {finished:?}"
    );
    // Each check of a stack fails, for the built-in messages and for its own.
    command(&place, &["subjects", "check", "made", "--subjects", "mine"]);
    assert_eq!(count(&place), 1 + 2);
}

#[test]
fn a_program_that_cannot_be_made_is_tried_once_for_its_stacks() {
    let place = two_programs();
    let manifest = place.path().join("mine/made/subject.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let (head, other) = text.rsplit_once("[[stacks]]").expect("stacks");
    // Two stacks share a program that cannot be made; the third has its own.
    let shared = other.replace("\"other\"", "\"third\"");
    let text = format!("{head}[[stacks]]{other}\n[[stacks]]{shared}").replace(
        "import shutil, sys; ",
        "import os, shutil, sys; 'second' in sys.argv[1] and (open(os.environ['COUNT'], 'a').write('y'), sys.exit('no program')); ",
    );
    fs::write(manifest, text).expect("written");
    let study = fs::read_to_string(place.path().join("study.toml")).expect("a study");
    place.file(
        "study.toml",
        &study.replace(
            "\"made/http\"",
            "\"made/http\", \"made/other\", \"made/third\"",
        ),
    );
    let finished = run(&place, "run");
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert_eq!(count(&place), 2, "the code, and the program that fails");
    let line = "left out: made/other, made/third: the subject \"made\" has no code";
    assert!(finished.stderr.contains(line), "{}", finished.stderr);
}

#[test]
fn a_temporary_folder_that_cannot_be_written_is_no_missing_tool() {
    let place = place_with(
        "mine/made/subject.toml",
        "install = \"apt",
        "least = \"3\"\ninstall = \"apt",
    );
    let mut build = place.command(&["subjects", "build", "made", "--subjects", "mine"]);
    let nowhere = place.path().join("nowhere");
    let finished: crate::common::Finished = build
        .env("TMPDIR", nowhere)
        .output()
        .expect("it starts")
        .into();
    assert!(
        finished
            .stderr
            .contains("set TMPDIR to a folder that can be written"),
        "{finished:?}"
    );
    assert!(!finished.stderr.contains("apt install"), "{finished:?}");
}

#[test]
fn the_log_of_a_build_that_prints_a_lot_is_bounded() {
    let place = killed::place("yes | head -c 50000000; echo why it failed; exit 3", "true");
    let ended = place.run(&["subjects", "build", "made", "--subjects", "mine"]);
    assert!(ended.stderr.contains("why it failed"), "{}", ended.stderr);
    let (_, log) = ended.stderr.split_once("its log is ").expect("its log");
    let log = log.lines().next().unwrap_or_default();
    let text = fs::read_to_string(log).expect("its log");
    assert!(text.len() < 5 << 20, "{} bytes", text.len());
    assert!(text.ends_with("more bytes were not kept]\n"));
}

#[test]
fn a_pipe_in_the_cache_is_not_waited_for() {
    let place = killed::place("true", "true");
    let build = || place.run(&["subjects", "build", "made", "--subjects", "mine"]);
    build().well();
    let marker = cached(&place, ".built").expect("a build");
    let folder = marker.parent().expect("its folder").to_owned();
    let beside = |ending: &str| PathBuf::from(format!("{}.{ending}", folder.display()));
    let make_pipe = |path: &Path| {
        fs::remove_file(path).expect("it is there");
        rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into()).expect("a pipe");
    };
    make_pipe(&marker);
    make_pipe(&beside("log"));
    build().well();
    fs::remove_file(&marker).expect("it was built again");
    make_pipe(&beside("lock"));
    let ended = build();
    assert!(
        ended.stderr.contains("it is not a regular file"),
        "{ended:?}"
    );
}
