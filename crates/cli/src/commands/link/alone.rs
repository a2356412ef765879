//! Runs a client, and optionally a server, over a link, and reports what the link did.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::Duration;

use rpcgauge_lab::subject::{end, end_with_this_program, spawn};
use rpcgauge_link::{CLIENT, Network, Options, Priority, SERVER};
use rpcgauge_report::units;
use rpcgauge_study::link::NamedLink;
use rpcgauge_trial::{DirectionCounts, LinkCounts};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, kill_process, waitid};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;

use super::ends::Server;
use super::{failure, figures, ready};
use crate::exit::{Failure, Outcome, note};
use crate::signals;

const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(super) fn run(link: &NamedLink, client: Command, server: Option<&str>, seed: u64) -> Outcome {
    let in_user_namespace = ready()?;
    let mut signals = Signals::new(signals::ending())
        .map_err(|error| Failure::cannot(format!("cannot listen for Ctrl-C: {error}")))?;
    let options = Options {
        seed,
        ..Options::default()
    };
    let network = Network::open(&link.terms, &options).map_err(failure)?;
    note(&format!("{}: {}", link.name, figures(&link.terms)));
    let mut server = match server {
        Some(command) => Some(Server::start(command, &network, || {
            signals.pending().next().is_some()
        })?),
        None => {
            note(&format!(
                "the client is at {CLIENT}; start servers at {SERVER} with {} CMD",
                way_in(&network, in_user_namespace)
            ));
            None
        }
    };
    let before = network.counts().map_err(failure)?;
    let status = attend(client, &network, &mut signals)?;
    let counts = network.counts().map_err(failure)?.since(&before);
    if let Some(server) = &mut server {
        server.note_end();
    }
    drop(server);
    for line in said(&counts, network.priority()) {
        note(&line);
    }
    Ok(code(status))
}

/// The command prefix that enters the server's namespace.
fn way_in(network: &Network, in_user_namespace: bool) -> String {
    let network = network.server().path();
    let user = if in_user_namespace {
        format!(
            "--user=/proc/{}/ns/user --preserve-credentials ",
            std::process::id()
        )
    } else {
        String::new()
    };
    format!("nsenter {user}--net={}", network.display())
}

/// Runs the client to completion, forwarding signals to it.
fn attend(
    mut command: Command,
    network: &Network,
    signals: &mut Signals,
) -> Result<ExitStatus, Failure> {
    let _inside = network.client().enter().map_err(failure)?;
    let name = command.get_program().to_string_lossy().into_owned();
    // At a terminal, only this program's own process group may read from it, so the client stays in
    // that group. Otherwise the client gets its own group, so that its child processes end with it.
    let is_at_terminal = is_foreground();
    let started = if is_at_terminal {
        end_with_this_program(&mut command, None);
        command.spawn()
    } else {
        spawn(&mut command, None)
    };
    let mut client =
        started.map_err(|error| Failure::input(format!("cannot start {name}: {error}")))?;
    // Do not reap the client yet, so that its process group's id is not reused.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    while let Ok(None) = waitid(WaitId::Pid(Pid::from_child(&client)), options) {
        for signal in signals.pending() {
            // At a terminal, Ctrl-C also reaches the client, which is in the same process group.
            if !(is_at_terminal && signal == SIGINT && is_foreground()) {
                pass_on(signal, &client);
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
    if !is_at_terminal {
        end(&mut client, Duration::ZERO);
    }
    client
        .wait()
        .map_err(|error| Failure::cannot(format!("cannot wait for {name}: {error}")))
}

/// Whether this program is in the foreground of its terminal. Standard input may be something else.
fn is_foreground() -> bool {
    File::open("/dev/tty").is_ok_and(|terminal| tcgetpgrp(terminal) == Ok(getpgrp()))
}

fn pass_on(signal: i32, client: &Child) {
    if let Some(signal) = Signal::from_named_raw(signal) {
        // This fails only if the client has exited.
        let _ = kill_process(Pid::from_child(client), signal);
    }
}

/// The exit code as reported by a shell: 128 + signal if a signal ended the process.
fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Lines that report what the link did.
fn said(counts: &LinkCounts, priority: Priority) -> Vec<String> {
    let time = |ns: u64| units::time(ns as f64);
    let LinkCounts {
        lateness,
        calibration,
        ..
    } = counts;
    let mut lines: Vec<String> = [("up", counts.up), ("down", counts.down)]
        .map(|(name, way)| format!("{name}: {}", direction(way)))
        .into();
    lines.push(format!(
        "round trip of probes {}, configured {}, after subtracting {} that this machine itself adds",
        time(calibration.median_ns),
        time(calibration.set_ns),
        time(calibration.base_ns()),
    ));
    if counts.up.packets + counts.down.packets > 0 {
        lines.push(format!(
            "packets left {} late (median), {} (p99), {} (worst)",
            time(lateness.p50_ns),
            time(lateness.p99_ns),
            time(lateness.max_ns)
        ));
    }
    if counts.retransmits > 0 {
        lines.push(format!(
            "{} TCP segments were retransmitted",
            units::count(counts.retransmits)
        ));
    }
    if counts.foreign_drops > 0 {
        lines.push(format!(
            "{} packets were dropped outside the link's queues",
            units::count(counts.foreign_drops)
        ));
    }
    if !counts.is_held() {
        let help = match priority {
            Priority::RealTime => "the machine is too busy for it",
            Priority::High | Priority::Normal => "real-time priority would help: run as root",
        };
        lines.push(format!(
            "the link was not held, so times measured over it are unreliable: {help}"
        ));
    }
    lines
}

fn direction(counts: DirectionCounts) -> String {
    let mut said = format!(
        "{} packets, {}",
        units::count(counts.packets),
        units::size(counts.bytes as f64)
    );
    for (count, what) in [
        (counts.lost, "lost"),
        (counts.dropped, "dropped by a full queue"),
    ] {
        if count > 0 {
            said += &format!(", {} {what}", units::count(count));
        }
    }
    let passed = counts.packets - counts.dropped;
    if counts.queued_ns > 0 && passed > 0 {
        let mean = counts.queued_ns as f64 / passed as f64;
        said += &format!(", {} in the queue on average", units::time(mean));
    }
    said
}
