//! The `advise` command.

use crate::common::{Place, json};

#[test]
fn advice_names_the_way_with_the_fewest_bytes_and_what_it_saves() {
    let place = Place::with_run();
    let by_bytes = ["advise", "run", "--by", "bytes", "--rate", "2000"];
    let advised = json(&place.run(&[&by_bytes[..], &["--json"]].concat()).well());
    let advice = &advised["advice"][0];
    let own = &advice["placements"][0];
    let best = &own["best"][own["best"].as_array().expect("metrics").len() - 1];
    assert_eq!(best["metric"], "call-bytes");
    assert_eq!(own["choice"], best["variant"], "the bytes are exact");
    assert_eq!(advised["rate"], 2000.0);
    let saved = &advice["savings"][0]["per_month"]["bytes"]["value"];
    assert!(saved.as_f64().expect("resolved") > 0.0, "{advised}");
    assert_eq!(
        advice["stacks"].as_array().map(Vec::len),
        Some(0),
        "rpcgauge's own server has no settings to paste"
    );

    let text = place.run(&by_bytes).well();
    assert!(text.contains("Advice for hello, by bytes"), "{text}");
    assert!(text.contains("at 2,000 calls per second"), "{text}");
    let markdown = place.run(&["advise", "run", "run", "--format", "markdown"]);
    assert_eq!(markdown.well().matches("### Advice for hello").count(), 2);
}

#[test]
fn what_cannot_be_advised_is_refused() {
    let place = Place::with_run();
    let refused = |more: &[&str], says: &[&str]| {
        place
            .run(&[&["advise", "run"], more].concat())
            .refused(says);
    };
    for price in ["0", "-1", "nan", "inf", "cheap"] {
        refused(&["--core-hour", price], &["a price is a number above 0"]);
    }
    refused(
        &["--rate", "0"],
        &["a rate is a number of calls per second above 0"],
    );
    refused(&["--by", "price"], &["--by price needs a price"]);
    refused(
        &["--by", "cpu", "--per-gb", "0.1"],
        &["--core-hour and --per-gb are for --by price"],
    );
    refused(&["missing"], &["missing"]);
    let study = crate::common::SMALL_STUDY;
    place.file(
        "alone.toml",
        study
            .split("[[variants]]\nname = \"rest\"")
            .next()
            .expect("a part"),
    );
    place
        .run(&["run", "alone.toml", "--out", "alone", "--quiet"])
        .well();
    place.run(&["advise", "alone"]).refused(&[
        "no advice from alone: no two of its variants make the same calls",
        "rpcgauge compare",
    ]);
}
