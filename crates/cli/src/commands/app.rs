//! `rpcgauge app`: builds, checks or starts an application, or sends load to it once.

mod tables;

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rpcgauge_lab::TrialFailure;
use rpcgauge_lab::app::{
    AppPackage, Application, BuiltApp, Generator, Locust, Responses, Set, slice,
};
use rpcgauge_lab::subjects::SubjectsError;
use rpcgauge_report::units;
use rpcgauge_study::app::{App, AppLoad, Configuration, SliceFigures};
use rpcgauge_study::record::Fault;
use rpcgauge_trial::is_rate;

use super::subjects::{show_tail, with_progress};
use crate::args::{AppArgs, AppCommand, AppName, SetArgs};
use crate::exit::{Failure, INTERRUPTED, Outcome, note, print_plain};
use crate::screen::Screen;
use crate::signals;

/// How often to check the memory of a running application.
const CHECK_EVERY: Duration = Duration::from_secs(1);

pub(crate) fn run(args: AppArgs) -> Outcome {
    match args.command {
        AppCommand::Build { app } => build_one(&app),
        AppCommand::Check { app } => check(&app),
        AppCommand::Up {
            app,
            set,
            no_prometheus,
        } => up(&app, &set, no_prometheus),
        AppCommand::Load {
            app,
            set,
            users,
            tags,
            call,
            rate,
            duration,
            warm_up,
            stay,
        } => {
            let times = [warm_up, duration].map(Duration::from_millis);
            let at_rate = call.zip(rate);
            load(&app, &set, (users, tags), at_rate, times, stay)
        }
    }
}

/// Prints the log of the failed process, and converts the failure to a line and an exit code.
pub(crate) fn shown(failure: TrialFailure) -> Failure {
    let screen = Screen::new(true, "");
    for line in failure.log.lines() {
        screen.line(&format!("  {line}"));
    }
    match failure.fault {
        Fault::Instrument => Failure::interrupted(failure.reason),
        Fault::User => Failure::input(failure.reason),
        Fault::Machine | Fault::Subject => Failure::cannot(failure.reason),
    }
}

/// Builds an application, showing progress.
pub(crate) fn build<'p>(
    package: &'p AppPackage,
    quiet: bool,
    stop: &AtomicBool,
) -> Result<BuiltApp<'p>, SubjectsError> {
    let what = format!("building {}", package.app().name);
    with_progress(quiet, &what, |show| package.build(show, stop)).inspect_err(show_tail)
}

/// Installs Locust if necessary. Returns `None` if the load does not come from users.
pub(crate) fn locust_for(
    load: &AppLoad,
    quiet: bool,
    stop: &AtomicBool,
) -> Result<Option<Locust>, SubjectsError> {
    if !matches!(load, AppLoad::Users { .. }) {
        return Ok(None);
    }
    let installed = with_progress(quiet, "installing Locust", |show| {
        Locust::install(show, stop)
    });
    installed.map(Some).inspect_err(show_tail)
}

fn build_one(name: &AppName) -> Outcome {
    let package = AppPackage::find(&name.name)?;
    let stop = signals::stop_flag()?;
    let start = Instant::now();
    let built = build(&package, false, &stop)?;
    let time = units::time(start.elapsed().as_nanos() as f64);
    let size = units::size(built.bytes() as f64);
    let (name, folder) = (&package.app().name, built.folder().display());
    print_plain(&format!("{name}: built in {time}, {size}: {folder}\n"))
}

/// The configuration selected by the options.
fn configuration(app: &App, set: &SetArgs) -> Result<Configuration, Failure> {
    let pairs = set.set.iter().map(|text| {
        text.split_once('=')
            .ok_or_else(|| Failure::input(format!("--set {text}: write it as SETTING=VALUE")))
    });
    let pairs: Vec<(&str, &str)> = pairs.collect::<Result<_, _>>()?;
    app.configuration(pairs)
        .map_err(|error| Failure::input(format!("--set: {error}")))
}

/// Reports on standard error which process is being started.
fn say(title: &str) {
    note(&format!("starting {title}"));
}

fn check(name: &AppName) -> Outcome {
    let package = AppPackage::find(&name.name)?;
    let stop = signals::stop_flag()?;
    let built = build(&package, false, &stop)?;
    let app = package.app();
    let logs = built.logs()?;
    let started = Application::start(&built, 1, logs.folder().to_owned(), &mut say, &stop);
    let mut application = started.map_err(shown)?;
    let mut first: Option<Responses> = None;
    let configurations = app.configurations();
    for configuration in &configurations {
        let title = configuration.to_string();
        let set = application.add(&title, configuration.clone(), &mut say, &stop);
        let responses = set.and_then(|set| set.check(app)).map_err(shown)?;
        if let Some(first) = &first {
            first.compare(&responses, app).map_err(shown)?;
        }
        print_plain(&format!(
            "{title}: {} of {0} checks passed\n",
            app.checks.len()
        ))?;
        first.get_or_insert(responses);
        application.end_sets();
    }
    print_plain(&format!(
        "{}: responses are correct and identical in {} configurations\n",
        app.name,
        configurations.len()
    ))
}

/// Starts the application with one set of services, and checks the set.
fn start<'a>(
    built: &'a BuiltApp<'a>,
    app: &App,
    configuration: Configuration,
    logs: &Path,
    stop: &AtomicBool,
) -> Result<(Application<'a>, Responses), Failure> {
    let started = Application::start(built, 1, logs.to_owned(), &mut say, stop);
    let mut application = started.map_err(shown)?;
    let set = application.add("", configuration, &mut say, stop);
    let responses = set.and_then(|set| set.check(app)).map_err(shown)?;
    Ok((application, responses))
}

fn up(name: &AppName, set: &SetArgs, no_prometheus: bool) -> Outcome {
    let package = AppPackage::find(&name.name)?;
    let app = package.app();
    let configuration = configuration(app, set)?;
    let stop = signals::stop_flag()?;
    let built = build(&package, false, &stop)?;
    let logs = built.logs()?;
    let since = Instant::now();
    let (mut application, responses) =
        start(&built, app, configuration.clone(), logs.folder(), &stop)?;
    let time = units::time(since.elapsed().as_nanos() as f64);
    print_plain(&format!(
        "{} started in {time}, with {configuration}\n",
        app.name
    ))?;
    let prometheus = if no_prometheus {
        None
    } else {
        Some(application.start_prometheus(&stop).map_err(shown)?)
    };
    stay_up(application, &responses, prometheus, logs.folder(), &stop)
}

/// Prints all addresses, then keeps the application running until Ctrl-C.
fn stay_up(
    application: Application<'_>,
    responses: &Responses,
    prometheus: Option<Result<SocketAddr, String>>,
    logs: &Path,
    stop: &AtomicBool,
) -> Outcome {
    let app = application.app();
    let text = tables::addresses(&application, &responses.kept, logs).map_err(shown)?;
    print_plain(&text)?;
    match prometheus {
        Some(Ok(address)) => print_plain(&format!(
            "Prometheus: http://{address} scrapes every service that exposes metrics\n"
        ))?,
        Some(Err(why)) => print_plain(&format!("Prometheus is not running: {why}\n"))?,
        None => ExitCode::SUCCESS,
    };
    print_plain("Press Ctrl-C to stop everything.\n")?;
    while !stop.load(Ordering::Relaxed) {
        let waited = application.wait(CHECK_EVERY, stop);
        let checked = waited.and_then(|()| application.check_processes());
        checked.map_err(shown)?;
    }
    let name = app.name.clone();
    drop(application);
    print_plain(&format!("{name} has stopped\n"))
}

fn load(
    name: &AppName,
    set: &SetArgs,
    users: (Option<u32>, Vec<String>),
    at_rate: Option<(String, f64)>,
    times: [Duration; 2],
    stay: bool,
) -> Outcome {
    let package = AppPackage::find(&name.name)?;
    let app = package.app();
    let configuration = configuration(app, set)?;
    let load = load_of(app, users, at_rate).map_err(Failure::input)?;
    let stop = signals::stop_flag()?;
    let built = build(&package, false, &stop)?;
    let locust = locust_for(&load, false, &stop)?;
    let logs = built.logs()?;
    let (mut application, responses) = start(&built, app, configuration, logs.folder(), &stop)?;
    // Prometheus must start first to scrape the whole load.
    let prometheus = if stay {
        Some(application.start_prometheus(&stop).map_err(shown)?)
    } else {
        None
    };
    let taken = application.sets().iter().map(|set| {
        let (log, kept) = (logs.folder().join("locust.log"), &responses.kept);
        note(&format!("sending {load}"));
        let locust = locust.as_ref();
        let mut generator = Generator::start(&load, locust, &built, set, kept, log, &stop)?;
        let (_, taken) = slice(
            &application,
            set,
            &mut generator,
            &app.metrics,
            times,
            &stop,
        )?;
        Ok((set, taken))
    });
    let taken: Vec<(&Set, SliceFigures)> = taken.collect::<Result<_, _>>().map_err(shown)?;
    for (set, taken) in &taken {
        print_plain(&tables::of_load(app, set, taken, &load))?;
    }
    let failed = taken.iter().flat_map(|(_, taken)| &taken.requests);
    let failed: u64 = failed.map(|one| one.failures).sum();
    let interrupted = stop.load(Ordering::Relaxed);
    if stay && !interrupted {
        stay_up(application, &responses, prometheus, logs.folder(), &stop)?;
    }
    match (interrupted, failed) {
        (true, _) => Ok(INTERRUPTED.into()),
        (false, 0) => Ok(ExitCode::SUCCESS),
        (false, failed) => Err(Failure::not_all_well(format!("{failed} requests failed"))),
    }
}

/// The load selected by the options.
fn load_of(
    app: &App,
    (users, tags): (Option<u32>, Vec<String>),
    at_rate: Option<(String, f64)>,
) -> Result<AppLoad, String> {
    let Some((call, rate)) = at_rate else {
        return AppLoad::users(app, users, None, (!tags.is_empty()).then_some(tags));
    };
    app.check(&call)
        .map_err(|error| format!("--call: {error}"))?;
    if is_rate(rate) {
        Ok(AppLoad::Rate { call, rate })
    } else {
        Err("--rate: must be more than 0 and at most 1e9".to_owned())
    }
}
