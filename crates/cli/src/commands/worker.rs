//! `rpcgauge worker`: makes the calls of a Locust master's users.

mod collect;
mod load;

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rpcgauge_lab::live::Live;
use rpcgauge_load::TrialProgress;
use rpcgauge_locust::{CollectedRun, Command, LocustError, Worker};
use rpcgauge_study::settings::{Idle, LiveCall, Target};
use rpcgauge_trial::{Arrivals, MAX_IN_FLIGHT, Schedule, Stop};

use self::collect::{Collection, Described};
use self::load::{Load, LoadSettings};
use super::load::{self as load_command, header_variables};
use super::load::{write_data, write_deadline, write_service, write_stream, write_wire};
use crate::args::WorkerArgs;
use crate::exit::{Failure, Outcome, note};
use crate::inputs::Resolved;
use crate::services;
use crate::signals;
use crate::study_text::{StudyText, number};

/// How long the loop waits for a command before it checks for Ctrl-C and new snapshots.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) fn run(args: WorkerArgs) -> Outcome {
    let schedule = schedule_of_user(&args)?;
    // Workers with the same seed would send the same random values.
    let seed = args.data.seed.unwrap_or_else(|| random() >> 1);
    let mut variables = BTreeMap::new();
    let study = study(&args, seed, &mut variables)?;
    let study_name = load_command::name(&args.target.url);
    let resolved = services::resolve(&study, &study_name, variables, &args.limits)?;
    let prepared = services::prepare(&resolved)?;
    let stop = signals::stop_flag()?;
    let found = services::find(&prepared, &resolved.plan, &stop)?;
    let (call, live) = only_service(&resolved, found)?;
    let settings = LoadSettings {
        live,
        schedule,
        connections: args.connections,
        seed,
        method: call.service.http_method.as_deref().unwrap_or("GRPC"),
        name: args
            .target
            .name
            .as_deref()
            .unwrap_or(&call.service.url.path),
    };
    let name = args.name.clone().unwrap_or_else(default_name);
    let described = described(&resolved, &settings, &name)?;
    let joined = Worker::join(&args.master, &name, args.class.as_deref());
    let (worker, commands) = joined.map_err(|error| match error {
        LocustError::Name(_) => Failure::input(format!("--name: {error}")),
        error => Failure::cannot(error),
    })?;
    let mut users = Users {
        settings,
        greeting: format!("joined the Locust master at {} as {name}", args.master),
        class: args.class.as_deref().unwrap_or_default(),
        worker: &worker,
        described: &described,
        collected: None,
        load: None,
        is_quiet: args.quiet,
        is_warned: false,
    };
    let ending = users.follow(&commands, &stop);
    users.end_load(false);
    worker.leave();
    ending
}

/// Describes the calls for the run directory of a master that collects figures.
fn described(
    resolved: &Resolved,
    settings: &LoadSettings<'_>,
    worker: &str,
) -> Result<Described, Failure> {
    let mut plan = resolved.plan.clone();
    plan.idle = Idle::AsIs;
    plan.warmup = Stop::default();
    let variant = plan.variants.first_mut();
    let variant = variant.ok_or_else(|| Failure::cannot("the options describe no service"))?;
    variant.name = format!("{} {}", settings.method, settings.name);
    variant.settings.stop = Stop::default();
    if let Target::Live(live) = &mut variant.settings.target {
        live.service.per_user = true;
        live.options.schedule = settings.schedule.clone();
        live.options.connections = settings
            .connections
            .unwrap_or_else(|| settings.live.connections_for(&settings.schedule));
    }
    Ok(Described {
        worker: worker.to_owned(),
        variant: variant.clone(),
        form: settings.live.stream_form(),
        plan,
        environment: rpcgauge_lab::examine(Idle::AsIs),
    })
}

fn only_service(
    resolved: &Resolved,
    mut found: BTreeMap<String, Live>,
) -> Result<(&LiveCall, Live), Failure> {
    let mut variants = resolved.plan.variants.iter();
    let service = variants.find_map(|variant| match &variant.settings.target {
        Target::Live(call) => Some((&**call, found.remove(&variant.name)?)),
        Target::Call(_) | Target::Codec(_) => None,
    });
    service.ok_or_else(|| Failure::cannot("the options describe no service"))
}

fn schedule_of_user(args: &WorkerArgs) -> Result<Schedule, Failure> {
    let Some(per_second) = args.rate_per_user else {
        return Ok(Schedule::Closed { in_flight: 1 });
    };
    let arrivals = if args.poisson {
        Arrivals::Poisson
    } else {
        Arrivals::Constant
    };
    let schedule = Schedule::Rate {
        per_second,
        arrivals,
    };
    let checked = schedule.check();
    checked.map_err(|error| Failure::input(format!("--rate-per-user: {error}")))?;
    Ok(schedule)
}

/// Writes a study of the calls of one user. Its schedule and duration are not used.
fn study(
    args: &WorkerArgs,
    seed: u64,
    variables: &mut BTreeMap<String, String>,
) -> Result<StudyText, Failure> {
    let mut text = StudyText::new(&args.target.url.to_string());
    text.key("seed", number(seed));
    text.table("[service]");
    text.key("target", args.target.url.to_string());
    text.list(
        "headers",
        header_variables("", &args.service.header, variables),
    );
    write_service(&mut text, &args.service, &args.tls, &args.schema)?;
    write_data(&mut text, &args.data)?;
    write_stream(&mut text, &args.stream);
    text.table("[base]");
    write_wire(&mut text, &args.service);
    text.key("in-flight", 1);
    write_deadline(&mut text, &args.deadline);
    text.table("[[variants]]");
    text.key("name", "target");
    Ok(text)
}

/// The host's name and a random number, as Locust names its workers.
fn default_name() -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    format!("{host}_{:08x}", random() as u32)
}

fn random() -> u64 {
    RandomState::new().hash_one(())
}

/// The users that the master assigns to this worker.
struct Users<'a> {
    settings: LoadSettings<'a>,
    /// What to say when the master has accepted the worker.
    greeting: String,
    class: &'a str,
    worker: &'a Worker,
    described: &'a Described,
    /// The run directory in which the master collects the figures of the next load, if it does.
    collected: Option<CollectedRun>,
    load: Option<Load>,
    is_quiet: bool,
    /// Whether the limit of calls in flight was reported.
    is_warned: bool,
}

impl Users<'_> {
    /// Follows the master's commands until it ends or is lost, or until Ctrl-C.
    fn follow(&mut self, commands: &Receiver<Command>, stop: &AtomicBool) -> Outcome {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(Failure::interrupted("interrupted; the worker has left"));
            }
            match commands.recv_timeout(POLL_INTERVAL) {
                Ok(Command::Joined) => {
                    // Another master may not collect figures.
                    self.collected = None;
                    self.say(&self.greeting);
                }
                Ok(Command::Collect(run)) => self.collected = Some(run),
                Ok(Command::CannotCollect(error)) => {
                    self.collected = None;
                    note(&error.to_string());
                }
                Ok(Command::Ignored(error)) => note(&error.to_string()),
                Ok(Command::EndLoad) => self.end_load(true),
                Ok(Command::Waiting(error)) => self.say(&format!("waiting: {error}")),
                Ok(Command::Users(users)) => self.set(users)?,
                Ok(Command::NoSuchClass(classes)) => {
                    note(&format!(
                        "--class: the load has no users of the class {}; it has {}",
                        self.class,
                        classes.join(", ")
                    ));
                    self.set(0)?;
                }
                Ok(Command::Stop) => {
                    self.end_load(true);
                    self.worker.stopped();
                }
                Ok(Command::Quit) => {
                    self.end_load(false);
                    self.say("the master has ended");
                    return Ok(ExitCode::SUCCESS);
                }
                Ok(Command::Ended(error)) => return Err(Failure::input(error)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::cannot("the connection to the master failed"));
                }
            }
            if let Some(load) = &mut self.load {
                load.report(self.worker);
                if load.has_ended() {
                    self.end_load(false);
                    return Err(Failure::cannot("the load ended by itself"));
                }
            }
        }
    }

    /// Changes the number of users. The first ones begin a load.
    fn set(&mut self, users: u32) -> Result<(), Failure> {
        let is_closed = matches!(self.settings.schedule, Schedule::Closed { .. });
        if is_closed && users > MAX_IN_FLIGHT && !std::mem::replace(&mut self.is_warned, true) {
            note(&format!(
                "the master assigns {users} users to this worker, which makes at most {MAX_IN_FLIGHT} calls at a time: \
                 start more workers"
            ));
        }
        match &mut self.load {
            Some(load) => load.set_users(users),
            None if users == 0 => {}
            None => self.begin_load(users)?,
        }
        Ok(())
    }

    fn begin_load(&mut self, users: u32) -> Result<(), Failure> {
        let collection = self.collected.as_ref().map(|run| {
            let name = format!("{:016x}.json", random());
            Collection::begin(self.described, run, name).map_err(Failure::cannot)
        });
        let mut collection = collection.transpose()?;
        let begins = match &mut collection {
            None => "the load begins".to_owned(),
            Some(collection) => {
                // The master waits for the last figures of the workers that it knows.
                load::send(self.worker, collection.so_far(&TrialProgress::default()));
                let run = collection.run();
                format!("the load begins; the master collects its figures in {run}")
            }
        };
        let mut load = Load::begin(&self.settings, users, collection)?;
        load.set_users(users);
        self.load = Some(load);
        self.say(&begins);
        Ok(())
    }

    /// Ends the load, if there is one, with its last reports. `may_drain` is whether the master waits for that.
    fn end_load(&mut self, may_drain: bool) {
        let Some(load) = self.load.take() else {
            return;
        };
        match load.end(self.worker, may_drain) {
            Ok(lines) => lines.iter().for_each(|line| self.say(line)),
            Err(error) => note(&error),
        }
    }

    fn say(&self, line: &str) {
        if !self.is_quiet {
            note(line);
        }
    }
}
