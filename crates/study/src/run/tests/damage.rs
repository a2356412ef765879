//! Runs that are cut off, damaged, incomplete or of another version.

use insta::assert_snapshot;

use super::*;

#[test]
fn a_line_that_was_cut_off_is_dropped_and_told() {
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| text[..text.len() - 40].to_owned());
    let run = Run::read(&scene.run).unwrap();
    assert_eq!(run.trials.len(), 2);
    let [warning] = &run.warnings[..] else {
        panic!("{:?}", run.warnings)
    };
    assert!(warning.contains("the last line was cut off"), "{warning}");
}

#[test]
fn a_line_without_an_end_is_refused() {
    let scene = Scene::new();
    let trials = File::create(scene.run.join(names::TRIALS)).unwrap();
    trials.set_len(65 << 20).unwrap();
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:1: the line is longer than 64 MiB; restore it from a copy, or run the study again");
}

#[test]
fn a_pipe_or_a_device_is_no_file_of_a_run() {
    for file in [
        names::RUN,
        names::PLAN,
        names::STUDY,
        names::ENVIRONMENT,
        names::TRIALS,
    ] {
        let scene = Scene::new();
        let path = scene.run.join(file);
        let elsewhere = scene.folder.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        Run::read(&scene.run).unwrap();
        fs::remove_file(&elsewhere).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &elsewhere, 0o600.into()).unwrap();
        for _ in 0..2 {
            let told = format!("the run is damaged: run/{file}: it is not a regular file; ");
            let resumed = scene.plain(RunWriter::resume::<Run>(&scene.run).unwrap_err());
            for problem in [scene.problem(), resumed] {
                assert!(problem.starts_with(&told), "{problem}");
            }
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        }
    }
}

#[test]
fn versions_that_no_subject_may_report_are_refused() {
    let scene = Scene::new();
    scene.edit(names::ENVIRONMENT, |text| {
        text.replace(
            "\"subjects\": {}",
            r#""subjects": {"go/net-http": {"go": "\u001b[2J"}}"#,
        )
    });
    let problem = scene.problem();
    assert!(
        problem.contains("\"versions\" must be printable ASCII"),
        "{problem}"
    );
}

#[test]
fn damage_in_the_middle_is_told_with_its_line() {
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"started_at_ms\":1795", "\"started_at_ms\":x", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:2: expected value (column 177); restore it from a copy, or run the study again");
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"record\":\"trial\"", "\"record\":\"trail\"", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:2: unknown variant `trail`, expected one of `invocation`, `subjects`, `trial`, `floor`, `events`, `own-processes`, `restart`; restore it from a copy, or run the study again");
    scene.edit(names::TRIALS, |text| text.replacen("trail", "tr\\nail", 1));
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:2: unknown variant `tr ail`, expected one of `invocation`, `subjects`, `trial`, `floor`, `events`, `own-processes`, `restart`; restore it from a copy, or run the study again");
}

#[test]
fn a_trial_over_a_link_says_what_the_link_did() {
    let scene = Scene::new();
    let text = STUDY.replace(
        "transport = [\"tcp\", \"unix\"]",
        "link = [\"wlan\", \"lte\"]",
    );
    let plan = plan_of(&text);
    let run = scene.folder.path().join("linked");
    create(&run, &plan)
        .unwrap()
        .append(&measured(&plan))
        .unwrap();
    let problem = scene.plain(Run::read(&run).unwrap_err());
    assert!(
        problem.contains("linked/trials.jsonl:1: trial 3 does not record what its link "),
        "{problem}"
    );
}

#[test]
fn records_that_do_not_belong_are_refused() {
    let scene = Scene::new();
    let twice = |text: String| format!("{text}{}\n", text.lines().last().unwrap());
    scene.edit(names::TRIALS, twice);
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:5: trial 1 was already recorded in line 4; restore it from a copy, or run the study again");
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"index\":2", "\"index\":99", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:3: trial 99 is not in the plan, which has 12 trials; restore it from a copy, or run the study again");
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"block\":0,\"variant\"", "\"block\":7,\"variant\"", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:2: trial 0 differs from the plan; restore it from a copy, or run the study again");
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"variant\":\"", "\"variant\":\"x", 1)
    });
    assert_snapshot!(scene.problem(), @r#"the run is damaged: run/trials.jsonl:2: trial 0 is of variant "xtcp", but of "tcp" in the plan; restore it from a copy, or run the study again"#);
    let scene = Scene::new();
    let own = r#"{"record":"own-processes","variants":[0,1],"reason":"one was refused"}"#;
    scene.edit(names::TRIALS, |text| format!("{text}{own}\n"));
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:5: the variants with their own processes do not share any in the plan; restore it from a copy, or run the study again");
}

#[test]
fn of_two_wrong_values_one_is_told_by_its_key_without_the_line_of_the_other() {
    let scene = Scene::new();
    scene.edit(names::RUN, |text| {
        let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
        let (study, seed) = (run["study"].take(), run["seed"].take());
        text.replacen(&format!("\"study\": {study}"), "\"study\": 7", 1)
            .replacen(&format!("\"seed\": {seed}"), "\"seed\": \"x\"", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/run.json: seed: expected a non-negative whole number, not a string; restore it from a copy, or run the study again");
}

#[test]
fn a_run_is_valid_without_the_check_of_its_map() {
    let scene = Scene::new();
    let check = scene.run.join(names::CHECK);
    create(&check, &scene.plan).unwrap();
    let run = Run::read(&scene.run).unwrap();
    assert!(run.map_check.is_some_and(|check| check.trials.is_empty()));
    fs::write(check.join(names::PLAN), "{").unwrap();
    let run = Run::read(&scene.run).unwrap();
    assert_eq!((run.map_check, run.trials.len()), (None, 3));
    let [warning] = &run.warnings[..] else {
        panic!("{:?}", run.warnings);
    };
    let expected = "the check of the map is left out: the run is damaged";
    assert!(warning.starts_with(expected), "{warning}");
}

#[test]
fn missing_and_broken_files() {
    let scene = Scene::new();
    for file in [names::ENVIRONMENT, names::TRIALS, names::PLAN] {
        fs::remove_file(scene.run.join(file)).unwrap();
        assert!(
            scene
                .problem()
                .starts_with(&format!("the run is damaged: run/{file} is missing; "))
        );
    }
    fs::write(scene.run.join(names::PLAN), "{\n\"name\": \"x\",\n").unwrap();
    assert_snapshot!(scene.problem(), @"the run is damaged: run/plan.json:3: EOF while parsing a value; restore it from a copy, or run the study again");
    fs::write(scene.run.join(names::PLAN), b"\xff\xfe").unwrap();
    assert_snapshot!(scene.problem(), @"the run is damaged: run/plan.json: it is not UTF-8 text; restore it from a copy, or run the study again");
    fs::remove_file(scene.run.join(names::RUN)).unwrap();
    assert_snapshot!(scene.problem(), @"run is not a run directory: it has no run.json; give the directory that rpcgauge run wrote");
    assert_snapshot!(scene.plain(Run::read(&scene.folder.path().join("nowhere")).unwrap_err()), @"there is no directory nowhere; give the directory that rpcgauge run wrote");
}

#[test]
fn a_plan_that_points_outside_of_itself_is_refused() {
    let scene = Scene::new();
    scene.edit(names::PLAN, |text| {
        text.replace("\"variant\": 2", "\"variant\": 44")
    });
    assert!(
        scene
            .problem()
            .contains("names variant 44, which does not exist")
    );
    let scene = Scene::new();
    scene.edit(names::PLAN, |text| {
        text.replacen("\"of\": \"unix\"", "\"of\": \"pigeon\"", 1)
    });
    assert_snapshot!(scene.problem(), @r#"the run is damaged: run/plan.json: pair unix-vs-tcp names the variant "pigeon", which does not exist; restore it from a copy, or run the study again"#);
}

/// The error for a plan in which one value is replaced.
fn plan_with(path: &str, value: serde_json::Value) -> String {
    let scene = Scene::new();
    scene.edit(names::PLAN, |text| {
        let mut plan: serde_json::Value = serde_json::from_str(&text).unwrap();
        match plan.pointer_mut(path) {
            Some(there) => *there = value,
            None => plan[&path[1..]] = value,
        }
        plan.to_string()
    });
    let resumed = scene.plain(RunWriter::resume::<Run>(&scene.run).unwrap_err());
    assert_eq!(resumed, scene.problem());
    let told = resumed.strip_prefix("the run is damaged: run/plan.json: ");
    let told =
        told.and_then(|told| told.strip_suffix("; restore it from a copy, or run the study again"));
    told.unwrap_or(&resumed).to_owned()
}

#[test]
fn a_plan_is_held_to_the_bounds_of_a_study() {
    use serde_json::json;
    for margin in [-1.0, 0.0, 1.0, 1e308] {
        let told = plan_with("/margin", json!(margin));
        assert!(
            told.starts_with("\"margin\" must be between 0 and 1, not "),
            "{told}"
        );
    }
    for confidence in [-1.0, 0.0, 0.5, 1.0, 1e308] {
        let told = plan_with("/confidence", json!(confidence));
        assert!(
            told.starts_with("\"confidence\" must be between 0.5 and 1, not "),
            "{told}"
        );
    }
    let schedule = |schedule| plan_with("/variants/0/settings/schedule", schedule);
    let rate = |rate: f64| json!({"kind": "rate", "per_second": rate, "arrivals": "poisson"});
    let ramp = |parts| json!({"kind": "ramp", "parts": parts, "arrivals": "constant"});
    let part =
        |from: f64, to: f64, time_ms: u64| json!({"from": from, "to": to, "time_ms": time_ms});
    assert_snapshot!(schedule(json!({"kind": "closed", "in_flight": 0})), @r#"variant "tcp": "in-flight" must be a whole number from 1 to 65536, not 0"#);
    for wrong in [-1.0, 0.0, 1e300] {
        let told = schedule(rate(wrong));
        assert!(
            told.contains("\"rate\" must be more than 0 and at most 1e9 calls per second"),
            "{told}"
        );
    }
    assert_snapshot!(schedule(ramp(json!([part(-1.0, 1.0, 10)]))), @r#"variant "tcp": each rate in a ramp must be 0 to 1e9 calls per second"#);
    assert_snapshot!(schedule(ramp(json!([]))), @r#"variant "tcp": the number of parts in a ramp must be at least 1"#);
    assert_snapshot!(schedule(ramp(json!([part(1.0, 1.0, 0)]))), @r#"variant "tcp": the time of each part in a ramp must be 1ms to 24h"#);
    assert_snapshot!(plan_with("/variants/0/settings/deadline_ms", json!(0)), @r#"variant "tcp": "deadline" must be at least 1ms"#);
    assert_snapshot!(plan_with("/variants/0/settings/stop", json!({"time_ms": u64::MAX})), @r#"variant "tcp": "time" must be at most 24h"#);
    assert_snapshot!(plan_with("/variants/0/settings/connections", json!(0)), @r#"variant "tcp": "connections" must be a whole number from 1 to 65536, not 0"#);
    assert_snapshot!(plan_with("/slice_us", json!(0)), @"a slice and a warm-up must be at most 24h, and a slice more than 0");
    assert_snapshot!(plan_with("/invocations", json!(1)), @"trial 6 is for an invocation, block or placement that does not exist");
    let shared = |variants| {
        plan_with(
            "/shared_processes",
            json!([{"variants": variants, "server": "reference"}]),
        )
    };
    assert_snapshot!(shared(json!([0, 0])), @"variant 0 cannot share a process: it does not call a subject, or shares one already");
    assert_snapshot!(shared(json!([0, 99])), @"variant 99 cannot share a process: it does not call a subject, or shares one already");
    assert_snapshot!(shared(json!([])), @"a process needs 1 to 64 variants");
    assert_snapshot!(plan_with("/placements", json!([])), @"trial 0 is for an invocation, block or placement that does not exist");
    assert_snapshot!(plan_with("/variants/0/settings/workload", json!({})), @"variants.settings: a variant names no known server, codec or service");
    for (key, value, why) in [
        ("http", json!("1.1"), "a variant uses gRPC over HTTP/1.1"),
        ("encoding", json!(null), "a variant has no encoding"),
    ] {
        let told = plan_with(&format!("/variants/0/settings/{key}"), value);
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn a_floor_stands_under_variants_of_the_plan_once() {
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| {
        let (floor, _) = text.split_once('\n').unwrap();
        format!("{text}{floor}\n")
    });
    assert_snapshot!(scene.problem(), @r#"the run is damaged: run/trials.jsonl:5: the variant "tcp" already has a floor in block 0 of invocation 0; restore it from a copy, or run the study again"#);
    for (from, to, problem) in [
        (
            "\"block\":0",
            "\"block\":7",
            "the floor is for an invocation, block or placement that is not in the plan",
        ),
        (
            "\"invocation\":0",
            "\"invocation\":7",
            "the floor is for an invocation, block or placement that is not in the plan",
        ),
        (
            "[\"tcp\"]",
            "[\"pigeon\"]",
            "the floor names the variant \"pigeon\", which is not in the plan",
        ),
        ("[\"tcp\"]", "[]", "the floor names no variant"),
        (
            "3500.0",
            "-1.0",
            "a floor's CPU time must be a non-negative number",
        ),
    ] {
        let scene = Scene::new();
        scene.edit(names::TRIALS, |text| {
            let (floor, rest) = text.split_once('\n').unwrap();
            assert!(floor.contains(from), "{floor}");
            format!("{}\n{rest}", floor.replacen(from, to, 1))
        });
        let told = scene.problem();
        let whole = format!("the run is damaged: run/trials.jsonl:1: {problem}; ");
        assert!(told.starts_with(&whole), "{told}");
    }
}

/// Replaces each value of a floor, a trial and a plan with values of other kinds.
#[test]
fn damage_is_reported_without_the_names_of_types() {
    use serde_json::{Value, json};
    fn paths(value: &Value, path: &str, all: &mut Vec<String>) {
        all.push(path.to_owned());
        match value {
            Value::Object(fields) => fields
                .iter()
                .for_each(|(key, value)| paths(value, &format!("{path}/{key}"), all)),
            Value::Array(items) if !items.is_empty() => paths(&items[0], &format!("{path}/0"), all),
            _ => {}
        }
    }
    fn told<T: serde::de::DeserializeOwned>(sound: &Value) {
        let mut all = Vec::new();
        paths(sound, "", &mut all);
        for (path, other) in all.iter().flat_map(|path| {
            let kinds = [
                json!(null),
                json!(-1),
                json!(0.5),
                json!("x"),
                json!([]),
                json!({}),
                json!(true),
            ];
            kinds.map(|other| (path, other))
        }) {
            let mut damaged = sound.clone();
            *damaged.pointer_mut(path).unwrap() = other;
            let damaged = damaged.to_string();
            let Err(error) = serde_json::from_str::<T>(&damaged) else {
                continue;
            };
            let told = reader::json_problem::<T>(damaged.as_bytes(), &error);
            for word in [
                "struct",
                "enum",
                "u64",
                "u32",
                "f64",
                "untagged",
                "variant of",
                "newtype",
                "sequence",
                "map",
            ] {
                assert!(!told.contains(word), "{path}: {told}");
            }
        }
    }
    let scene = Scene::new();
    told::<Plan>(&serde_json::to_value(&scene.plan).unwrap());
    told::<Record>(&serde_json::to_value(floor()).unwrap());
    told::<Record>(&serde_json::to_value(failed(&scene.plan, 0)).unwrap());
    told::<Record>(&serde_json::to_value(measured(&scene.plan)).unwrap());
}

#[test]
fn a_trial_that_contradicts_itself_is_refused_by_its_line() {
    let scene = Scene::new();
    let sound = serde_json::to_string(&measured(&scene.plan)).unwrap();
    let last = |text: String| format!("{text}{sound}\n");
    scene.edit(names::TRIALS, last);
    assert_eq!(Run::read(&scene.run).unwrap().trials.len(), 4);
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"started\":0", "\"started\":5", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:5: 5 calls were started, but 0 succeeded, 0 failed and 0 were abandoned; restore it from a copy, or run the study again");
}

#[test]
fn another_schema_is_refused() {
    let scene = Scene::new();
    scene.edit(names::RUN, |text| {
        text.replace("\"schema\": 5", "\"schema\": 4, \"new\": []")
            .replace("0.1.0", "0.9.0")
    });
    assert_snapshot!(scene.problem(), @"run was written by rpcgauge 0.9.0 (schema 4, this version reads 5): read it with that version, or measure again");
    assert_snapshot!(scene.plain(RunWriter::resume::<Run>(&scene.run).unwrap_err()), @"run was written by rpcgauge 0.9.0 (schema 4, this version reads 5): read it with that version, or measure again");
}
