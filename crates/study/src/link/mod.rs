//! Links as written in studies: a preset's name, or a table of values (docs/link.md).

mod preset;
mod read;
#[cfg(test)]
mod tests;
mod units;

pub use preset::{LOOPBACK, PRESETS, Preset};
use read::from_name;
pub(crate) use read::from_table;
pub use units::{format_delay, format_loss, format_rate};

use std::path::PathBuf;

use rpcgauge_message::nearest::Nearest;
pub use rpcgauge_trial::{Congestion, Direction, Link, LinkRate, MAX_LATENESS_NS, MAX_OFF_NS};
use rpcgauge_trial::{Queue, Trace};
use serde::{Deserialize, Serialize};

use self::units::format_queue;
use crate::resolve::loader;
use crate::words::{Named as _, words};

words!(Congestion, "congestion control": "cubic" => Cubic, "bbr" => Bbr, "reno" => Reno);

/// A link with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedLink {
    /// The preset's name, followed by the values that a study changes: `wlan+loss=1%`. Links with the same name are
    /// equal.
    pub name: String,
    /// Its values.
    pub terms: Link,
}

impl NamedLink {
    /// The preset that its rate and delay come from: the link is that preset, or changes only other values of it.
    pub fn preset(&self) -> Option<&'static Preset> {
        let name = self.name.split('+').next()?;
        let preset = PRESETS.iter().find(|preset| preset.name == name)?;
        let figures =
            |link: &Link| [&link.up, &link.down].map(|way| (way.rate.clone(), way.delay_ns));
        (figures(&self.terms) == figures(&preset.terms())).then_some(preset)
    }

    /// All its values in words. The name contains only the values that a study sets, so links may differ in values that
    /// their names do not show. A trace is described by its length and its number of packets.
    pub fn values(&self) -> String {
        let Link {
            up,
            down,
            mtu,
            congestion,
            slow_start_after_idle,
            initial_window,
        } = &self.terms;
        let ways = [("up", up), ("down", down)]
            .map(|(way, values)| format!("{way}: {}", values_of(values)));
        let window = initial_window.map(|segments| format!(", initial window {segments}"));
        let slow_start = slow_start_after_idle.then_some(", slow start after idle");
        format!(
            "{}; MTU {mtu}, {}{}{}",
            ways.join("; "),
            congestion.as_str(),
            window.unwrap_or_default(),
            slow_start.unwrap_or_default()
        )
    }
}

fn values_of(way: &Direction) -> String {
    let Direction {
        rate,
        delay_ns,
        jitter_ns,
        loss,
        queue,
        overhead,
    } = way;
    let rate = match rate {
        LinkRate::Unlimited => "no limit".to_owned(),
        LinkRate::BitsPerSecond(bits) => format_rate(*bits),
        LinkRate::Trace(Trace { file, at_ms }) => {
            let (packets, ms) = (at_ms.len(), at_ms.last().copied().unwrap_or_default());
            format!("trace {file} of {packets} packets in {ms} ms")
        }
    };
    let mut values = vec![rate, format!("delay {}", format_delay(*delay_ns))];
    values.extend((*jitter_ns > 0).then(|| format!("jitter {}", format_delay(*jitter_ns))));
    values.extend(loss.map(|loss| {
        format!(
            "loss {} in bursts of {}",
            format_loss(loss.part),
            loss.burst
        )
    }));
    values.push(format!("queue {}", format_queue(*queue)));
    values.extend((*overhead > 0).then(|| format!("overhead {overhead}")));
    values.join(", ")
}

/// Returns the link that a name stands for: a preset, with changes as in `wlan+loss=1%`; `None` for loopback. Traces
/// are not loaded yet.
///
/// # Errors
/// The name contains an unknown preset or value. The message suggests the nearest names.
pub fn named(name: &str) -> Result<Option<Box<NamedLink>>, String> {
    if name == LOOPBACK {
        return Ok(None);
    }
    if name.contains('=') {
        return from_name(name).map(Some);
    }
    let preset = Preset::of(name)?;
    Ok(Some(Box::new(NamedLink {
        name: name.to_owned(),
        terms: preset.terms(),
    })))
}

impl Preset {
    fn of(name: &str) -> Result<&'static Self, String> {
        PRESETS
            .iter()
            .find(|preset| preset.name == name)
            .ok_or_else(|| {
                let known = PRESETS.iter().map(|preset| preset.name);
                let hint = Nearest::or_known(name, [LOOPBACK].into_iter().chain(known));
                format!("there is no link \"{name}\"{hint}")
            })
    }
}

/// The default queue holds what the link sends in 30 ms, but at least 64 KiB. At any rate that is several initial
/// windows, so that no packet is silently dropped before a connection is established. At a rate that sends 64 KiB in
/// less than 30 ms, a full queue adds at most 30 ms.
const MIN_QUEUE_BYTES: u64 = 64 << 10;
const USUAL_QUEUE_MS: u64 = 30;
/// The default queue in front of a trace, which has no fixed rate: 100 full packets.
const QUEUE_OF_TRACE_BYTES: u64 = 150_000;

/// The default queue of a direction.
fn usual_queue(rate: &LinkRate) -> Queue {
    let is_fast = |bits: u64| bits / 8 * USUAL_QUEUE_MS / 1_000 >= MIN_QUEUE_BYTES;
    match rate {
        LinkRate::BitsPerSecond(bits) if is_fast(*bits) => Queue::Time(USUAL_QUEUE_MS * 1_000_000),
        LinkRate::BitsPerSecond(_) | LinkRate::Unlimited => Queue::Bytes(MIN_QUEUE_BYTES),
        LinkRate::Trace(_) => Queue::Bytes(QUEUE_OF_TRACE_BYTES),
    }
}

/// Loads the traces that a link names, each from the path that `path` returns, which completes the link.
///
/// # Errors
/// A trace cannot be read, or makes the link invalid.
pub fn load_traces(link: &mut Link, path: impl Fn(&str) -> PathBuf) -> Result<(), String> {
    for direction in [&mut link.up, &mut link.down] {
        if let Direction {
            rate: LinkRate::Trace(trace),
            ..
        } = direction
        {
            let text = loader::text("trace", &path(&trace.file)).map_err(|error| error.message)?;
            *trace = Trace::parse(&trace.file, &text)
                .map_err(|error| format!("the trace \"{}\" is invalid: {error}", trace.file))?;
        }
    }
    link.check().map_err(|error| error.to_string())
}
