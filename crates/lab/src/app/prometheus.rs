//! Runs Prometheus, if it is installed, to scrape every service of a running application.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rpcgauge_load::Fetch;
use rpcgauge_study::app::{App, Process as ProcessSpec, Ready, Template};
use rpcgauge_study::record::Fault;
use rpcgauge_study::subject::Tool;
use serde_json::Value;

use super::application::{Application, LOOK_EVERY, Words};
use super::process::{Ports, Start, all_ready};
use crate::error::{TrialFailure, TrialResult};
use crate::subjects::tools::find;

/// The name of Prometheus's port.
const PORT: &str = "http";

/// The time limits for becoming ready and for exiting, ms.
const READY_WITHIN_MS: u64 = 30_000;
const STOP_WITHIN_MS: u64 = 5_000;

/// The time limit for having scraped every service.
const SCRAPED_WITHIN: Duration = Duration::from_secs(30);

/// The scrape interval: short enough that a rate over one minute reflects a load of a few seconds.
const SCRAPE_EVERY: &str = "1s";

impl Application<'_> {
    /// Starts a Prometheus with an empty store that scrapes all services. Returns the address of its API, or
    /// the reason if Prometheus is not installed. It stops with the application.
    ///
    /// # Errors
    /// Fails if Prometheus is installed but does not start (the error includes its log) or cannot scrape a
    /// service.
    pub fn start_prometheus(
        &mut self,
        stop: &AtomicBool,
    ) -> TrialResult<Result<SocketAddr, String>> {
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
        let wrong = |what: String| TrialFailure::new(Fault::Machine, what);
        let config = self.logs.join("prometheus.yml");
        let configuration = configuration(self.built.app, self);
        let targets = configuration.matches("- targets: ").count();
        fs::write(&config, configuration)
            .map_err(|error| wrong(format!("cannot write {}: {error}", config.display())))?;
        let run = [
            found.path.display().to_string(),
            format!("--config.file={}", config.display()),
            "--storage.tsdb.path=${data}".to_owned(),
            format!("--web.listen-address=127.0.0.1:${{port.{PORT}}}"),
            "--web.console.templates=/nonexistent".to_owned(),
            "--web.console.libraries=/nonexistent".to_owned(),
        ];
        let run = run.into_iter().map(Template::try_from);
        let spec = ProcessSpec {
            name: tool.name,
            run: run.collect::<Result<_, _>>().map_err(wrong)?,
            env: BTreeMap::new(),
            ports: vec![PORT.to_owned()],
            ready: Ready::Http {
                port: PORT.to_owned(),
                path: "/-/ready".to_owned(),
                status: 200,
            },
            ready_within_ms: READY_WITHIN_MS,
            seed: Vec::new(),
            seed_within_ms: 0,
            stop_within_ms: STOP_WITHIN_MS,
            cores: None,
            memory_bytes: None,
            metrics: None,
        };
        let ports = Ports::choose(&spec)?;
        let address = (Ipv4Addr::LOCALHOST, ports.numbers[PORT]).into();
        let start = Start {
            spec: &spec,
            title: "Prometheus".to_owned(),
            ports,
            words: &Words {
                ports: &BTreeMap::new(),
                configuration: None,
                build: self.built.folder(),
            },
            built: &self.built.built,
            cores: None,
            log: self.logs.join("prometheus.log"),
        };
        self.beside = all_ready(vec![start.spawn()?], stop)?;
        self.wait_for_scrapes(address, targets, stop)?;
        Ok(Ok(address))
    }

    /// Waits until every service has been scraped, because Prometheus would miss part of an earlier load.
    fn wait_for_scrapes(
        &self,
        address: SocketAddr,
        targets: usize,
        stop: &AtomicBool,
    ) -> TrialResult {
        let until = Instant::now() + SCRAPED_WITHIN;
        while let Some(why) = not_scraped(address, targets)
            && !stop.load(Ordering::Relaxed)
        {
            if Instant::now() >= until {
                let reason = format!(
                    "Prometheus had not scraped every service after {} s: {why}; check \"metrics\" in app.toml",
                    SCRAPED_WITHIN.as_secs()
                );
                return Err(TrialFailure::new(Fault::User, reason));
            }
            self.wait(LOOK_EVERY, stop)?;
        }
        Ok(())
    }
}

/// A target that Prometheus has not scraped yet, and its last error if it reports one.
fn not_scraped(address: SocketAddr, targets: usize) -> Option<String> {
    let fetched = Fetch::get(address, "/api/v1/targets?state=active").send(SCRAPED_WITHIN);
    let body = match fetched {
        Ok(fetched) => fetched.body,
        Err(error) => return Some(error.to_string()),
    };
    let told: Value = serde_json::from_slice(&body).unwrap_or_default();
    // Prometheus lists its targets only a few seconds after it is ready.
    let listed = told["data"]["activeTargets"].as_array();
    let Some(listed) = listed.filter(|listed| listed.len() == targets) else {
        return Some("it does not list them all".to_owned());
    };
    let target = listed.iter().find(|target| target["health"] != "up")?;
    let text = |key: &str| target[key].as_str().unwrap_or_default();
    Some(format!("{} {}", text("scrapeUrl"), text("lastError")))
}

/// Prometheus's configuration: one job for each service, with the set's name as a label.
fn configuration(app: &App, application: &Application) -> String {
    let mut text = format!("global:\n  scrape_interval: {SCRAPE_EVERY}\nscrape_configs:\n");
    let processes = app.backing.iter().chain(&app.services);
    for (spec, at) in processes.filter_map(|spec| Some((spec, spec.metrics.as_ref()?))) {
        // Writing to a String cannot fail. JSON strings are valid in YAML.
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
