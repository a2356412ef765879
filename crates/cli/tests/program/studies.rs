//! `studies` and `plan`, and studies that are refused.

use crate::common::{Place, SMALL_STUDY, json, orders};

#[test]
fn every_built_in_study_is_listed_shown_and_planned() {
    let place = Place::new();
    let listed = json(&place.run(&["studies", "--json"]).well());
    let names: Vec<&str> = listed
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|study| study["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "quickstart",
            "several",
            "list",
            "gzip",
            "links",
            "unix-socket",
            "campus",
            "encodings",
            "connections",
            "python",
            "stacks",
            "styles",
            "libraries"
        ]
    );
    let table = place.run(&["studies"]).well();
    for name in names {
        assert!(table.contains(name), "{table}");
        let text = place.run(&["studies", "show", name]).well();
        place.file("copy.toml", &text);
        let shown = json(&place.run(&["plan", "copy.toml", "--json"]).well());
        let built_in = json(&place.run(&["plan", name, "--json"]).well());
        assert_eq!(
            shown["trials"], built_in["trials"],
            "{name}: the file shown is the study run"
        );
        let plan = place.run(&["plan", name]).well();
        let of_app = name == "campus";
        assert!(
            plan.contains(if of_app { "slices" } else { "trials" }),
            "{name}"
        );
    }
    assert_eq!(place.names(), ["copy.toml"], "a plan leaves nothing behind");
}

#[test]
fn the_example_studies_are_planned() {
    for (file, stack) in [
        ("google-protobuf.toml", "node/google-protobuf"),
        ("inner-call.toml", "jvm/web-client"),
    ] {
        let plan = Place::new().run(&["plan", &orders(&format!("../{file}"))]);
        assert!(plan.well().contains(stack), "{file}");
    }
}

/// Runs `plan` on a study and expects a refusal that holds `parts`.
#[track_caller]
fn study_refused(text: &str, parts: &[&str]) {
    let place = Place::new();
    place.file("study.toml", text);
    place.run(&["plan", "study.toml"]).refused(parts);
    place.run(&["run", "study.toml"]).refused(parts);
    assert_eq!(
        place.names(),
        ["study.toml"],
        "a refused study leaves nothing behind"
    );
}

#[test]
fn a_misspelt_key_of_a_study_comes_with_line_column_and_the_right_name() {
    study_refused(
        &SMALL_STUDY.replace("blocks = 1", "bloks = 1"),
        &["study.toml:5:1", "bloks", "blocks"],
    );
    study_refused(
        &SMALL_STUDY.replace("protocol = \"rest\"", "protcol = \"rest\""),
        &["study.toml:17:1", "protcol", "protocol"],
    );
}

#[test]
fn a_misspelt_value_of_a_study_comes_with_line_column_and_the_right_one() {
    study_refused(
        &SMALL_STUDY.replace("protocol = \"grpc\"", "protocol = \"grcp\""),
        &["study.toml:13:12", "grcp", "grpc"],
    );
}

#[test]
fn contradictions_in_a_study_are_refused() {
    study_refused(
        &SMALL_STUDY.replace("protocol = \"grpc\"", "protocol = \"grpc\"\nhttp = \"1.1\""),
        &["study.toml:14:", "HTTP/2"],
    );
    study_refused(
        &SMALL_STUDY.replace("calls = 50", "calls = 50\nin-flight = 4\nrate = 100"),
        &["study.toml:", "rate", "in-flight"],
    );
    study_refused(
        &SMALL_STUDY.replace("of = \"grpc\"", "of = \"gprc\""),
        &["study.toml:20:", "gprc", "grpc"],
    );
    study_refused(
        &SMALL_STUDY.replace("name = \"rest\"", "name = \"grpc\""),
        &["study.toml:16:", "grpc"],
    );
    study_refused(
        &SMALL_STUDY.replace("invocations = 2", "invocations = 0"),
        &["study.toml:4:15", "invocations"],
    );
    study_refused(
        &SMALL_STUDY.replace("invocations = 2", "invocations = \"two\""),
        &["study.toml:4:15"],
    );
    study_refused(
        &SMALL_STUDY.replace("blocks = 1", "blocks = = 1"),
        &["study.toml:5:10"],
    );
}

#[test]
fn an_unknown_study_comes_with_the_nearest_name() {
    let place = Place::new();
    place
        .run(&["run", "quikstart"])
        .refused(&["quikstart", "quickstart"]);
    place.run(&["run", "none.toml"]).refused(&["none.toml"]);
    assert!(place.names().is_empty());
}
