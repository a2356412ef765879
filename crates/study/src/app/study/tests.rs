use super::*;
use crate::app::{App, AppPlan};

const APP: &str = r#"
name = "shop"
description = "A shop"

[settings.calls]
values = ["rest", "kept", "grpc"]

[[service]]
name = "front"
run = ["front"]
ports = ["http"]

[entry]
service = "front"
port = "http"

[load]
locustfile = "locustfile.py"

[[checks]]
path = "/"
"#;

const STUDY: &str = r#"
question = "What do users gain?"
a-a = "kept"

[app]
name = "shop"

[[variants]]
name = "rest"
calls = "rest"

[[variants]]
name = "kept"
calls = "kept"

[[variants]]
name = "grpc"
calls = "grpc"

[[pairs]]
of = "grpc"
against = "rest"
metric = "cpu"

[[pairs]]
of = "kept"
against = "rest"

[[claims]]
of = "grpc"
against = "rest"
metric = "cpu"
ratio = 2.0
source = "a talk"
"#;

fn plan(study: &str, only: &[&str]) -> Result<AppPlan, String> {
    let app = App::parse(APP, "app.toml").unwrap();
    let overrides = AppOverrides {
        only: only.iter().map(|name| (*name).to_owned()).collect(),
        ..AppOverrides::default()
    };
    let study = AppStudy::parse(study, "study.toml").unwrap();
    let plan = study.resolve(&app, &overrides);
    plan.map_err(|error| error.to_string())
}

/// The variants, the pairs, and the number of claims.
fn shown(only: &[&str]) -> (String, String, usize) {
    let plan = plan(STUDY, only).unwrap();
    assert_eq!(plan.blocks[0].order.len(), plan.variants.len());
    let variants = plan.variants.iter().map(|variant| variant.name.clone());
    let pairs = plan.pairs.iter().map(|pair| {
        let metrics = pair.metrics.len();
        format!("{} against {} in {metrics}", pair.of, pair.against)
    });
    let joined = |all: Vec<String>| all.join(", ");
    (
        joined(variants.collect()),
        joined(pairs.collect()),
        plan.claims.len(),
    )
}

#[test]
fn only_keeps_the_pairs_and_claims_that_still_have_both_variants() {
    let of = |only: &[&str], variants: &str, pairs: &str, claims| {
        let expected = (variants.to_owned(), pairs.to_owned(), claims);
        assert_eq!(shown(only), expected, "{only:?}");
    };
    let both = "grpc against rest in 1, kept against rest in 5";
    of(&[], "rest, kept, grpc, kept-again", both, 1);
    // Without the variant of the A/A pair, the variant that the first pair compares with is repeated.
    let one = "grpc against rest in 1";
    of(&["grpc", "re"], "rest, grpc, rest-again", one, 1);
    // If no pair is left, all variants are compared with the first, as in a study without pairs.
    let one = "grpc against kept in 5";
    of(&["grpc", "kept"], "kept, grpc, kept-again", one, 0);
    of(&["grpc"], "grpc", "", 0);
}

#[test]
fn only_of_nothing_and_a_name_that_the_a_a_pair_needs_are_refused() {
    let refused = plan(STUDY, &["grcp"]).unwrap_err();
    let line = "--only: no variant's name is or contains \"grcp\"; did you mean \"grpc\"?";
    assert!(refused.contains(line), "{refused}");
    let twin = STUDY.replace("\"grpc\"\ncalls", "\"kept-again\"\ncalls");
    let twin = twin.replace("of = \"grpc\"", "of = \"kept-again\"");
    let refused = plan(&twin, &[]).unwrap_err();
    let line = "study.toml:16:1: the name \"kept-again\" is taken by the A/A pair";
    assert!(refused.contains(line), "{refused}");
}

#[test]
fn a_request_of_what_is_not_told_by_request_is_refused() {
    let line = "\"metric\" covers all requests together, so \"request\" has no effect; leave out \"request\", or \
                name one of requests-per-second, response-mean, response-p50, response-p99";
    for (from, place) in [
        ("[[pairs]]\nof = \"grpc\"\n", "study.toml:24:10: "),
        ("[[claims]]\n", "study.toml:33:10: "),
    ] {
        let request = STUDY.replace(from, &format!("{from}request = \"page\"\n"));
        let refused = plan(&request, &[]).unwrap_err();
        assert!(refused.contains(&format!("{place}{line}")), "{refused}");
    }
    // It is allowed if another metric is measured for each request.
    let both = STUDY.replacen(
        "metric = \"cpu\"",
        "metric = [\"cpu\", \"response-mean\"]\nrequest = \"page\"",
        1,
    );
    assert_eq!(plan(&both, &[]).unwrap().pairs[0].requests, ["page"]);
}
