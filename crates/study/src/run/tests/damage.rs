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
fn a_file_without_an_end_is_refused() {
    let scene = Scene::new();
    for (file, problem) in [
        (
            names::TRIALS,
            "the run is damaged: run/trials.jsonl:1: the line has more than 64 MiB; ",
        ),
        (
            names::PLAN,
            "cannot read run/plan.json: it has more than 256 MiB",
        ),
    ] {
        let path = scene.run.join(file);
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path).unwrap();
        let told = scene.problem();
        assert!(told.starts_with(problem), "{told}");
    }
}

#[test]
fn damage_in_the_middle_is_told_with_its_line() {
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"started_at_ms\":1795", "\"started_at_ms\":x", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:2: expected value (column 177); restore it from a copy, or run the study anew");
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"record\":\"trial\"", "\"record\":\"trail\"", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:2: unknown variant `trail`, expected one of `trial`, `floor`, `restart` (column 17); restore it from a copy, or run the study anew");
    scene.edit(names::TRIALS, |text| text.replacen("trail", "tr\\nail", 1));
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:2: unknown variant `tr ail`, expected one of `trial`, `floor`, `restart` (column 19); restore it from a copy, or run the study anew");
}

#[test]
fn records_that_do_not_belong_are_refused() {
    let scene = Scene::new();
    let twice = |text: String| format!("{text}{}\n", text.lines().last().unwrap());
    scene.edit(names::TRIALS, twice);
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:5: trial 1 was recorded already in line 4; restore it from a copy, or run the study anew");
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"index\":2", "\"index\":99", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:3: trial 99 is not in the plan, which has 12 trials; restore it from a copy, or run the study anew");
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"block\":0,\"variant\"", "\"block\":7,\"variant\"", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:2: trial 0 is another one in the plan; restore it from a copy, or run the study anew");
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"variant\":\"", "\"variant\":\"x", 1)
    });
    assert_snapshot!(scene.problem(), @r#"the run is damaged: run/trials.jsonl:2: trial 0 says variant "xtcp", the plan says "tcp"; restore it from a copy, or run the study anew"#);
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
    assert_snapshot!(scene.problem(), @"the run is damaged: run/plan.json:3: EOF while parsing a value; restore it from a copy, or run the study anew");
    fs::write(scene.run.join(names::PLAN), b"\xff\xfe").unwrap();
    assert_snapshot!(scene.problem(), @"the run is damaged: run/plan.json: it is not UTF-8 text; restore it from a copy, or run the study anew");
    fs::remove_file(scene.run.join(names::RUN)).unwrap();
    assert_snapshot!(scene.problem(), @"run is no run directory: it has no run.json; give the directory that rpcgauge run wrote");
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
            .contains("is of variant 44, which is not there")
    );
    let scene = Scene::new();
    scene.edit(names::PLAN, |text| {
        text.replacen("\"of\": \"unix\"", "\"of\": \"pigeon\"", 1)
    });
    assert_snapshot!(scene.problem(), @r#"the run is damaged: run/plan.json: pair unix-vs-tcp names the variant "pigeon", which is not there; restore it from a copy, or run the study anew"#);
}

#[test]
fn another_schema_is_refused() {
    let scene = Scene::new();
    scene.edit(names::RUN, |text| {
        text.replace("\"schema\": 2", "\"schema\": 1, \"new\": []")
            .replace("0.1.0", "0.9.0")
    });
    assert_snapshot!(scene.problem(), @"run was written by rpcgauge 0.9.0 (schema 1, this one reads 2): read it with that one, or measure again");
    assert_snapshot!(scene.plain(RunWriter::resume(&scene.run, None).unwrap_err()), @"run was written by rpcgauge 0.9.0 (schema 1, this one reads 2): read it with that one, or measure again");
}
