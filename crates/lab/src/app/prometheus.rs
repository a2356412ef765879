//! A Prometheus beside a running application, where the system has one: it scrapes every service.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rpcgauge_load::Fetch;
use rpcgauge_study::app::App;
use rpcgauge_study::record::Fault;
use rpcgauge_study::subject::Tool;

use super::application::Application;
use crate::error::{TrialFailure, TrialResult};
use crate::files::scratch::Scratch;
use crate::subject::{Log, Process};
use crate::subjects::tools::find;

/// How long it may take until it is ready.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// How often it is looked at meanwhile.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// How often it scrapes: often enough that a rate over a minute follows a load of some seconds.
const SCRAPE_EVERY: &str = "1s";

/// A Prometheus that scrapes an application's services. It ends when this is dropped.
#[derive(Debug)]
pub struct Prometheus {
    process: Process,
    /// Where it answers queries.
    pub address: SocketAddr,
}

impl Prometheus {
    /// Starts one, with an empty store; none where the system has no such program, with the reason.
    ///
    /// # Errors
    /// It is there and does not start, with its log.
    pub fn start(
        app: &App,
        application: &Application<'_>,
        log: &Path,
        stop: &AtomicBool,
    ) -> TrialResult<Result<Self, String>> {
        let tool = Tool {
            name: "prometheus".to_owned(),
            programs: vec!["prometheus".to_owned()],
            folders: Vec::new(),
            version: vec!["--version".to_owned()],
            least: None,
            install: "apt install prometheus".to_owned(),
        };
        let found = match find(&tool) {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let machine = |error: io::Error| {
            TrialFailure::new(
                Fault::Machine,
                format!("Prometheus could not be started: {error}"),
            )
        };
        let scratch = Scratch::make();
        let scratch = scratch.map_err(|error| machine(io::Error::other(error.to_string())))?;
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(machine)?;
        let address = free.local_addr().map_err(machine)?;
        let config = scratch.path("prometheus.yml");
        fs::write(&config, configuration(app, application)).map_err(machine)?;
        let mut command = Command::new(found.path);
        command
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                scratch.path("tsdb").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .arg("--web.console.templates=/nonexistent")
            .arg("--web.console.libraries=/nonexistent")
            .current_dir(scratch.folder())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        drop(free);
        let patience = Duration::from_secs(5);
        let process = Process::spawn(&mut command, None, Log::new(log), patience, Some(scratch));
        let mut process = process.map_err(machine)?;
        if let Some(stdout) = process.child.stdout.take() {
            process.follow(stdout).map_err(machine)?;
        }
        if let Some(stderr) = process.child.stderr.take() {
            process.follow(stderr).map_err(machine)?;
        }
        let deadline = Instant::now() + READY_WITHIN;
        let is_ready = || {
            let fetched = Fetch::get(address, "/-/ready").send(Duration::from_secs(2));
            fetched.is_ok_and(|fetched| fetched.status == 200)
        };
        while !is_ready() {
            let why = match process.ended() {
                Some(how) => format!("ended by itself ({how})"),
                None if stop.load(Ordering::Relaxed) => "was interrupted".to_owned(),
                None if Instant::now() >= deadline => "does not get ready".to_owned(),
                None => {
                    thread::sleep(POLL_EVERY);
                    continue;
                }
            };
            process.wait_for_log(POLL_EVERY);
            let failure = TrialFailure::new(Fault::Machine, format!("Prometheus {why}"));
            return Err(failure.with_log(process.log.tail()));
        }
        Ok(Ok(Self { process, address }))
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.process.terminate();
    }
}

/// Its configuration: a job for each service, with the set in a label.
fn configuration(app: &App, application: &Application) -> String {
    let mut text = format!("global:\n  scrape_interval: {SCRAPE_EVERY}\nscrape_configs:\n");
    let processes = app.backing.iter().chain(&app.services);
    for (spec, at) in processes.filter_map(|spec| Some((spec, spec.metrics.as_ref()?))) {
        // Writing into a String cannot fail. JSON strings are YAML ones.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let _ = write!(
            text,
            "  - job_name: {}\n    metrics_path: {}\n    static_configs:\n",
            quoted(&spec.name),
            quoted(&at.path)
        );
        let backing = application
            .backing()
            .iter()
            .map(|one| (one, "all".to_owned()));
        let sets = application.sets().iter();
        let services = sets.flat_map(|set| {
            let name = match &*set.name {
                "" => set.configuration.to_string(),
                name => name.to_owned(),
            };
            set.services.iter().map(move |one| (one, name.clone()))
        });
        for (running, set) in backing
            .chain(services)
            .filter(|(one, _)| one.name == spec.name)
        {
            let _ = write!(
                text,
                "      - targets: [\"{}\"]\n        labels: {{ set: {} }}\n",
                running.address(&at.port),
                quoted(&set)
            );
        }
    }
    text
}
