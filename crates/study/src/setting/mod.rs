//! The settings table. A row defines everything about one setting: how to read, name, apply and describe it, and what
//! it requires of a subject.

mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::RangeInclusive;

pub(crate) use table::Key;
pub use table::SETTINGS;

use rpcgauge_message::nearest::Nearest;
use rpcgauge_message::{Compression, WorkloadSpec};
use rpcgauge_trial::{MAX_MS, RampPart, is_rate};
use toml::de::DeValue;

use crate::features::{Features, Role};
use crate::link::{self, LOOPBACK, NamedLink};
use crate::ramp::{Ramp, format_ramp};
use crate::settings::{Settings, Target};
use crate::words::{
    Named, format_number, format_size, format_time, is_plain, parse_size, parse_time_ms,
};

/// The column of `rpcgauge plan` that shows what is called.
const CALLS: &str = "calls";
/// The column that shows when a trial ends.
const UNTIL: &str = "until";
/// The column of the settings of runtimes.
const RUNTIME: &str = "runtime";
/// The column of the link.
const LINK: &str = "link";
/// The column of the deadline.
const DEADLINE: &str = "deadline";

/// A row of the table.
pub struct Setting {
    pub(crate) key: Key,
    /// Its key in a study.
    pub name: &'static str,
    /// The values that it can have.
    pub values: Values,
    /// Whether a variant's name contains only the value, without the setting's name.
    pub(crate) name_is_implied: bool,
    /// Settings that must not be in the same table, and why.
    pub(crate) conflicts_with: &'static [(Key, &'static str)],
    /// Settings of a lower layer that it replaces or excludes.
    pub(crate) overrides: &'static [Key],
    /// Its value, in settings that have one.
    pub(crate) get: fn(&Settings) -> Option<Value>,
    /// Sets it in `Settings`. The rows above have already been applied.
    pub(crate) set: fn(&mut Settings, &Value) -> Result<(), Misfit>,
    /// What a stack lacks for it in a role, as the rest of a sentence that begins with the stack; `None` if the stack
    /// lacks nothing.
    pub(crate) missing_feature: fn(&Settings, &Features, Role) -> Option<String>,
    /// Its column in `rpcgauge plan`.
    column: &'static str,
    /// Its value in words, for that column and for sentences; empty if it should not be shown.
    describe: fn(&Settings, &Value) -> String,
}

/// Why a value cannot be put into settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// The settings do not have this setting; the text continues a sentence that begins with its key.
    Absent(&'static str),
    /// The settings cannot have this value; the text is a sentence.
    Refused(&'static str),
    /// The value has the wrong kind for the setting.
    Kind,
}

/// The values that a setting can have.
pub enum Values {
    /// `SUBJECT/STACK`.
    Stack,
    /// One of these words.
    Words {
        /// What the words are called in messages.
        what: &'static str,
        /// All words.
        all: fn() -> Vec<&'static str>,
    },
    /// A compression with its level.
    Compression,
    /// A whole number within bounds, both included.
    Whole(RangeInclusive<u64>),
    /// A rate above 0, or a ramp.
    Rate,
    /// A time.
    Time {
        /// The minimum, ms.
        min_ms: u64,
    },
    /// A word that a subject defines.
    Plain,
    /// A size in bytes.
    Size,
    /// A link, by its name or as a table.
    Link,
    /// `true` or `false`.
    Flag,
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A stack.
    Stack(String),
    /// A word of a closed set.
    Word(&'static str),
    /// A compression.
    Compression(Compression),
    /// A whole number.
    Whole(u64),
    /// Calls per second.
    Rate(f64),
    /// Calls per second that change over time.
    Ramp(Vec<RampPart>),
    /// A time, ms.
    Time(u64),
    /// A word that a subject defines.
    Plain(String),
    /// A size, bytes.
    Size(u64),
    /// A link; `None` for loopback.
    Link(Option<Box<NamedLink>>),
    /// On or off.
    Flag(bool),
}

impl Key {
    pub(crate) fn row(self) -> &'static Setting {
        &SETTINGS[self as usize]
    }

    pub(crate) fn from_name(word: &str) -> Option<Self> {
        let row = SETTINGS.iter().find(|row| row.name == word);
        row.map(|row| row.key)
    }
}

impl Setting {
    /// Its value in settings that have it.
    pub fn value(&self, settings: &Settings) -> Option<Value> {
        (self.get)(settings)
    }

    /// Whether it decides when a trial ends, not how calls are made.
    pub fn ends_trials(&self) -> bool {
        self.column == UNTIL
    }

    /// Its value in words.
    fn words(&self, settings: &Settings) -> String {
        let value = self.value(settings);
        value.map_or(String::new(), |value| (self.describe)(settings, &value))
    }

    /// Reads its value as written in a study.
    pub(crate) fn read(&self, written: &DeValue<'_>) -> Result<Value, String> {
        let text = written.as_str();
        let read = match &self.values {
            Values::Stack => {
                let name = text.filter(|text| !text.trim().is_empty());
                name.map(|name| Ok(Value::stack(name)))
            }
            Values::Words { what, all } => text.map(|text| {
                let all = all();
                let known = all.iter().find(|word| **word == text);
                known.map(|word| Value::Word(word)).ok_or_else(|| {
                    let hint = Nearest::or_known(text, all);
                    format!("unknown {what} \"{text}\"{hint}")
                })
            }),
            Values::Compression => text.map(|text| {
                let compression = text.parse::<Compression>().map(Value::Compression);
                compression.map_err(|error| error.to_string())
            }),
            Values::Whole(_) => {
                let number = written.as_integer();
                let number = number.map(|n| u64::from_str_radix(n.as_str(), n.radix()));
                number.and_then(Result::ok).map(|n| Ok(Value::Whole(n)))
            }
            Values::Rate => match written {
                DeValue::Float(number) => number.as_str().parse().ok().map(|n| Ok(Value::Rate(n))),
                DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
                    .ok()
                    .map(|number| Ok(Value::Rate(number as f64))),
                _ => text.map(|text| match text.parse() {
                    Ok(Ramp(parts)) => Ok(Value::Ramp(parts)),
                    Err(error) => Err(error.to_string()),
                }),
            },
            Values::Time { .. } => text.map(|text| parse_time_ms(text).map(Value::Time)),
            Values::Plain => text.map(|text| Ok(Value::Plain(text.to_owned()))),
            Values::Size => text.map(|text| parse_size(text).map(Value::Size)),
            Values::Link => text.map(|name| link::named(name).map(Value::Link)),
            Values::Flag => written.as_bool().map(|flag| Ok(Value::Flag(flag))),
        };
        let read = read.unwrap_or_else(|| {
            let found = match written {
                DeValue::Integer(number) => number.to_string(),
                other => format!("of type {}", other.type_str()),
            };
            let (word, wanted) = (self.name, self.values.wanted());
            Err(format!("\"{word}\" must be {wanted}, not {found}"))
        });
        read.and_then(|value| match self.values {
            // A link is checked while it is read, and is complete only once its traces are loaded.
            Values::Link => Ok(value),
            _ => self.check(&value).map(|()| value),
        })
    }

    /// Checks that a value from a study or a plan is within the bounds of this setting.
    fn check(&self, value: &Value) -> Result<(), String> {
        let must_be = |bounds: String| Err(format!("\"{}\" must be {bounds}", self.name));
        match (&self.values, value) {
            (Values::Whole(bounds), Value::Whole(number)) if !bounds.contains(number) => {
                must_be(format!("{}, not {number}", whole_number(bounds)))
            }
            (Values::Rate, Value::Rate(rate)) if !is_rate(*rate) => must_be(format!(
                "more than 0 and at most 1e9 calls per second, not {}",
                format_number(*rate)
            )),
            (Values::Rate, Value::Ramp(parts)) => {
                RampPart::check(parts).map_err(|bounds| bounds.to_string())
            }
            (Values::Time { min_ms }, Value::Time(ms)) if ms < min_ms => {
                must_be(format!("at least {}", format_time(*min_ms)))
            }
            (Values::Time { .. }, Value::Time(ms)) if *ms > MAX_MS => {
                must_be("at most 24h".to_owned())
            }
            (Values::Plain, Value::Plain(word)) if !is_plain(word) => must_be(format!(
                "a word of lower-case letters, digits, - and ., not \"{word}\""
            )),
            (Values::Link, Value::Link(Some(link))) => {
                link.terms.check().map_err(|bounds| bounds.to_string())
            }
            (Values::Size, Value::Size(0)) => must_be("more than 0 bytes".to_owned()),
            _ => Ok(()),
        }
    }
}

impl Values {
    /// What a study must write for it, for an error message.
    fn wanted(&self) -> String {
        let wanted = match self {
            Self::Stack => "a stack, SUBJECT/STACK",
            Self::Words { all, .. } => {
                let quoted: Vec<_> = all().iter().map(|word| format!("\"{word}\"")).collect();
                return format!("one of {}", quoted.join(", "));
            }
            Self::Compression => "a string, such as \"gzip:6\"",
            Self::Whole(bounds) => return whole_number(bounds),
            Self::Rate => "a number of calls per second, or a ramp such as \"100..1000:30s\"",
            Self::Time { .. } => "a time with its unit, such as \"150ms\"",
            Self::Plain => "a word, such as \"g1\"",
            Self::Size => "a size, such as \"256MiB\"",
            Self::Link => "a link's name, such as \"wlan\", or a table",
            Self::Flag => "true or false",
        };
        wanted.to_owned()
    }
}

fn whole_number(bounds: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}", bounds.start(), bounds.end())
}

impl Value {
    fn word<T: Named>(value: T) -> Option<Self> {
        Some(Self::Word(value.as_str()))
    }

    fn stack(name: &str) -> Self {
        Self::Stack(name.to_owned())
    }

    fn to_word<T: Named>(&self) -> Result<T, Misfit> {
        match self {
            Self::Word(word) => T::from_name(word).ok_or(Misfit::Kind),
            _ => Err(Misfit::Kind),
        }
    }

    fn to_stack(&self) -> Result<String, Misfit> {
        match self {
            Self::Stack(name) => Ok(name.clone()),
            _ => Err(Misfit::Kind),
        }
    }

    fn to_plain(&self) -> Result<String, Misfit> {
        match self {
            Self::Plain(word) => Ok(word.clone()),
            _ => Err(Misfit::Kind),
        }
    }

    fn to_whole<T: TryFrom<u64>>(&self) -> Result<T, Misfit> {
        match self {
            Self::Whole(number) => T::try_from(*number).map_err(|_| Misfit::Kind),
            _ => Err(Misfit::Kind),
        }
    }

    fn to_ms(&self) -> Result<u64, Misfit> {
        match self {
            Self::Time(ms) => Ok(*ms),
            _ => Err(Misfit::Kind),
        }
    }

    fn to_bytes(&self) -> Result<u64, Misfit> {
        match self {
            Self::Size(bytes) => Ok(*bytes),
            _ => Err(Misfit::Kind),
        }
    }

    fn to_compression(&self) -> Result<Compression, Misfit> {
        match self {
            Self::Compression(compression) => Ok(*compression),
            _ => Err(Misfit::Kind),
        }
    }

    fn to_link(&self) -> Result<Option<Box<NamedLink>>, Misfit> {
        match self {
            Self::Link(link) => Ok(link.clone()),
            _ => Err(Misfit::Kind),
        }
    }

    fn to_flag(&self) -> Result<bool, Misfit> {
        match self {
            Self::Flag(flag) => Ok(*flag),
            _ => Err(Misfit::Kind),
        }
    }
}

impl Misfit {
    /// The message about a setting with this key.
    pub(crate) fn of(self, word: &str) -> String {
        match self {
            Self::Absent(why) => format!("\"{word}\" {why}"),
            Self::Refused(why) => why.to_owned(),
            Self::Kind => format!("\"{word}\" does not accept this kind of value"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stack(name) => f.write_str(name),
            Self::Word(word) => f.write_str(word),
            Self::Compression(value) => value.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::Rate(number) => number.fmt(f),
            Self::Ramp(parts) => f.write_str(&format_ramp(parts)),
            Self::Time(ms) => f.write_str(&format_time(*ms)),
            Self::Plain(word) => f.write_str(word),
            Self::Size(bytes) => f.write_str(&format_size(*bytes)),
            Self::Link(link) => f.write_str(link.as_ref().map_or(LOOPBACK, |link| &*link.name)),
            Self::Flag(flag) => flag.fmt(f),
        }
    }
}

impl Features {
    /// The first feature that `settings` need from a stack in a role and that the stack lacks: the setting, and the
    /// rest of a sentence that begins with the stack.
    pub(crate) fn missing_feature(
        &self,
        role: Role,
        settings: &Settings,
    ) -> Option<(Option<Key>, String)> {
        if let Some(lack) = missing(&self.roles, role) {
            return Some((None, lack));
        }
        for row in &SETTINGS {
            if let Some(lack) = (row.missing_feature)(settings, self, role) {
                return Some((Some(row.key), lack));
            }
        }
        let lack = missing(&self.workloads, settings.target.workload()?.into())?;
        Some((None, lack))
    }
}

impl Settings {
    /// Checks every setting of a plan against the bounds for studies. The times of a live service are exempt: a
    /// deadline may be short, and a search or a ramp longer than a day.
    pub(crate) fn check(&self) -> Result<(), String> {
        let is_live = matches!(self.target, Target::Live(_));
        let values = SETTINGS.iter().map(|row| (row, row.value(self)));
        for (row, value) in values {
            match value {
                Some(Value::Time(ms)) if is_live && ms > 0 => {}
                Some(value) => row.check(&value)?,
                None => {}
            }
        }
        Ok(())
    }

    /// These settings in words, by column, in the table's order. A column is empty if no setting has anything to show.
    pub fn columns(&self) -> Vec<(&'static str, String)> {
        let mut columns = vec![(CALLS, self.target.called())];
        for row in &SETTINGS {
            let words = row.words(self);
            match columns.iter_mut().find(|(name, _)| *name == row.column) {
                None => columns.push((row.column, words)),
                Some((_, cell)) if cell.is_empty() => *cell = words,
                Some((_, cell)) if !words.is_empty() => *cell += &format!(" {words}"),
                Some(_) => {}
            }
        }
        columns
    }

    /// The first column: what is called, and by what.
    pub fn called(&self) -> String {
        self.columns().swap_remove(0).1
    }

    /// How calls are made, in one line: every column except what is called and when a trial ends.
    pub fn how(&self) -> String {
        let mut columns = self.columns();
        columns.retain(|(name, words)| ![CALLS, UNTIL].contains(name) && !words.is_empty());
        let says = |(name, words): (&str, String)| match name {
            LINK | DEADLINE => format!("{name} {words}"),
            _ => words,
        };
        let how: Vec<String> = columns.into_iter().map(says).collect();
        how.join(", ")
    }

    /// Every setting that applies, with its value. Conflicting settings are left out, so that one table of a study can
    /// contain the rest.
    pub fn written(&self) -> impl Iterator<Item = (&'static Setting, Value)> {
        let values = SETTINGS
            .iter()
            .filter_map(|row| Some((row, row.value(self)?)));
        let values: Vec<(&Setting, Value)> = values.collect();
        let all = values.iter().flat_map(|(row, _)| row.conflicts_with);
        let contradicted: Vec<Key> = all.map(|(key, _)| *key).collect();
        let stands = move |(row, _): &(&Setting, Value)| !contradicted.contains(&row.key);
        values.into_iter().filter(stands)
    }
}

impl Target {
    /// What is called: a workload with its size as in `list n=10`, the method's name for a user's
    /// own, or a live service's target.
    pub fn called(&self) -> String {
        match self {
            Self::Call(call) => workload_words(&call.workload),
            Self::Codec(work) => workload_words(&work.workload),
            Self::Live(live) => live.service.url.to_string(),
        }
    }
}

fn workload_words(workload: &WorkloadSpec) -> String {
    match workload {
        WorkloadSpec::Echo { n } => format!("echo n={n}"),
        WorkloadSpec::Hello {} => "hello".to_owned(),
        WorkloadSpec::List { n } => format!("list n={n}"),
        WorkloadSpec::Items {} => "items".to_owned(),
        WorkloadSpec::Records { n } => format!("records n={n}"),
        WorkloadSpec::Profile {} => "profile".to_owned(),
        WorkloadSpec::Followers { n } => format!("followers n={n}"),
        WorkloadSpec::Own(own) => own.method.clone(),
    }
}

/// The message for a stack that lacks `needed`; `None` if the stack has it.
fn missing<T: Named>(has: &[T], needed: T) -> Option<String> {
    let words: Vec<&str> = has.iter().map(|value| value.as_str()).collect();
    (!has.contains(&needed)).then(|| {
        let lacks = format!("has no {} \"{}\"", T::KIND, needed.as_str());
        match &words[..] {
            [] => lacks,
            _ => format!("{lacks} (it has: {})", words.join(", ")),
        }
    })
}
