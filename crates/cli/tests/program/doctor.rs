//! The `doctor` command.

use crate::common::{Finished, Place, json, put_old_protoc};

#[test]
fn the_doctor_tells_what_it_found() {
    let place = Place::new();
    let found = json(&place.run(&["doctor", "--no-noise", "--json"]).well());
    assert!(
        found["environment"]["cores"]
            .as_u64()
            .is_some_and(|cores| cores > 0),
        "{found}"
    );
    assert_eq!(found.get("busy_cores"), None);
    let privileges = found["privileges"].as_array().expect("privileges");
    let links = privileges.iter().find(|it| it["name"] == "emulated links");
    let possible = place.run(&["link", "wlan", "--", "true"]).code == Some(0);
    assert_eq!(links.expect("a line")["found"], possible, "{found}");
    let found = json(&place.run(&["doctor", "--json"]).well());
    assert_eq!(found["busy_cores"]["watched_ms"], 1_000, "{found}");
    let text = place.run(&["doctor", "--no-noise"]).well();
    assert!(text.contains("core"), "{text}");
    assert!(place.names().is_empty());
}

#[test]
fn the_doctor_tells_what_an_old_protoc_lacks() {
    let place = Place::new();
    put_old_protoc(&place);
    let output = place
        .command(&["doctor", "--no-noise"])
        .env("PATH", place.path().join("bin"))
        .output()
        .expect("the program starts");
    let text = Finished::from(output).well();
    let row = text.lines().find(|line| line.contains("protoc"));
    let row = row.unwrap_or_else(|| panic!("no protoc in:\n{text}"));
    assert!(row.trim_start().starts_with("no "), "{row}");
    assert!(row.contains("3.21.12, but 27 or newer is needed"), "{row}");
}
