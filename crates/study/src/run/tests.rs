//! Run directories on a real disk: complete, cut off, damaged, already existing, and in use.

mod damage;
mod places;
mod provenance;
mod resuming;

use std::fs::{self, File};
use std::time::{Duration, UNIX_EPOCH};

use tempfile::TempDir;

use super::*;
use crate::file::StudyFile;
use crate::histogram::{Times, Unit};
use crate::plan::Plan;
use crate::record::{
    Environment, Fault, FloorRecord, Histogram, IdleOutcome, Record, TrialOutcome, TrialRecord,
};
use crate::resolve::loader::FileLoader;
use crate::resolve::{Overrides, ResolveContext};
use crate::settings::{Idle, Placement, Timing, Transport};

const STUDY: &str = "# Is it fast?\ninvocations = 2\nblocks = 1\n[workload]\nname = \"hello\"\n[base]\nprotocol = \"grpc\"\n[factors]\ntransport = [\"tcp\", \"unix\"]\n";

fn plan_of(study: &str) -> Plan {
    let context = ResolveContext {
        subjects: &crate::features::embedded_only(),
        loader: &FileLoader::default(),
        cores: 2,
        overrides: &Overrides::default(),
    };
    StudyFile::parse(study, "small.toml")
        .unwrap()
        .resolve(&context)
        .unwrap()
}

pub(super) fn plan() -> Plan {
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
        outcome: TrialOutcome::Failed {
            reason: "port 1 is in use".to_owned(),
            fault: Fault::Machine,
            requests_sent: None,
            log: String::new(),
        },
    }))
}

fn measured(plan: &Plan) -> Record {
    let Record::Trial(mut record) = failed(plan, 3) else {
        unreachable!("it is a trial's");
    };
    record.outcome = TrialOutcome::Measured(Box::default());
    Record::Trial(record)
}

fn floor() -> Record {
    let mut latency = Times::new(Unit::Ns);
    latency.add_each(7_000, 1);
    Record::Floor(FloorRecord {
        block: 0,
        invocation: 0,
        placement: Placement::OneCore,
        idle: Idle::Held,
        transport: Transport::Tcp,
        link: None,
        request_bytes: 200,
        response_bytes: 150,
        latency: Histogram::from(latency),
        client_cpu_ns: 3_500.0,
        variants: vec!["tcp".to_owned()],
    })
}

pub(super) fn environment() -> Environment {
    Environment {
        rpcgauge: "0.1.0".to_owned(),
        executable: None,
        machine_id: None,
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
        disk: Default::default(),
        subjects: Default::default(),
        warnings: Vec::new(),
    }
}

/// A run of three trials and a floor in its own directory.
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

    /// The error of reading the run, without the temporary folder's name.
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
fn the_environment_is_replaced_whole() {
    let scene = Scene::new();
    let writer = RunWriter::resume::<Run>(&scene.run).unwrap().writer;
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
