//! Measures how well this machine emulates links.

use std::process::ExitCode;

use rpcgauge_lab::machine::placement::Placements;
use rpcgauge_link::{Checked, Flood, Options, Priority, check, highest_pace};
use rpcgauge_report::units;
use rpcgauge_study::link::{NamedLink, PRESETS, format_rate};
use rpcgauge_study::settings::Placement;

use super::{failure, ready, real};
use crate::exit::{Failure, NOT_ALL_WELL, Outcome, print_plain};

pub(super) fn run(names: &[String]) -> Outcome {
    let links = match names {
        [] => PRESETS
            .iter()
            .map(|it| real(it.name))
            .collect::<Result<Vec<_>, _>>()?,
        names => names.iter().map(|it| real(it)).collect::<Result<_, _>>()?,
    };
    ready()?;
    let options = options()?;
    let mut all_held = true;
    for NamedLink { name, terms } in links {
        let checked = check(&terms, &options).map_err(failure)?;
        let not_held = checked.not_held();
        all_held &= not_held.is_empty();
        print_plain(&text(&name, &checked, &not_held))?;
    }
    let pace = highest_pace(&options).map_err(failure)?;
    print_plain(&match pace {
        Some(pace) => format!(
            "packets of 200 bytes with at most 0.1 ms of added delay (p99): {} per second\n",
            units::count(pace.into())
        ),
        None => {
            "packets of 200 bytes have more than 0.1 ms of added delay (p99) at 10,000 per second\n"
                .to_owned()
        }
    })?;
    if all_held {
        Ok(ExitCode::SUCCESS)
    } else {
        Ok(ExitCode::from(NOT_ALL_WELL))
    }
}

/// Options with one core each for the client and the server, if there are two cores.
pub(crate) fn options() -> Result<Options, Failure> {
    let placements = Placements::detect().map_err(Failure::cannot)?;
    let Ok(layout) = placements.layout(Placement::TwoCores) else {
        return Ok(Options::default());
    };
    Ok(Options {
        client_cores: layout.client.ids().to_vec(),
        server_cores: layout.server.ids().to_vec(),
        seed: 1,
        calibrated: None,
    })
}

fn text(name: &str, checked: &Checked, not_held: &[String]) -> String {
    let time = |ns: u64| units::time(ns as f64);
    let probes = checked.calibration;
    let mut lines = vec![match not_held {
        [] => format!("{name}: held"),
        _ => format!("{name}: not held"),
    }];
    lines.push(format!(
        "round trip  {}, configured {}; worst {}; this machine itself adds {}",
        time(probes.median_ns),
        time(probes.set_ns),
        time(probes.worst_ns),
        time(probes.base_ns())
    ));
    for (name, way) in [("up", &checked.up), ("down", &checked.down)] {
        lines.push(format!("{name:<11} {}", direction(way)));
    }
    if checked.priority != Priority::RealTime {
        lines.push("without real-time priority, which requires root".to_owned());
    }
    lines.extend(not_held.iter().map(|what| format!("not held: {what}")));
    lines.join("\n  ") + "\n"
}

fn direction(way: &Flood) -> String {
    let time = |ns: u64| units::time(ns as f64);
    let mut parts = Vec::new();
    if let Some((set, measured)) = way.rate {
        let off = (measured / set as f64 - 1.0) * 100.0;
        parts.push(format!("rate {off:+.3}% of {}", format_rate(set)));
    }
    if let Some((set, measured)) = way.queue {
        parts.push(format!("full queue {} of {}", time(measured), time(set)));
    }
    if let Some(loss) = way.loss {
        parts.push(format!(
            "lost {} of {}",
            loss.lost,
            units::count(loss.offered)
        ));
    }
    let late = way.counts.lateness;
    parts.push(format!(
        "late {} (median), {} (p99)",
        time(late.p50_ns),
        time(late.p99_ns)
    ));
    parts.join("; ")
}
