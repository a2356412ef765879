//! Recording, comparing and checking what invocations were measured with.

use std::collections::BTreeMap;

use insta::assert_snapshot;

use super::*;
use crate::record::{Build, InvocationRecord, StackRecord, SubjectsRecord};

fn invocation(invocation: u32, change: impl FnOnce(&mut Environment)) -> Record {
    let mut environment = Environment {
        executable: Some("aa".to_owned()),
        machine_id: Some("11".to_owned()),
        ..environment()
    };
    change(&mut environment);
    Record::Invocation(Box::new(InvocationRecord {
        invocation,
        environment,
    }))
}

/// The embedded server as if it had been built.
fn subjects(invocation: u32, variant: &str, change: impl FnOnce(&mut StackRecord)) -> Record {
    let versions =
        |name: &str, version: &str| BTreeMap::from([(name.to_owned(), version.to_owned())]);
    let mut stack = StackRecord {
        stack: "reference".to_owned(),
        build: Some(Build {
            digest: "cc".to_owned(),
            toolchain: versions("go", "1.26.1"),
        }),
        versions: versions("hyper", "1.0"),
    };
    change(&mut stack);
    Record::Subjects(SubjectsRecord {
        invocation,
        variant: variant.to_owned(),
        stacks: vec![stack],
    })
}

/// The problem, if any, with a run that has only these records.
fn problem(records: &[Record]) -> Option<String> {
    let scene = Scene::new();
    scene.edit(names::TRIALS, |_| {
        let lines = records
            .iter()
            .map(|record| serde_json::to_string(record).unwrap() + "\n");
        lines.collect()
    });
    let told = scene.plain(Run::read(&scene.run).err()?);
    let told = told
        .strip_prefix("the run is damaged: run/trials.jsonl: its invocations cannot be compared: ");
    let told =
        told.and_then(|told| told.strip_suffix("; restore it from a copy, or run the study again"));
    Some(told.map_or_else(|| scene.problem(), str::to_owned))
}

/// How two invocations differ; `None` if they do not.
fn differs(
    environment: impl FnOnce(&mut Environment),
    stack: impl FnOnce(&mut StackRecord),
) -> Option<String> {
    problem(&[
        invocation(0, |_| {}),
        subjects(0, "tcp", |_| {}),
        invocation(1, environment),
        subjects(1, "tcp", stack),
    ])
}

#[test]
fn invocations_that_do_not_compare_are_refused() {
    let machine = |change: fn(&mut Environment)| differs(change, |_| {}).unwrap();
    assert_snapshot!(machine(|e| e.rpcgauge = "0.2.0".to_owned()), @"the version of rpcgauge was 0.1.0 before and is 0.2.0 now");
    assert_snapshot!(machine(|e| e.executable = Some("bb".to_owned())), @"the digest of rpcgauge's executable was aa before and is bb now");
    assert_snapshot!(machine(|e| e.executable = None), @"the digest of rpcgauge's executable was aa before and is unknown now");
    assert_snapshot!(machine(|e| e.system = "Linux 6.9".to_owned()), @"the system was Linux 6.8 before and is Linux 6.9 now");
    assert_snapshot!(machine(|e| e.processor = "another".to_owned()), @"the processor was a processor before and is another now");
    assert_snapshot!(machine(|e| e.cores = 4), @"the number of cores was 2 before and is 4 now");
    assert_snapshot!(machine(|e| e.memory_bytes *= 2), @"the machine's memory was 8192 MiB before and is 16384 MiB now");
    assert_snapshot!(machine(|e| e.virtualization = Some("a container".to_owned())), @"the virtualization was unknown before and is a container now");
    assert_snapshot!(machine(|e| e.machine_id = Some("22".to_owned())), @"the digest of the machine's id was 11 before and is 22 now");

    let stack = |change: fn(&mut StackRecord)| differs(|_| {}, change).unwrap();
    let build =
        |stack: &mut StackRecord, change: fn(&mut Build)| change(stack.build.as_mut().unwrap());
    assert_snapshot!(differs(|_| {}, |s| build(s, |b| b.digest = "dd".to_owned())).unwrap(), @"the digest of the sources and toolchain of the subject reference was cc before and is dd now");
    assert_snapshot!(differs(|_| {}, |s| build(s, |b| *b.toolchain.get_mut("go").unwrap() = "1.26.2".to_owned())).unwrap(), @"go, which builds the subject reference, was 1.26.1 before and is 1.26.2 now");
    assert_snapshot!(stack(|s| *s.versions.get_mut("hyper").unwrap() = "1.1".to_owned()), @"the version of hyper in reference was 1.0 before and is 1.1 now");
    assert_snapshot!(stack(|s| s.versions.clear()), @"the version of hyper in reference was 1.0 before and is unknown now");
    assert_snapshot!(stack(|s| { s.versions.insert("http".to_owned(), "1.4".to_owned()); }), @"the version of http in reference was unknown before and is 1.4 now");
}

#[test]
fn what_changes_without_a_change_of_the_machine_is_no_difference() {
    let told = differs(
        |environment| {
            environment.governor = Some("powersave".to_owned());
            environment.warnings.push("it is loud".to_owned());
            environment.memory_bytes -= 4096;
        },
        |_| {},
    );
    assert_eq!(told, None);
}

#[test]
fn a_subject_has_one_build_for_all_variants() {
    let told = problem(&[
        invocation(0, |_| {}),
        subjects(0, "tcp", |_| {}),
        subjects(0, "unix", |stack| {
            stack.build.as_mut().unwrap().digest.clear()
        }),
    ]);
    assert_snapshot!(told.unwrap(), @"the digest of the sources and toolchain of the subject reference was cc before and is unknown now");
    // The versions that it reports may depend on the variant.
    let told = problem(&[
        invocation(0, |_| {}),
        subjects(0, "tcp", |_| {}),
        subjects(0, "unix", |stack| stack.versions.clear()),
    ]);
    assert_eq!(told, None);
}

#[test]
fn what_began_again_may_be_measured_with_something_else() {
    let told = problem(&[
        invocation(0, |_| {}),
        subjects(0, "tcp", |_| {}),
        Record::Restart { invocation: 0 },
        invocation(0, |environment| environment.cores = 4),
        invocation(1, |environment| environment.cores = 4),
    ]);
    assert_eq!(told, None);
}

#[test]
fn records_of_what_was_measured_with_belong_to_the_plan_once() {
    let begun = || invocation(0, |_| {});
    let told = |records: &[Record]| problem(records).unwrap();
    assert_snapshot!(told(&[invocation(7, |_| {})]), @"the run is damaged: run/trials.jsonl:1: invocation 7 is not in the plan; restore it from a copy, or run the study again");
    assert_snapshot!(told(&[begun(), begun()]), @"the run is damaged: run/trials.jsonl:2: invocation 0 has already begun; restore it from a copy, or run the study again");
    assert_snapshot!(told(&[subjects(0, "tcp", |_| {})]), @"the run is damaged: run/trials.jsonl:1: invocation 0 has not begun; restore it from a copy, or run the study again");
    assert_snapshot!(told(&[begun(), subjects(0, "pigeon", |_| {})]), @r#"the run is damaged: run/trials.jsonl:2: the stacks differ from those of the variant "pigeon" in the plan; restore it from a copy, or run the study again"#);
    assert_snapshot!(told(&[begun(), subjects(0, "tcp", |s| s.stack = "go/grpc-go".to_owned())]), @r#"the run is damaged: run/trials.jsonl:2: the stacks differ from those of the variant "tcp" in the plan; restore it from a copy, or run the study again"#);
    assert_snapshot!(told(&[begun(), subjects(0, "tcp", |_| {}), subjects(0, "tcp", |_| {})]), @"the run is damaged: run/trials.jsonl:3: the stacks of this variant are already recorded; restore it from a copy, or run the study again");
}

#[test]
fn each_trial_says_what_it_was_measured_with_or_none_does() {
    let plan = plan();
    let (one, other) = (failed(&plan, 0), measured(&plan));
    let Record::Trial(record) = &other else {
        unreachable!("it is a trial's");
    };
    let (number, variant) = (record.trial.invocation, &record.variant);
    assert_eq!(
        problem(std::slice::from_ref(&other)),
        None,
        "as earlier versions wrote it"
    );
    assert_snapshot!(problem(&[invocation(1, |_| {}), one.clone()]).unwrap(), @r#"the run is damaged: run/trials.jsonl: no record states what "tcp" was measured with in invocation 0; restore it from a copy, or run the study again"#);
    let begun = invocation(number, |_| {});
    assert_snapshot!(problem(&[begun.clone(), other.clone()]).unwrap(), @r#"the run is damaged: run/trials.jsonl: no record states what "tcp-again" was measured with in invocation 0; restore it from a copy, or run the study again"#);
    let told = subjects(number, variant, |_| {});
    assert_eq!(problem(&[begun, told, other]), None);
}

#[test]
fn an_invocation_that_was_interrupted_before_its_first_trial_begins_again() {
    let scene = Scene::new();
    scene.edit(names::TRIALS, |_| {
        serde_json::to_string(&invocation(0, |_| {})).unwrap() + "\n"
    });
    let mut resumed = RunWriter::resume::<Run>(&scene.run).unwrap();
    assert!(resumed.run.invocations.is_empty());
    resumed.begin_again().unwrap();
    resumed.writer.append(&invocation(0, |_| {})).unwrap();
    drop(resumed);
    assert_eq!(Run::read(&scene.run).unwrap().invocations.len(), 1);
}

#[test]
fn a_run_of_several_invocations_that_do_not_say_it_has_a_caution() {
    let scene = Scene::new();
    assert!(
        Run::read(&scene.run).unwrap().warnings.is_empty(),
        "of one invocation"
    );
    let later = scene
        .plan
        .trials
        .iter()
        .position(|trial| trial.invocation == 1)
        .unwrap();
    let later = serde_json::to_string(&failed(&scene.plan, later)).unwrap();
    scene.edit(names::TRIALS, |text| format!("{text}{later}\n"));
    let [warning] = &Run::read(&scene.run).unwrap().warnings[..] else {
        panic!("one warning");
    };
    assert_snapshot!(warning, @"the run does not record what each invocation was measured with, because an earlier version of rpcgauge recorded it: if a subject, rpcgauge or the machine changed before the run was resumed, its figures mix results from before and after the change");
}
