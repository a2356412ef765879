//! Which parts of a subject are built and when they are rebuilt: only the programs of the stacks
//! that a run needs, only once, and again if the cache has lost them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{Finished, Place, interrupt, wait_until};
use crate::generated::{command, count, left_out, place_with, run};
use crate::killed;

/// A subject with two stacks, each with its own program that the generator copies.
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

/// Finds a file by name in the cache.
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

/// A subject that is built with `build` and never run.
fn built_by(build: &str) -> Place {
    let place = Place::new();
    place.file(
        "mine/made/subject.toml",
        &format!(
            "name = \"made\"\nlanguage = \"sh\"\nbuild = {build}\nrun = [\"./program\"]\n\
             [[stacks]]\nname = \"json\"\nroles = [\"codec\"]\nencodings = [\"json\"]\n\
             workloads = [\"hello\"]\n"
        ),
    );
    place
}

fn build(place: &Place) -> Finished {
    place.run(&["subjects", "build", "made", "--subjects", "mine"])
}

/// The folder in which a subject was built.
fn folder_of(finished: Finished) -> PathBuf {
    let text = finished.well();
    PathBuf::from(text.trim().split(": ").last().expect("a folder"))
}

#[test]
fn a_build_is_done_once_and_again_when_a_source_changes() {
    let place = built_by(r#"[["sh", "-c", "echo building; echo made > program"]]"#);
    let first = build(&place);
    assert!(
        first.stderr.contains("building made, 1 of 1"),
        "{}",
        first.stderr
    );
    let folder = folder_of(first);
    assert_eq!(
        fs::read_to_string(folder.join("program")).expect("what was built"),
        "made\n"
    );
    assert!(folder.join("contract/proto/hello.proto").is_file());
    let log = fs::read_to_string(format!("{}.log", folder.display())).expect("the log");
    assert!(log.contains("building"), "{log}");

    let again = build(&place);
    assert_eq!(again.stderr, "", "nothing is built");
    assert_eq!(folder_of(again), folder);
    place.file("mine/made/src/new", "");
    assert_ne!(folder_of(build(&place)), folder);
}

#[test]
fn a_build_that_broke_off_is_not_taken_for_one() {
    let place = built_by(r#"[["sh", "-c", "test ! -e left && echo made > program"]]"#);
    let folder = folder_of(build(&place));
    // Simulate a kill of rpcgauge during the build.
    fs::remove_file(folder.join(".built")).expect("the mark of a whole build");
    fs::remove_file(folder.join("program")).expect("what was built");
    fs::write(folder.join("left"), "").expect("a leftover");
    assert_eq!(folder_of(build(&place)), folder);
    assert!(folder.join("program").is_file());
}

#[test]
fn a_build_that_fails_says_which_command_and_what_it_said() {
    let place = built_by(r#"[["sh", "-c", "echo no such library; exit 7"]]"#);
    for _ in 0..2 {
        build(&place).failed(
            3,
            &[
                "  no such library\n",
                "exit status: 7",
                "its log is",
                ".log",
            ],
        );
    }
}

#[test]
fn two_that_build_at_once_build_it_once() {
    let place = built_by(r#"[["sh", "-c", "echo x >> \"$COUNT\"; sleep 1; touch program"]]"#);
    let count = place.path().join("count");
    let start = || {
        let mut command = place.command(&["subjects", "build", "made", "--subjects", "mine"]);
        command.env("COUNT", &count);
        command.stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped());
        command.spawn().expect("the program starts")
    };
    let ended = [start(), start()].map(|child| child.wait_with_output().expect("it ends"));
    let [one, other] = ended.map(|output: Output| folder_of(Finished::from(output)));
    assert_eq!(one, other);
    assert_eq!(fs::read_to_string(&count).expect("a count"), "x\n");
}

#[test]
fn a_build_ends_when_it_is_interrupted() {
    let place = built_by(r#"[["sh", "-c", "touch \"$COUNT\"; sleep 1000"]]"#);
    let count = place.path().join("count");
    let mut command = place.command(&["subjects", "build", "made", "--subjects", "mine"]);
    let child = command
        .env("COUNT", &count)
        .spawn()
        .expect("the program starts");
    wait_until("the build", || Path::new(&count).exists());
    interrupt(&child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(
        place
            .run(&["subjects", "--json", "--subjects", "mine"])
            .code,
        Some(0)
    );
}

#[test]
fn only_the_programs_that_a_run_needs_are_made() {
    let place = two_programs();
    run(&place, "one").well();
    assert!(cached(&place, "serve-http.py").is_some());
    assert_eq!(cached(&place, "serve-second.py"), None);
    // `subjects build` builds all programs, but none twice.
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
    // A source file that the server needs, but that the manifest does not name.
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
            "the subject \"made\" was built without errors, but ",
            "not/there is missing",
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
    // The check of each stack fails. The generator is started once for the built-in messages and
    // once for the check's own messages.
    command(&place, &["subjects", "check", "made", "--subjects", "mine"]);
    assert_eq!(count(&place), 1 + 2);
}

#[test]
fn a_comparison_with_a_single_way_that_can_run_stops() {
    let place = two_programs();
    let manifest = place.path().join("mine/made/subject.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let fails = "import shutil, sys; 'second' in sys.argv[1] and sys.exit('no program'); ";
    let changed = text.replace("import shutil, sys; ", fails);
    assert_ne!(changed, text);
    fs::write(manifest, changed).expect("written");
    #[rustfmt::skip]
    let compared = command(&place, &[
        "compare", "--proto", "shop.proto", "--method", "shop.Orders/Get", "--request", "request.json",
        "--response", "response.json", "--stack", "made/http", "--stack", "made/other",
        "--subjects", "mine", "--out", "compared",
    ]);
    let why = "nothing is left to compare, because stacks could not be built (see above)";
    compared.failed(2, &["left out: made/other", why]);
    assert!(!place.path().join("compared").exists());
}

/// The programs of single stacks are then not built.
#[test]
fn stacks_that_run_in_one_program_can_be_compared() {
    let place = two_programs();
    let manifest = place.path().join("mine/made/subject.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let text = text.replacen("run = [", "parts = true\nrun = [", 1);
    let together = "[[programs]]\nname = \"together\"\nstacks = [\"http\", \"other\"]\n";
    fs::write(manifest, format!("{text}\n{together}")).expect("written");
    #[rustfmt::skip]
    let compared = command(&place, &[
        "compare", "--proto", "shop.proto", "--method", "shop.Orders/Get", "--request", "request.json",
        "--response", "response.json", "--stack", "made/http", "--stack", "made/other",
        "--subjects", "mine", "--budget", "20s", "--out", "compared",
    ]);
    assert!(
        cached(&place, "serve-together.py").is_some(),
        "{compared:?}"
    );
    assert!(place.path().join("compared").exists(), "{compared:?}");
}

#[test]
fn a_program_that_cannot_be_made_is_tried_once_for_its_stacks() {
    let place = two_programs();
    let manifest = place.path().join("mine/made/subject.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let (head, other) = text.rsplit_once("[[stacks]]").expect("stacks");
    // Two stacks share a program that cannot be built. The third has its own.
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
    let finished: Finished = build
        .env("TMPDIR", nowhere)
        .output()
        .expect("it starts")
        .into();
    assert!(
        finished.stderr.contains("set TMPDIR to a writable folder"),
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
