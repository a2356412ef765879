//! Reads the table of a link in a study.

use std::ops::Range;

use rpcgauge_trial::{Congestion, DEFAULT_MTU, Direction, Link, LinkRate, Loss, Trace};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::units::{Delay, Percent, QueueWritten, Rate, format_queue};
use super::{LOOPBACK, NamedLink, Preset, format_delay, format_loss, format_rate, usual_queue};
use crate::error::{Source, StudyError};
use crate::read::{PathText, Table};
use crate::words::Named;

/// The values written for one direction, or for both.
#[derive(Default)]
struct Written {
    rate: Option<Spanned<Rate>>,
    trace: Option<Spanned<PathText>>,
    delay: Option<Spanned<Delay>>,
    jitter: Option<Spanned<Delay>>,
    loss: Option<Spanned<Percent>>,
    burst: Option<Spanned<f64>>,
    queue: Option<Spanned<QueueWritten>>,
    overhead: Option<Spanned<u32>>,
}

impl Written {
    fn read(table: &mut Table<'_>) -> Result<Self, StudyError> {
        let written = Self {
            rate: table.take("rate")?,
            trace: table.take("trace")?,
            delay: table.take("delay")?,
            jitter: table.take("jitter")?,
            loss: table.take("loss")?,
            burst: table.take("burst")?,
            queue: table.take("queue")?,
            overhead: table.take("overhead")?,
        };
        if let (Some(rate), Some(trace)) = (&written.rate, &written.trace) {
            let later = rate.span().start.max(trace.span().start);
            let message = "a link has either a \"rate\" or a \"trace\"; keep one of the two";
            return Err(table.source.error(later..later, message));
        }
        Ok(written)
    }

    /// Each value with its key, as it appears in a link's name.
    fn words(&self) -> impl Iterator<Item = String> {
        fn value<T>(written: &Option<Spanned<T>>, word: impl Fn(&T) -> String) -> Option<String> {
            written.as_ref().map(|value| word(value.get_ref()))
        }
        let words = [
            ("rate", value(&self.rate, |rate| format_rate(rate.0))),
            ("trace", value(&self.trace, |trace| trace.0.clone())),
            ("delay", value(&self.delay, |delay| format_delay(delay.0))),
            ("jitter", value(&self.jitter, |delay| format_delay(delay.0))),
            ("loss", value(&self.loss, |loss| format_loss(loss.0))),
            ("burst", value(&self.burst, f64::to_string)),
            ("queue", value(&self.queue, |queue| format_queue(queue.0))),
            ("overhead", value(&self.overhead, u32::to_string)),
        ];
        let words = words.into_iter();
        words.filter_map(|(key, word)| Some(format!("{key}={}", word?)))
    }
}

/// Sets the values of a link one at a time, so that an error points at the value that caused it.
struct Setter<'s> {
    source: &'s Source,
    link: Link,
}

impl Setter<'_> {
    fn set(&mut self, place: Range<usize>, set: impl FnOnce(&mut Link)) -> Result<(), StudyError> {
        set(&mut self.link);
        let checked = self.link.check();
        checked.map_err(|error| self.source.error(place, error.to_string()))
    }

    /// Sets the written values in the directions `of`. Unless `has_queue`, a new rate also sets the default queue.
    fn set_directions(
        &mut self,
        of: &[fn(&mut Link) -> &mut Direction],
        written: &Written,
        has_queue: bool,
    ) -> Result<(), StudyError> {
        for of in of {
            if let Some(rate) = &written.rate {
                self.set(rate.span(), |link| {
                    let direction = of(link);
                    direction.rate = LinkRate::BitsPerSecond(rate.get_ref().0);
                    if !has_queue {
                        direction.queue = usual_queue(&direction.rate);
                    }
                })?;
            }
            if let Some(delay) = &written.delay {
                self.set(delay.span(), |link| {
                    let direction = of(link);
                    direction.delay_ns = delay.get_ref().0;
                    if written.jitter.is_some() {
                        direction.jitter_ns = 0;
                    }
                })?;
            }
            if let Some(jitter) = &written.jitter {
                self.set(jitter.span(), |link| {
                    of(link).jitter_ns = jitter.get_ref().0;
                })?;
            }
            if let Some(loss) = &written.loss {
                let part = loss.get_ref().0;
                self.set(loss.span(), |link| {
                    of(link).loss = (part != 0.0).then(|| Loss::independent(part));
                })?;
            }
            if let Some(burst) = &written.burst {
                let Some(Loss { part, .. }) = of(&mut self.link).loss else {
                    let message = "\"burst\" is the mean length of bursts of \"loss\", and there is none; \
                        write loss = \"1%\"";
                    return Err(self.source.error(burst.span(), message));
                };
                self.set(burst.span(), |link| {
                    let burst = *burst.get_ref();
                    of(link).loss = Some(Loss { part, burst });
                })?;
            }
            if let Some(overhead) = &written.overhead {
                self.set(overhead.span(), |link| {
                    of(link).overhead = *overhead.get_ref();
                })?;
            }
            if let Some(queue) = &written.queue {
                self.set(queue.span(), |link| of(link).queue = queue.get_ref().0)?;
            }
        }
        Ok(())
    }
}

const UP: fn(&mut Link) -> &mut Direction = |link| &mut link.up;
const DOWN: fn(&mut Link) -> &mut Direction = |link| &mut link.down;

/// Reads the link in a table. Traces are not loaded until the study is resolved.
pub(crate) fn from_table(
    source: &Source,
    value: &Spanned<DeValue<'_>>,
) -> Result<Box<NamedLink>, StudyError> {
    let mut table = Table::of(source, "link", value.clone())?.hinting(|key| {
        (key == "rtt").then_some("its \"delay\" is one way: write half of the round trip")
    });
    let preset: Option<Spanned<String>> = table.take("preset")?;
    let mut both = Written::read(&mut table)?;
    let mut directions = Vec::new();
    for (key, of) in [("up", UP), ("down", DOWN)] {
        let written = match table.table(key)? {
            None => Written::default(),
            Some(mut table) => {
                let written = Written::read(&mut table)?;
                table.end()?;
                written
            }
        };
        directions.push((key, of, written));
    }
    let mtu: Option<Spanned<u32>> = table.take("mtu")?;
    let congestion: Option<Congestion> = table.take("congestion")?;
    let slow_start: Option<bool> = table.take("slow-start-after-idle")?;
    let window: Option<Spanned<u32>> = table.take("initial-window")?;
    table.end()?;

    let mut name: Vec<String> = Vec::new();
    let preset = match &preset {
        None => None,
        Some(preset) if preset.get_ref() == LOOPBACK => {
            let message =
                "loopback is not an emulated link and has nothing to set; leave \"preset\" out";
            return Err(source.error(preset.span(), message));
        }
        Some(preset) => {
            let known = Preset::of(preset.get_ref());
            let known = known.map_err(|message| source.error(preset.span(), message))?;
            name.push(known.name.to_owned());
            Some(known)
        }
    };
    let link = preset.map_or_else(unlimited, Preset::terms);
    let has_queue = preset.is_some_and(Preset::has_queues);
    let mut setter = Setter { source, link };
    if let Some(mtu) = &mtu {
        setter.set(mtu.span(), |link| link.mtu = *mtu.get_ref())?;
    }
    if let Some(window) = &window {
        let segments = Some(*window.get_ref());
        setter.set(window.span(), |link| link.initial_window = segments)?;
    }
    setter.set_directions(&[UP, DOWN], &both, has_queue)?;
    for (_, of, written) in &directions {
        setter.set_directions(&[*of], written, has_queue || both.queue.is_some())?;
    }
    let mut link = setter.link;
    link.congestion = congestion.unwrap_or(link.congestion);
    link.slow_start_after_idle = slow_start.unwrap_or(link.slow_start_after_idle);
    name.extend(both.words());
    for (key, of, written) in &mut directions {
        name.extend(written.words().map(|word| format!("{key}.{word}")));
        let own = written.rate.is_some() || written.trace.is_some();
        let trace = if own {
            &mut written.trace
        } else {
            &mut both.trace
        };
        if let Some(trace) = trace {
            let (file, at_ms) = (trace.get_ref().0.clone(), Vec::new());
            let direction = of(&mut link);
            direction.rate = LinkRate::Trace(Trace { file, at_ms });
            let has_queue = has_queue || both.queue.is_some() || written.queue.is_some();
            if !has_queue {
                direction.queue = usual_queue(&direction.rate);
            }
        }
    }
    name.extend(mtu.map(|mtu| format!("mtu={}", mtu.get_ref())));
    name.extend(congestion.map(|congestion| format!("congestion={}", congestion.as_str())));
    name.extend(slow_start.map(|after| format!("slow-start-after-idle={after}")));
    name.extend(window.map(|window| format!("initial-window={}", window.get_ref())));
    if name.is_empty() {
        let message =
            "this link sets nothing; write a preset such as \"wlan\", or a rate and a delay";
        return Err(source.error(value.span(), message));
    }
    Ok(Box::new(NamedLink {
        name: name.join("+"),
        terms: link,
    }))
}

/// Reads the link in a name that lists the values of a table: `wlan+loss=1%`, `rate=50Mbit/s+up.delay=4ms`.
pub(super) fn from_name(name: &str) -> Result<Box<NamedLink>, String> {
    let is_key = |key: &str| {
        key.chars()
            .all(|c| c.is_ascii_lowercase() || "-.".contains(c))
    };
    let is_bare = |value: &str| {
        let is_number = value.chars().all(|c| c.is_ascii_digit() || c == '.');
        is_number || ["true", "false"].contains(&value)
    };
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let written = name.split('+').map(|part| match part.split_once('=') {
        None => format!("preset = {}", quoted(part)),
        Some((key, value)) if is_key(key) && is_bare(value) => format!("{key} = {value}"),
        Some((key, value)) if is_key(key) => format!("{key} = {}", quoted(value)),
        Some((key, _)) => format!("{} = 0", quoted(key)),
    });
    let text = format!("link = {{ {} }}", written.collect::<Vec<_>>().join(", "));
    let source = Source {
        file: name.into(),
        text: text.as_str().into(),
    };
    let wrong =
        |what: &str| format!("\"{name}\" is not a link: {what}; write it like wlan+loss=1%");
    let table = DeTable::parse(&text).map_err(|error| wrong(error.message()))?;
    let value = table
        .get_ref()
        .get("link")
        .ok_or_else(|| wrong("it is empty"))?;
    from_table(&source, value).map_err(|error| format!("the link \"{name}\": {}", error.message))
}

/// The link that a table without a preset starts from: no rate limit and no delay.
fn unlimited() -> Link {
    let direction = Direction {
        rate: LinkRate::Unlimited,
        delay_ns: 0,
        jitter_ns: 0,
        loss: None,
        queue: usual_queue(&LinkRate::Unlimited),
        overhead: 0,
    };
    Link {
        up: direction.clone(),
        down: direction,
        mtu: DEFAULT_MTU,
        congestion: Congestion::Cubic,
        slow_start_after_idle: false,
        initial_window: None,
    }
}
