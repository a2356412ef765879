//! The built-in studies resolve, compare what they should, and contain the published figures.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rpcgauge_study::builtin;
use rpcgauge_study::features::{Features, embedded_only};
use rpcgauge_study::file::StudyFile;
use rpcgauge_study::plan::{Metric, Plan};
use rpcgauge_study::resolve::loader::FileLoader;
use rpcgauge_study::resolve::{Overrides, ResolveContext};
use rpcgauge_study::settings::{Placement, Stop};
use rpcgauge_study::subject::Manifest;

/// The embedded stacks, and those of the built-in subjects.
fn subjects() -> BTreeMap<String, Features> {
    let manifests = [
        include_str!("../../../subjects/csharp/subject.toml"),
        include_str!("../../../subjects/go/subject.toml"),
        include_str!("../../../subjects/jvm/subject.toml"),
        include_str!("../../../subjects/node/subject.toml"),
        include_str!("../../../subjects/python/subject.toml"),
    ];
    let mut subjects = embedded_only();
    for text in manifests {
        let manifest = Manifest::parse(text, "subject.toml");
        subjects.extend(
            manifest
                .unwrap_or_else(|error| panic!("{error}"))
                .features(),
        );
    }
    subjects
}

fn resolve(name: &str, cores: u32) -> Plan {
    let text = builtin::find(name).unwrap().text;
    let file = StudyFile::parse(text, name).unwrap_or_else(|error| panic!("{error}"));
    let context = ResolveContext {
        subjects: &subjects(),
        loader: &FileLoader::default(),
        cores,
        overrides: &Overrides::default(),
    };
    file.resolve(&context)
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn all_resolve_and_hold_to_the_method() {
    for study in builtin::ALL.iter().filter(|study| !study.is_of_app()) {
        let plan = resolve(study.name, 2);
        assert_eq!(plan.name, study.name);
        let line = study.text.lines().next().unwrap();
        assert_eq!(
            plan.question,
            line.trim_start_matches(['#', ' ']),
            "the first line of {}",
            study.name
        );
        // Each group that compares anything has one A/A pair, of one of its own variants. A second one is for comparisons
        // of variants that do not share the first one's process.
        let group = |name: &str| plan.variant(name).and_then(|v| v.group.clone());
        let guarded: Vec<_> = plan
            .pairs
            .iter()
            .filter(|pair| pair.a_a)
            .map(|pair| group(&pair.against))
            .collect();
        let groups: BTreeSet<_> = plan.pairs.iter().map(|pair| group(&pair.of)).collect();
        assert_eq!(
            guarded.iter().cloned().collect::<BTreeSet<_>>(),
            groups,
            "{}",
            study.name
        );
        let own = plan
            .pairs
            .iter()
            .filter(|pair| pair.name.ends_with("-a-a-own"));
        assert_eq!(guarded.len() - own.count(), groups.len(), "{}", study.name);
        assert!(plan.placements.len() >= 2, "{}", study.name);
        // With more starts, these studies would take half an hour or longer: some have dozens of variants, JVMs are
        // slow to start and to warm up, and so are calls over a slow link.
        let least = match study.name {
            "libraries" | "links" => 3,
            "styles" => 4,
            "list" | "stacks" => 5,
            _ => 8,
        };
        for (index, variant) in plan.variants.iter().enumerate() {
            let starts = plan.trials.iter().filter(|trial| {
                trial.variant as usize == index && trial.placement == plan.placements[0]
            });
            let starts: BTreeSet<u32> = starts.map(|trial| trial.invocation).collect();
            let is_run_once = variant.name.starts_with("long-");
            assert!(is_run_once || starts.len() >= 3, "{}", variant.name);
        }
        assert!(plan.invocations >= least, "{}", study.name);
        let names: BTreeSet<&str> = plan.pairs.iter().map(|pair| pair.name.as_str()).collect();
        assert_eq!(names.len(), plan.pairs.len(), "{}", study.name);
        for pair in plan.pairs.iter().filter(|pair| pair.headline) {
            for name in [&pair.of, &pair.against] {
                let placements: BTreeSet<Placement> = plan
                    .trials
                    .iter()
                    .filter(|trial| plan.variants[trial.variant as usize].name == *name)
                    .map(|trial| trial.placement)
                    .collect();
                assert_eq!(
                    placements.len(),
                    plan.placements.len(),
                    "{name} of {}",
                    study.name
                );
            }
        }
    }
}

#[test]
fn one_core_is_enough_to_plan_all() {
    for study in builtin::ALL.iter().filter(|study| !study.is_of_app()) {
        let plan = resolve(study.name, 1);
        assert_eq!(plan.placements[0], Placement::OneCore, "{}", study.name);
    }
}

#[test]
fn quickstart_asks_five_questions_in_its_time() {
    let plan = resolve("quickstart", 2);
    let groups: BTreeSet<_> = plan.variants.iter().map(|v| v.group.as_deref()).collect();
    let expected = ["several", "list", "campus", "gzip", "unix-socket"];
    assert_eq!(groups, expected.map(Some).into());
    let estimate = plan.estimate();
    assert!(estimate <= Duration::from_secs(85), "{estimate:?}");
    for group in groups {
        let asked = plan.pairs.iter().any(|pair| {
            pair.headline
                && plan
                    .variant(&pair.of)
                    .is_some_and(|v| v.group.as_deref() == group)
        });
        assert!(asked, "{group:?} has a headline pair");
    }
}

/// The claims of a study, as (name, metric, figure of `of`, figure of `against`).
fn claims(name: &str) -> Vec<(String, Metric, f64, f64)> {
    let plan = resolve(name, 2);
    let claim =
        |c: rpcgauge_study::plan::Claim| (c.name, c.metric, c.published.of, c.published.against);
    plan.claims.into_iter().map(claim).collect()
}

#[test]
fn the_published_figures_are_claims() {
    let has = |study: &str, expected: &[(&str, Metric, f64, f64)]| {
        let claims = claims(study);
        for (name, metric, of, against) in expected {
            let wanted = ((*name).to_owned(), *metric, *of, *against);
            assert!(
                claims.contains(&wanted),
                "{wanted:?} in {study}: {claims:?}"
            );
        }
        claims.len()
    };
    let several = [
        ("several-request", Metric::RequestTime, 2.92, 7.16),
        ("several-response", Metric::ResponseTime, 3.6, 12.78),
    ];
    let gzip = [
        ("gzip-one-loopback", Metric::LatencyMean, 0.5, 0.1),
        ("gzip-one-wlan", Metric::LatencyMean, 2.2, 1.87),
        ("gzip-all-loopback", Metric::LatencyMean, 30.08, 15.81),
        ("gzip-all-wlan", Metric::LatencyMean, 56.51, 190.06),
    ];
    let unix = [("unix-socket-call", Metric::LatencyMean, 90.0, 115.0)];
    let list = [
        ("list-bytes-10", Metric::ResponseBytes, 701.0, 1_705.0),
        ("list-bytes-500", Metric::ResponseBytes, 40_561.0, 93_298.0),
        ("list-call-100", Metric::LatencyMean, 46.0, 90.0),
        ("list-call-500", Metric::LatencyMean, 177.0, 158.0),
        ("list-decode-100", Metric::LatencyMean, 32.0, 19.0),
        ("list-decode-300", Metric::LatencyMean, 94.0, 43.0),
        ("list-decode-500-csharp", Metric::LatencyMean, 156.0, 69.0),
    ];
    let campus = [
        ("campus-profile-bytes", Metric::ResponseBytes, 28.0, 67.0),
        (
            "campus-followers-bytes",
            Metric::ResponseBytes,
            101.0,
            291.0,
        ),
    ];
    assert_eq!(has("several", &several), 2);
    assert_eq!(has("gzip", &gzip), 4);
    assert_eq!(has("unix-socket", &unix), 1);
    assert_eq!(has("list", &list), 16);
    // Quickstart's trials are too short for calls with all records.
    for claims in [&several[..], &gzip[..1], &unix, &campus] {
        has("quickstart", claims);
    }
}

#[test]
fn the_long_run_of_several_runs_once() {
    let plan = resolve("several", 2);
    for name in ["long-grpc", "long-json"] {
        let variant = plan.variant(name).unwrap();
        assert_eq!(
            variant.settings.stop,
            Stop {
                calls: Some(30_000),
                time_ms: None
            }
        );
        let trials = plan
            .trials
            .iter()
            .filter(|t| plan.variants[t.variant as usize] == *variant)
            .count();
        assert_eq!(trials, 1, "{name}");
    }
}

#[test]
fn a_name_that_is_not_there_gets_the_nearest() {
    let error = builtin::find("quikstart").unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no built-in study \"quikstart\"; did you mean \"quickstart\"?"
    );
}
