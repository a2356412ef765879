//! `studies` and `plan`, and studies that are rejected.

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
            "streaming",
            "crossings",
            "advice",
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

#[test]
fn a_study_that_does_not_fit_is_refused_at_its_place_and_leaves_nothing_behind() {
    for (from, to, parts) in [
        (
            "blocks = 1",
            "bloks = 1",
            ["study.toml:5:1", "did you mean \"blocks\"?"],
        ),
        (
            "\"grpc\"\nprotocol",
            "\"grpc\"\nhttp = \"1.1\"\nprotocol",
            ["study.toml:13:", "HTTP/2"],
        ),
    ] {
        let place = Place::new();
        place.file("study.toml", &SMALL_STUDY.replacen(from, to, 1));
        place.run(&["plan", "study.toml"]).refused(&parts);
        place.run(&["run", "study.toml"]).refused(&parts);
        assert_eq!(place.names(), ["study.toml"]);
    }
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
