//! Subjects as folders: listed, measured, and rejected if they are invalid. The subject is the one
//! created by following docs/add-a-subject.md.

use std::fs;

use serde_json::Value;

use crate::checks::check;
use crate::common::{Place, json, report};

const GUIDE: &str = include_str!("../../../../docs/add-a-subject.md");

/// The guide's subject in `mine/greeter`. Each code block goes to the file named by the line before
/// it.
pub(crate) fn greeter() -> Place {
    let place = Place::new();
    let mut target = None;
    let mut lines = GUIDE.lines();
    while let Some(line) = lines.next() {
        let (start, appends) = match line.strip_prefix("Add to ") {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        if let Some(rest) = start.strip_prefix("`greeter/") {
            let name = rest.split('`').next().expect("a name");
            target = Some((format!("mine/greeter/{name}"), appends));
        }
        if line.starts_with("```") {
            let text: String = lines
                .by_ref()
                .take_while(|line| *line != "```")
                .flat_map(|line| [line, "\n"])
                .collect();
            if let Some((name, appends)) = target.take() {
                let before = if appends {
                    fs::read_to_string(place.path().join(&name)).expect("a file before")
                } else {
                    String::new()
                };
                place.file(&name, &format!("{before}\n{text}"));
            }
        }
    }
    place
}

/// The guide's subject with `from` replaced by `to` in one of its files.
pub(crate) fn greeter_with(file: &str, from: &str, to: &str) -> Place {
    let place = greeter();
    let name = format!("mine/greeter/{file}");
    let text = fs::read_to_string(place.path().join(&name)).expect("a file of the guide");
    assert!(text.contains(from), "{from} is not in {file}");
    place.file(&name, &text.replacen(from, to, 1));
    place
}

#[test]
fn the_guide_s_subject_does_what_it_declares() {
    let finished = greeter().run(&["subjects", "check", "greeter", "--subjects", "mine"]);
    assert!(!finished.stderr.contains("FAILED"), "{}", finished.stderr);
    let text = finished.well();
    for who in ["server as server", "client as client", "json as codec"] {
        assert!(text.contains(&format!("greeter/{who}: ")), "{text}");
    }
}

#[test]
fn each_step_of_the_guide_can_be_tried() {
    let place = greeter();
    let toml = place.path().join("mine/greeter/subject.toml");
    let text = fs::read_to_string(&toml).expect("subject.toml");
    let (first, _) = text
        .rsplit_once("[[stacks]]\nname = \"client\"")
        .expect("a second step");
    fs::write(&toml, first).expect("the first step");
    for later in ["client.py", "codec.py", "slices.py"] {
        fs::remove_file(place.path().join("mine/greeter").join(later)).expect("a later file");
    }
    check(&place, "server").well();
}

#[test]
fn a_study_measures_the_guide_s_server_like_any_other() {
    let place = greeter();
    let study = GUIDE
        .split("```toml\n")
        .find(|block| block.starts_with("question"))
        .expect("a study");
    let study = study.split("```").next().expect("its text");
    let small = "invocations = 1\nblocks = 1\nwarm-up = { calls = 5 }\na-a = \"reference\"\n";
    let study = study.replace("[base]\n", "[base]\ncalls = 20\n");
    place.file("study.toml", &format!("{small}{study}"));
    place
        .line("run study.toml --subjects mine --out run --quiet")
        .well();
    let report = report(&place.path().join("run"));
    let variants = report["variants"].as_array().expect("variants");
    let greeter = variants
        .iter()
        .find(|variant| variant["name"] == "greeter/server")
        .expect("its variant");
    assert_eq!(greeter["how"]["settings"]["server"], "greeter/server");
    assert!(
        report["environment"]["subjects"]["greeter/server"]["python"].is_string(),
        "{report}"
    );
}

#[test]
fn a_list_says_what_there_is_and_what_is_missing() {
    let place = greeter_with("subject.toml", "least = \"3.8\"", "least = \"99.1\"");
    let text = place.run(&["subjects", "--subjects", "mine"]).well();
    assert!(
        text.contains("greeter: Python, cannot be built: "),
        "{text}"
    );
    assert!(
        text.contains("but 99.1 or newer is needed; apt install python3"),
        "{text}"
    );
    assert!(text.contains("reference: Rust, part of rpcgauge"), "{text}");
    let listed = json(
        &place
            .run(&["subjects", "--json", "--subjects", "mine"])
            .well(),
    );
    let greeter = listed
        .as_array()
        .expect("a list")
        .iter()
        .find(|one| one["name"] == "greeter");
    let greeter = greeter.expect("the user's own");
    assert_eq!(greeter["state"], "missing");
    let names: Vec<&Value> = greeter["stacks"]
        .as_array()
        .expect("stacks")
        .iter()
        .map(|stack| &stack["name"])
        .collect();
    assert_eq!(names, ["greeter/server", "greeter/client", "greeter/json"]);
    assert_eq!(greeter["stacks"][0]["protocols"]["rest"][0], "1.1");

    place.file("study.toml", "# Is it?\n[workload]\nname = \"hello\"\n[base]\nprotocol = \"rest\"\nserver = \"greeter/server\"\n");
    let run = place.run(&["run", "study.toml", "--subjects", "mine"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("apt install python3"), "{}", run.stderr);
    assert!(!place.path().join("runs").exists(), "no run is begun");
}

#[test]
fn what_a_stack_does_not_declare_is_refused_where_it_is_asked_for() {
    let place = greeter();
    let study = "# Is it?\n[workload]\nname = \"hello\"\n[base]\nprotocol = \"rest\"\n\
        server = \"greeter/server\"\nencoding = \"cbor\"\n";
    place.file("study.toml", study);
    place
        .run(&["plan", "study.toml", "--subjects", "mine"])
        .refused(&[
            "study.toml:7:12",
            "greeter/server",
            "no encoding \"cbor\" (it has: json)",
        ]);
    place
        .run(&["plan", "study.toml"])
        .refused(&["study.toml:6:10", "there is no server \"greeter/server\""]);
}

#[test]
fn a_broken_neighbour_is_named_and_left_out() {
    let place = greeter();
    place.file("mine/broken/subject.toml", "name = 1\n");
    let planned = |server: &str| {
        let study = format!(
            "# Is it?\n[workload]\nname = \"hello\"\n[base]\nprotocol = \"rest\"\nserver = \"{server}\"\n"
        );
        place.file("study.toml", &study);
        let finished = place.run(&["plan", "study.toml", "--subjects", "mine"]);
        let warning = "warning: mine/broken/subject.toml:1:1: ";
        assert!(finished.stderr.contains(warning), "{}", finished.stderr);
        finished
    };
    planned("greeter/server").well();
    let refused = planned("broken/server");
    assert_eq!(refused.code, Some(2));
    let error = "there is no server \"broken/server\"";
    assert!(refused.stderr.contains(error), "{}", refused.stderr);
}

#[test]
fn an_unknown_key_comes_with_line_column_and_the_right_name() {
    let place = greeter_with("subject.toml", "language", "langauge");
    place.run(&["subjects", "--subjects", "mine"]).refused(&[
        "mine/greeter/subject.toml:3:1",
        "langauge",
        "did you mean \"language\"?",
    ]);
    place
        .run(&["subjects", "check", "greter", "--subjects", "mine"])
        .refused(&["greeter/subject.toml:3:1"]);
    let place = greeter();
    place
        .run(&["subjects", "check", "greter", "--subjects", "mine"])
        .refused(&["no subject \"greter\"", "greeter"]);
}
