//! Run directories on a real disk: whole, cut off, damaged, in the way, and in use.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, UNIX_EPOCH};

use hdrhistogram::Histogram as Hdr;
use insta::assert_snapshot;
use tempfile::TempDir;

use super::*;
use crate::file::StudyFile;
use crate::plan::{Plan, TrialSpec};
use crate::record::{
    Environment, Fault, FloorRecord, Histogram, IdleOutcome, Outcome, Record, TrialRecord,
};
use crate::resolve::own::FileLoader;
use crate::resolve::{Overrides, ResolveContext};
use crate::settings::{Idle, Placement, Timing, Transport};

const STUDY: &str = "# Is it fast?\ninvocations = 2\nblocks = 1\n[workload]\nname = \"hello\"\n[base]\nprotocol = \"grpc\"\n[factors]\ntransport = [\"tcp\", \"unix\"]\n";

fn plan_of(study: &str) -> Plan {
    let context = ResolveContext {
        subjects: &crate::features::embedded_only(),
        loader: &FileLoader {
            folder: PathBuf::new(),
        },
        cores: 2,
        overrides: &Overrides::default(),
    };
    StudyFile::parse(study, "small.toml")
        .unwrap()
        .resolve(&context)
        .unwrap()
}

fn plan() -> Plan {
    plan_of(STUDY)
}

fn failed(plan: &Plan, index: usize) -> Record {
    let trial = plan.trials[index].clone();
    Record::Trial(Box::new(TrialRecord {
        variant: plan.variants[trial.variant as usize].name.clone(),
        trial,
        timing: Timing::Stages,
        idle: Idle::Held,
        started_at_ms: 1_795_170_900_000,
        rate: None,
        outcome: Outcome::Failed {
            reason: "port 1 is in use".to_owned(),
            fault: Fault::Machine,
            log: String::new(),
        },
    }))
}

fn floor() -> Record {
    let mut latency = Hdr::new(3).unwrap();
    latency.record(7_000).unwrap();
    Record::Floor(FloorRecord {
        invocation: 0,
        placement: Placement::OneCore,
        idle: Idle::Held,
        transport: Transport::Tcp,
        request_bytes: 200,
        response_bytes: 150,
        latency: Histogram::from(latency),
        client_cpu_ns: 3_500.0,
        variants: vec!["tcp".to_owned()],
    })
}

fn environment() -> Environment {
    Environment {
        rpcgauge: "0.1.0".to_owned(),
        system: "Linux 6.8".to_owned(),
        processor: "a processor".to_owned(),
        cores: 2,
        memory_bytes: 1 << 33,
        virtualization: None,
        governor: None,
        idle: IdleOutcome {
            asked: Idle::Held,
            got: Idle::Held,
            reason: None,
        },
        subjects: Default::default(),
        warnings: Vec::new(),
    }
}

/// A run of three trials and a floor in a directory of its own.
struct Scene {
    folder: TempDir,
    run: PathBuf,
    plan: Plan,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (run, plan) = (folder.path().join("run"), plan());
        let mut writer = create(&run, &plan).unwrap();
        writer.write_environment(&environment()).unwrap();
        for record in [
            floor(),
            failed(&plan, 0),
            failed(&plan, 2),
            failed(&plan, 1),
        ] {
            writer.append(&record).unwrap();
        }
        Self { folder, run, plan }
    }

    fn edit(&self, file: &str, edit: impl FnOnce(String) -> String) {
        let path = self.run.join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, edit(text)).unwrap();
    }

    /// The message of what is wrong now, the temporary folder's name left out.
    fn problem(&self) -> String {
        self.plain(Run::read(&self.run).unwrap_err())
    }

    fn plain(&self, error: RunError) -> String {
        error
            .to_string()
            .replace(&format!("{}/", self.folder.path().display()), "")
    }
}

fn create(run: &Path, plan: &Plan) -> Result<RunWriter, RunError> {
    let created_at = UNIX_EPOCH + Duration::from_secs(1_795_170_900);
    RunWriter::create(
        run,
        &NewRun {
            rpcgauge: "0.1.0",
            created_at,
            study: Some(STUDY),
            plan,
        },
    )
}

fn listing(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_was_written_is_read() {
    let scene = Scene::new();
    let run = Run::read(&scene.run).unwrap();
    assert_eq!(run.info.created_at, "2026-11-20T10:35:00Z");
    assert_eq!((run.info.study.as_str(), run.info.seed), ("small", 1));
    assert_eq!(run.study.as_deref(), Some(STUDY));
    assert_eq!(run.plan, scene.plan);
    assert_eq!(run.environment, Some(environment()));
    let order: Vec<u32> = run.trials.iter().map(|trial| trial.trial.index).collect();
    assert_eq!(order, [0, 2, 1]);
    assert_eq!(Record::Floor(run.floors[0].clone()), floor());
    assert!(run.warnings.is_empty());
    assert_eq!(run.missing(), scene.plan.trials[3..]);
    assert_eq!(
        listing(&scene.run),
        [
            "environment.json",
            "logs",
            "plan.json",
            "run.json",
            "study.toml",
            "trials.jsonl"
        ]
    );
    assert_eq!(listing(scene.folder.path()), ["run"]);
}

#[test]
fn a_run_that_has_not_begun_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("deep/in/run");
    drop(create(&run, &plan()).unwrap());
    let run = Run::read(&run).unwrap();
    assert_eq!((run.environment, run.trials.len()), (None, 0));
}

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
fn resuming_removes_the_cut_off_line_and_goes_on_behind_it() {
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| text[..text.len() - 40].to_owned());
    let mut resumed = RunWriter::resume(&scene.run, Some(&scene.plan)).unwrap();
    assert_eq!(resumed.run.warnings.len(), 1);
    resumed.writer.append(&failed(&scene.plan, 1)).unwrap();
    drop(resumed);
    let run = Run::read(&scene.run).unwrap();
    assert_eq!((run.trials.len(), run.warnings.len()), (3, 0));
}

#[test]
fn an_invocation_that_was_broken_off_is_begun_again_whole() {
    let scene = Scene::new();
    let first = scene.plan.trials[0].invocation;
    let indices = |trials: &mut dyn Iterator<Item = &TrialSpec>| -> Vec<u32> {
        trials.map(|trial| trial.index).collect()
    };
    let all = indices(&mut scene.plan.trials.iter());
    let looked_at = RunWriter::resume(&scene.run, None).unwrap();
    assert_eq!(indices(&mut looked_at.missing.iter()), all);
    drop(looked_at);
    let run = Run::read(&scene.run).unwrap();
    assert_eq!(
        (run.trials.len(), run.floors.len()),
        (3, 1),
        "only looked at"
    );

    let mut resumed = RunWriter::resume(&scene.run, None).unwrap();
    resumed.begin_again().unwrap();
    resumed.writer.append(&failed(&scene.plan, 1)).unwrap();
    drop(resumed);
    let run = Run::read(&scene.run).unwrap();
    let read = indices(&mut run.trials.iter().map(|record| &record.trial));
    assert_eq!((read, run.floors.len()), (vec![1], 0));

    // The other invocations are whole, or were never begun.
    let of_first = scene.plan.trials.iter().filter(|t| t.invocation == first);
    let mut resumed = RunWriter::resume(&scene.run, None).unwrap();
    resumed.begin_again().unwrap();
    for trial in of_first {
        let record = failed(&scene.plan, trial.index as usize);
        resumed.writer.append(&record).unwrap();
    }
    drop(resumed);
    let resumed = RunWriter::resume(&scene.run, None).unwrap();
    let rest = scene.plan.trials.iter().filter(|t| t.invocation != first);
    assert_eq!(
        indices(&mut resumed.missing.iter()),
        indices(&mut rest.into_iter())
    );
}

#[test]
fn damage_in_the_middle_is_told_with_its_line() {
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"started_at_ms\":1795", "\"started_at_ms\":x", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:2: expected value (column 164)");
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"record\":\"trial\"", "\"record\":\"trail\"", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:2: unknown variant `trail`, expected one of `trial`, `floor`, `restart` (column 17)");
    scene.edit(names::TRIALS, |text| text.replacen("trail", "tr\\nail", 1));
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:2: unknown variant `tr ail`, expected one of `trial`, `floor`, `restart` (column 19)");
}

#[test]
fn records_that_do_not_belong_are_refused() {
    let scene = Scene::new();
    let twice = |text: String| format!("{text}{}\n", text.lines().last().unwrap());
    scene.edit(names::TRIALS, twice);
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:5: trial 1 was recorded already in line 4");
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"index\":2", "\"index\":99", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:3: trial 99 is not in the plan, which has 12 trials");
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"block\":0", "\"block\":7", 1)
    });
    assert_snapshot!(scene.problem(), @"the run is damaged: run/trials.jsonl:2: trial 0 is another one in the plan");
    let scene = Scene::new();
    scene.edit(names::TRIALS, |text| {
        text.replacen("\"variant\":\"", "\"variant\":\"x", 1)
    });
    assert_snapshot!(scene.problem(), @r#"the run is damaged: run/trials.jsonl:2: trial 0 says variant "xtcp", the plan says "tcp""#);
}

#[test]
fn missing_and_broken_files() {
    let scene = Scene::new();
    for file in [names::ENVIRONMENT, names::TRIALS, names::PLAN] {
        fs::remove_file(scene.run.join(file)).unwrap();
        assert!(
            scene
                .problem()
                .ends_with(&format!("is damaged: {file} is missing"))
        );
    }
    fs::write(scene.run.join(names::PLAN), "{\n\"name\": \"x\",\n").unwrap();
    assert_snapshot!(scene.problem(), @"the run is damaged: run/plan.json:3: EOF while parsing a value (column 0)");
    fs::write(scene.run.join(names::PLAN), b"\xff\xfe").unwrap();
    assert_snapshot!(scene.problem(), @"the run is damaged: run/plan.json: it is not UTF-8 text");
    fs::remove_file(scene.run.join(names::RUN)).unwrap();
    assert_snapshot!(scene.problem(), @"run is no run directory: it has no run.json; give the directory that rpcgauge run wrote");
    assert_snapshot!(scene.plain(Run::read(&scene.folder.path().join("nowhere")).unwrap_err()), @"nowhere is no run directory: it has no run.json; give the directory that rpcgauge run wrote");
}

#[test]
fn a_run_without_its_records_is_not_resumed() {
    let scene = Scene::new();
    fs::remove_file(scene.run.join(names::TRIALS)).unwrap();
    assert_snapshot!(scene.plain(RunWriter::resume(&scene.run, None).unwrap_err()), @"the run directory run is damaged: trials.jsonl is missing");
}

#[test]
fn a_run_with_limits_that_cannot_be_kept_is_not_resumed() {
    let scene = Scene::new();
    scene.edit(names::PLAN, |text| {
        text.replace("\"max_depth\": 100", "\"max_depth\": 100000")
    });
    assert_snapshot!(scene.plain(RunWriter::resume(&scene.run, None).unwrap_err()), @"the run is damaged: run/plan.json: --max-depth is 100000, and may be 1 to 200");
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
    assert_snapshot!(scene.problem(), @r#"the run is damaged: run/plan.json: pair unix-vs-tcp names the variant "pigeon", which is not there"#);
}

#[test]
fn a_newer_schema_is_refused() {
    let scene = Scene::new();
    scene.edit(names::RUN, |text| {
        text.replace("\"schema\": 1", "\"schema\": 2, \"new\": []")
            .replace("0.1.0", "0.9.0")
    });
    assert_snapshot!(scene.problem(), @"run was written by a newer rpcgauge (schema 2, this one reads 1): use rpcgauge 0.9.0 or later");
    assert_snapshot!(scene.plain(RunWriter::resume(&scene.run, None).unwrap_err()), @"run was written by a newer rpcgauge (schema 2, this one reads 1): use rpcgauge 0.9.0 or later");
}

#[test]
fn another_plan_is_not_resumed() {
    let scene = Scene::new();
    let other = plan_of(
        &STUDY
            .replace("\"unix\"]", "\"unix\"]\nn = [1]\n")
            .replace("hello", "echo"),
    );
    assert_snapshot!(scene.plain(RunWriter::resume(&scene.run, Some(&other)).unwrap_err()), @r#"cannot resume run: the variant "tcp-n=1" stands where "tcp" stood; run the study anew instead"#);
    let other = plan_of(&STUDY.replace("invocations = 2", "invocations = 3"));
    assert_snapshot!(scene.plain(RunWriter::resume(&scene.run, Some(&other)).unwrap_err()), @"cannot resume run: the study has 3 invocations now, the run has 2; run the study anew instead");
    assert_eq!(Run::read(&scene.run).unwrap().trials.len(), 3);
}

#[test]
fn two_programs_do_not_write_one_run() {
    let scene = Scene::new();
    let first = RunWriter::resume(&scene.run, None).unwrap();
    assert_snapshot!(scene.plain(RunWriter::resume(&scene.run, None).unwrap_err()), @"run is being written by another rpcgauge: wait for it to end");
    assert!(Run::read(&scene.run).is_ok(), "reading is free");
    drop(first);
    assert!(RunWriter::resume(&scene.run, None).is_ok());
}

#[test]
fn what_is_there_is_not_overwritten() {
    let scene = Scene::new();
    assert_snapshot!(scene.plain(create(&scene.run, &scene.plan).unwrap_err()), @"run exists already: give --out another directory, or --resume it");
    let file = scene.folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    assert_snapshot!(scene.plain(create(&file, &scene.plan).unwrap_err()), @"file exists already: give --out another directory, or --resume it");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let empty = scene.folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    create(&empty, &scene.plan).unwrap();
    assert_eq!(listing(scene.folder.path()), ["empty", "file", "run"]);
}

#[test]
fn a_place_that_cannot_be_written_is_left_as_it_was() {
    let scene = Scene::new();
    fs::write(scene.folder.path().join("file"), "").unwrap();
    let below_a_file = scene.folder.path().join("file/run");
    assert_snapshot!(scene.plain(create(&below_a_file, &scene.plan).unwrap_err()), @"cannot make the run directory file/run: not a directory; give --out a directory that can be written");
    // The superuser may write anywhere but where the kernel itself says no.
    let locked = scene.folder.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    let place = if File::create(locked.join("probe")).is_ok() {
        PathBuf::from("/proc/self/run")
    } else {
        locked.join("new/run")
    };
    let error = create(&place, &scene.plan).unwrap_err();
    assert!(matches!(error, RunError::Create { .. }), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("give --out a directory that can be written"),
        "{error}"
    );
    assert!(!locked.join("new").exists());
}

#[test]
fn a_full_disk_is_told_and_costs_nothing_written_before() {
    let scene = Scene::new();
    let mut writer = RunWriter::resume(&scene.run, None).unwrap().writer;
    // The device that is always full.
    writer.replace_file(OpenOptions::new().append(true).open("/dev/full").unwrap());
    let error = writer.append(&failed(&scene.plan, 3)).unwrap_err();
    assert_snapshot!(scene.plain(error), @"cannot write run/trials.jsonl: no space left on device; what was written before is kept: make room, then go on with --resume");
    assert_eq!(Run::read(&scene.run).unwrap().trials.len(), 3);
}

#[test]
fn the_environment_is_replaced_whole() {
    let scene = Scene::new();
    let writer = RunWriter::resume(&scene.run, None).unwrap().writer;
    let later = Environment {
        cores: 4,
        ..environment()
    };
    writer.write_environment(&later).unwrap();
    assert_eq!(Run::read(&scene.run).unwrap().environment, Some(later));
    assert!(
        !listing(&scene.run)
            .iter()
            .any(|name| name.contains("draft"))
    );
}

#[test]
fn logs_have_plain_names() {
    let scene = Scene::new();
    let writer = RunWriter::resume(&scene.run, None).unwrap().writer;
    let path = writer.log_path("../list n=10/grpc");
    assert_eq!(path, scene.run.join("logs/.._list_n=10_grpc.log"));
    File::create(path).unwrap().write_all(b"hello").unwrap();
}

#[test]
fn the_usual_place_has_the_time_and_the_study() {
    let folder = tempfile::tempdir().unwrap();
    let at = UNIX_EPOCH + Duration::from_secs(1_795_170_900);
    let first = default_directory(folder.path(), "quickstart", at);
    assert_eq!(first, folder.path().join("20261120T103500Z-quickstart"));
    fs::create_dir(&first).unwrap();
    let second = default_directory(folder.path(), "quickstart", at);
    assert_eq!(second, folder.path().join("20261120T103500Z-quickstart-2"));
}
