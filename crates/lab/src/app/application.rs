//! A running application: its backing processes, and a set of services for each configuration.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rpcgauge_study::app::{App, Configuration, Placeholder, Process as ProcessSpec};
use rpcgauge_study::record::Fault;

use super::package::BuiltApp;
use super::process::{Ports, Running, Start, all_ready};
use crate::error::{TrialFailure, TrialResult};
use crate::machine::cores;
use crate::machine::placement::CoreSet;
use crate::machine::process::kib_field;

/// How often a wait checks that all processes are still running.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The ports of each process, by process name and port name.
type AllPorts = BTreeMap<String, BTreeMap<String, u16>>;

/// A running application. Dropping it stops all processes: first the services, then the backing ones.
pub struct Application<'a> {
    pub(super) built: &'a BuiltApp<'a>,
    /// The folder for logs.
    pub(super) logs: PathBuf,
    /// Processes that only observe the application.
    pub(super) beside: Vec<Running>,
    // Dropped in this order, because a database may wait for its connections to close before it exits.
    sets: Vec<Set>,
    backing: Vec<Running>,
    /// The ports of the backing processes.
    ports: AllPorts,
    /// Assigns cores to processes. Cloned for each set, so that every set uses the same cores.
    cores: Cores,
}

/// The services of one configuration.
#[derive(Debug)]
pub struct Set {
    /// The set's name; empty if it is the only set.
    pub name: String,
    /// The configuration that its services run with.
    pub configuration: Configuration,
    /// Its services, in the order of `app.toml`.
    pub services: Vec<Running>,
    /// The address of the entry, which users call.
    pub entry: SocketAddr,
    /// The ports of the set's services and of the backing processes.
    pub(super) ports: AllPorts,
    /// The folder that the application was built in.
    pub(super) build: PathBuf,
}

/// Hands out cores in rotation. Every set uses the same cores.
#[derive(Debug, Clone)]
struct Cores {
    allowed: Vec<usize>,
    next: usize,
}

impl Cores {
    fn take(&mut self, process: &ProcessSpec) -> Option<CoreSet> {
        let count = usize::try_from(process.cores?).unwrap_or(usize::MAX);
        if count >= self.allowed.len() {
            return None;
        }
        let places = (self.next..self.next + count).map(|at| self.allowed[at % self.allowed.len()]);
        let mut ids: Vec<usize> = places.collect();
        ids.sort_unstable();
        self.next += count;
        Some(CoreSet::new(ids))
    }
}

impl<'a> Application<'a> {
    /// The application's parsed `app.toml`.
    pub fn app(&self) -> &'a App {
        self.built.app
    }

    /// Starts the backing processes of an application, for `at_once` sets that run at the same time. Calls `starting`
    /// with the title of each process.
    ///
    /// # Errors
    /// Fails if there is too little memory or a process does not become ready. The error includes the process's log,
    /// and no process is left running.
    pub fn start(
        built: &'a BuiltApp<'a>,
        at_once: usize,
        logs: PathBuf,
        starting: &mut dyn FnMut(&str),
        stop: &AtomicBool,
    ) -> TrialResult<Self> {
        let app = built.app;
        carries(app, at_once)?;
        let allowed = cores::allowed().map_err(|error| {
            TrialFailure::new(
                Fault::Machine,
                format!("cannot read the allowed cores: {error}"),
            )
        })?;
        let mut application = Self {
            built,
            logs,
            beside: Vec::new(),
            sets: Vec::new(),
            backing: Vec::new(),
            ports: BTreeMap::new(),
            cores: Cores {
                allowed: allowed.iter().map(|core| core.id).collect(),
                next: 0,
            },
        };
        let mut cores = application.cores.clone();
        let (backing, ports) = application.start_all("", None, &mut cores, starting, stop)?;
        application.backing = backing;
        application.ports = ports;
        application.cores = cores;
        Ok(application)
    }

    /// Starts a set of services; see [`Application::start`]. If there are several sets, `name` must not be empty.
    ///
    /// # Errors
    /// Fails if a backing process has exited or a service does not become ready. The error includes its log.
    pub fn add(
        &mut self,
        name: &str,
        configuration: Configuration,
        starting: &mut dyn FnMut(&str),
        stop: &AtomicBool,
    ) -> TrialResult<&Set> {
        let app = self.built.app;
        // Otherwise a service would wait in vain for a database that has exited.
        self.check_ended()?;
        let mut cores = self.cores.clone();
        let (services, ports) =
            self.start_all(name, Some(&configuration), &mut cores, starting, stop)?;
        let entry = services
            .iter()
            .find(|service| service.name == app.entry.service);
        let entry = entry.map(|service| service.address(&app.entry.port));
        self.sets.push(Set {
            name: name.to_owned(),
            services,
            // `App::parse` guarantees that the entry exists.
            entry: entry.unwrap_or_else(|| ([127, 0, 0, 1], 0).into()),
            configuration,
            ports,
            build: self.built.folder().to_owned(),
        });
        Ok(&self.sets[self.sets.len() - 1])
    }

    /// Stops all sets. The backing processes keep running.
    pub fn end_sets(&mut self) {
        // Terminate all services first, because dropping each one waits for it to exit.
        let services = self.sets.iter().flat_map(|set| &set.services);
        services.for_each(Running::terminate);
        self.sets.clear();
    }

    /// Starts all services of a configuration concurrently (all backing processes if `configuration` is `None`) and
    /// waits until they are ready. Returns their ports together with the ports known before.
    fn start_all(
        &self,
        name: &str,
        configuration: Option<&Configuration>,
        cores: &mut Cores,
        starting: &mut dyn FnMut(&str),
        stop: &AtomicBool,
    ) -> TrialResult<(Vec<Running>, AllPorts)> {
        let app = self.built.app;
        let specs = match configuration {
            Some(_) => &app.services,
            None => &app.backing,
        };
        let mut all_ports = self.ports.clone();
        let chosen = specs.iter().map(|spec| {
            let ports = Ports::choose(spec)?;
            all_ports.insert(spec.name.clone(), ports.numbers.clone());
            Ok(ports)
        });
        let chosen: Vec<Ports> = chosen.collect::<TrialResult<_>>()?;
        let words = Words {
            ports: &all_ports,
            configuration,
            build: self.built.folder(),
        };
        let started = specs.iter().zip(chosen).map(|(spec, ports)| {
            let title = match name {
                "" => spec.name.clone(),
                name => format!("{} ({name})", spec.name),
            };
            starting(&title);
            let start = Start {
                spec,
                log: self.logs.join(log_name(&title)),
                title,
                ports,
                words: &words,
                built: &self.built.built,
                cores: cores.take(spec),
            };
            start.spawn()
        });
        let started = started.collect::<TrialResult<_>>()?;
        Ok((all_ready(started, stop)?, all_ports))
    }

    /// The sets, in the order in which they were added.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// The processes that all sets share.
    pub fn backing(&self) -> &[Running] {
        &self.backing
    }

    /// Checks that every process is still running and within its memory limit.
    ///
    /// # Errors
    /// Reports the first process that has exited or exceeds its limit, with its log.
    pub fn check_processes(&self) -> TrialResult {
        self.processes().try_for_each(Running::check)
    }

    /// Waits for `time` or until `stop` is set. Fails as soon as a process exits.
    ///
    /// # Errors
    /// See [`Application::check_processes`]. Memory is not checked.
    pub fn wait(&self, time: Duration, stop: &AtomicBool) -> TrialResult {
        let until = Instant::now() + time;
        while !stop.load(Ordering::Relaxed) {
            self.check_ended()?;
            match until.saturating_duration_since(Instant::now()) {
                Duration::ZERO => break,
                left => thread::sleep(left.min(LOOK_EVERY)),
            }
        }
        Ok(())
    }

    /// Like [`Application::check_processes`] without the memory check, which delays the processes by a few
    /// milliseconds.
    pub(super) fn check_ended(&self) -> TrialResult {
        self.processes().try_for_each(Running::check_ended)
    }

    /// Sets the nice value of the compiler threads of all JVMs, if permitted.
    pub(super) fn set_compiler_nice(&self, nice: i32) {
        self.processes().for_each(|one| one.set_compiler_nice(nice));
    }

    fn processes(&self) -> impl Iterator<Item = &Running> {
        let services = self.sets.iter().flat_map(|set| &set.services);
        self.backing.iter().chain(services)
    }
}

impl Drop for Application<'_> {
    fn drop(&mut self) {
        self.beside.clear();
        self.end_sets();
        self.backing.iter().for_each(Running::terminate);
    }
}

/// Provides the values of placeholders.
pub(super) struct Words<'a> {
    /// The ports of each process.
    pub(super) ports: &'a AllPorts,
    pub(super) configuration: Option<&'a Configuration>,
    pub(super) build: &'a Path,
}

impl Words<'_> {
    pub(super) fn fill(&self, word: &Placeholder) -> Option<String> {
        match word {
            Placeholder::Setting(name) => self.configuration?.0.get(name).cloned(),
            Placeholder::Port(process, port) => {
                let number = self.ports.get(process)?.get(port)?;
                Some(number.to_string())
            }
            Placeholder::Build => Some(self.build.display().to_string()),
            _ => None,
        }
    }
}

/// Derives the name of a log file from a process's title.
fn log_name(title: &str) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.=".contains(c);
    let plain = title.replace(|c| !is_plain(c), "_");
    format!("{}.log", plain.trim_matches('_')).into()
}

/// Checks that the machine has enough memory for `at_once` sets of an application.
pub(super) fn carries(app: &App, at_once: usize) -> TrialResult {
    let sum = |all: &[ProcessSpec]| all.iter().filter_map(|one| one.memory_bytes).sum::<u64>();
    let needed = sum(&app.backing) + at_once as u64 * sum(&app.services);
    let table = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    match kib_field(&table, "MemAvailable:") {
        Some(free) if free < needed => {
            let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1_u32 << 30));
            let reason = format!(
                "{} needs {} of memory for {at_once} of its sets, according to app.toml, but only {} is free: stop \
                 other programs, or give its processes less \"memory\"",
                app.name,
                gib(needed),
                gib(free)
            );
            Err(TrialFailure::new(Fault::Machine, reason))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::app::App;

    use super::*;

    #[test]
    fn processes_get_cores_in_turn() {
        let service = |name: &str, cores: &str| {
            format!("[[service]]\nname = \"{name}\"\nrun = [\"x\"]\nports = [\"http\"]\n{cores}\n")
        };
        let services = [
            service("a", "cores = 2"),
            service("b", ""),
            service("c", "cores = 1"),
            service("d", "cores = 2"),
            service("e", "cores = 4"),
        ];
        let text = format!(
            "name = \"app\"\ndescription = \"one\"\n{}[entry]\nservice = \"a\"\nport = \"http\"\n[[checks]]\n\
             path = \"/\"\n",
            services.concat()
        );
        let app = App::parse(&text, "app.toml").unwrap();
        let mut cores = Cores {
            allowed: vec![4, 5, 6, 7],
            next: 0,
        };
        let given = app.services.iter().map(|service| cores.take(service));
        let given: Vec<Option<CoreSet>> = given.collect();
        let of = |ids: &[usize]| Some(CoreSet::new(ids.to_vec()));
        // A process that requests all four cores is not bound to any.
        assert_eq!(given, [of(&[4, 5]), None, of(&[6]), of(&[4, 7]), None]);
    }
}
