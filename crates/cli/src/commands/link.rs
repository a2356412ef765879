//! `rpcgauge link`: runs programs over an emulated link, and checks how accurately this machine
//! emulates links.

mod alone;
mod check;
mod ends;

pub(crate) use check::options;

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use rpcgauge_link::{LinkError, isolate, prepare};
use rpcgauge_study::link::{
    NamedLink, PRESETS, format_delay, format_loss, format_rate, load_traces, named,
};
use rpcgauge_trial::{Direction, Link, LinkRate, Loss};

use crate::args::{LinkArgs, LinkCommand};
use crate::exit::{Failure, Outcome, print};

pub(crate) fn run(args: LinkArgs) -> Outcome {
    match (args.command, &args.link) {
        (Some(LinkCommand::Check { links }), _) => check::run(&links),
        (None, None) => list(),
        (None, Some(name)) => {
            let link = real(name)?;
            let client = match args.client {
                Some(command) => ends::shell(&command),
                None => ends::program(&args.program).ok_or_else(|| {
                    Failure::input(format!(
                        "nothing to run over the link: give --client 'CMD', or -- CMD (rpcgauge link {name} -- bash)"
                    ))
                })?,
            };
            alone::run(&link, client, args.server.as_deref(), args.seed)
        }
    }
}

fn list() -> Outcome {
    let mut text = String::new();
    for preset in &PRESETS {
        let figures = figures(&preset.terms());
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:<14}{figures}\n{:14}{}\n{:14}source: {}",
            preset.name, "", preset.says, "", preset.source
        );
    }
    text += "\nRun programs over one with `rpcgauge link NAME --server 'CMD' --client 'CMD'`; \
             `rpcgauge link check` shows\nhow accurately this machine emulates them.\n";
    print(&text)
}

/// A link's settings on one line.
fn figures(link: &Link) -> String {
    let Link { up, down, .. } = link;
    let both = |of: &dyn Fn(&Direction) -> Option<String>| match (of(down), of(up)) {
        (Some(down), Some(up)) if down == up => Some(down),
        (Some(down), Some(up)) => Some(format!("{down} down, {up} up")),
        (down, up) => down.or(up),
    };
    let rate = both(&|way| match &way.rate {
        LinkRate::Unlimited => None,
        LinkRate::BitsPerSecond(rate) => Some(format_rate(*rate)),
        LinkRate::Trace(trace) => Some(trace.file.clone()),
    });
    let round_trip = format_delay(link.round_trip().as_nanos() as u64);
    let jitter = both(&|way| (way.jitter_ns > 0).then(|| format_delay(way.jitter_ns)));
    let loss = both(&|way| way.loss.map(|Loss { part, .. }| format_loss(part)));
    let parts = [
        rate,
        Some(format!("round trip {round_trip}")),
        jitter.map(|it| format!("jitter {it} each way")),
        loss.map(|it| format!("loss {it}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The emulated link with this name. Fails for a name that is not emulated, such as loopback.
fn real(name: &str) -> Result<NamedLink, Failure> {
    let link = named(name).map_err(Failure::input)?;
    let mut link = link.ok_or_else(|| {
        Failure::input(format!(
            "{name} is not an emulated link: run the programs without rpcgauge"
        ))
    })?;
    load_traces(&mut link.terms, |file| file.into()).map_err(Failure::input)?;
    Ok(*link)
}

/// Tests whether a link can be created here. Returns the reason as `Err` if not. The test runs in
/// another process, because it may have to enter a user namespace.
pub(crate) fn try_out() -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command
        .args(["link", "wlan", "--client", ":"])
        .stdin(Stdio::null());
    let tried = command.output().map_err(|error| error.to_string())?;
    if tried.status.success() {
        return Ok("work".to_owned());
    }
    let said = String::from_utf8_lossy(&tried.stderr);
    let last = said.lines().last().unwrap_or_default();
    Err(last.trim_start_matches("rpcgauge: ").to_owned())
}

/// Prepares this program and thread for links. Returns whether they are in their own user
/// namespace. No other thread may exist yet.
fn ready() -> Result<bool, Failure> {
    let in_user_namespace = prepare().map_err(failure)?;
    isolate().map_err(failure)?;
    Ok(in_user_namespace)
}

fn failure(error: LinkError) -> Failure {
    match error {
        // The program was run inside another link.
        LinkError::Inside => Failure::input(error),
        _ => Failure::cannot(error),
    }
}
