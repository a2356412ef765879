//! The units in which the values of links are written. A value is always written with its unit, and is formatted in
//! one way only.

use rpcgauge_trial::Queue;
use serde::Deserialize;

use crate::words::{format_number, format_size, parse_size};

const RATES: [(&str, f64); 3] = [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)];
const DELAYS: [(&str, f64); 3] = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];

/// A rate, bit/s.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Rate(pub(super) u64);

/// A delay, ns.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Delay(pub(super) u64);

/// A fraction from 0 to 1, written as a percentage.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Percent(pub(super) f64);

/// A queue's length, as bytes or as time.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct QueueWritten(pub(super) Queue);

impl TryFrom<String> for Rate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        scaled(&text, &RATES).map(Self).ok_or_else(|| {
            format!("\"{text}\" is not a valid rate; write it as 750kbit/s, 100Mbit/s or 1Gbit/s")
        })
    }
}

impl TryFrom<String> for Delay {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        scaled(&text, &DELAYS).map(Self).ok_or_else(|| {
            format!("\"{text}\" is not a valid delay; write it as 900us, 0.9ms or 25ms")
        })
    }
}

impl TryFrom<String> for Percent {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = text.strip_suffix('%').and_then(number);
        let part = number.map(|percent| percent / 100.0);
        part.map(Self)
            .ok_or_else(|| format!("\"{text}\" is not a valid percentage; write it as 1% or 0.1%"))
    }
}

impl TryFrom<String> for QueueWritten {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bytes = parse_size(&text).ok().map(Queue::Bytes);
        let queue = bytes.or_else(|| scaled(&text, &DELAYS).map(Queue::Time));
        queue
            .map(Self)
            .ok_or_else(|| format!("\"{text}\" is not a valid queue; write it as 64KiB or 30ms"))
    }
}

/// Parses a number without a sign or an exponent.
fn number(text: &str) -> Option<f64> {
    let is_plain = |c: char| c.is_ascii_digit() || c == '.';
    let number: f64 = text.chars().all(is_plain).then(|| text.parse().ok())??;
    number.is_finite().then_some(number)
}

/// Parses a number with one of these units, and rounds it to a whole number of ns or bit/s. Returns `None` if the unit
/// is missing or unknown, or the number is too large.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (digits, unit) = text.split_at(unit);
    let (_, each) = units.iter().find(|(word, _)| *word == unit)?;
    let value = (number(digits)? * each).round();
    (value < 1e18).then_some(value as u64)
}

fn word(value: u64, units: &[(&str, f64)]) -> String {
    let value = value as f64;
    let fitting = units.iter().find(|(_, each)| value >= *each);
    let smallest = &units[units.len() - 1];
    let (word, each) = fitting.unwrap_or(smallest);
    format!("{}{word}", format_number(value / each))
}

/// Formats a rate as written in studies.
pub fn format_rate(bits_per_second: u64) -> String {
    word(bits_per_second, &RATES)
}

/// Formats a delay as written in studies.
pub fn format_delay(ns: u64) -> String {
    word(ns, &DELAYS)
}

/// Formats a fraction as written in studies.
pub fn format_loss(part: f64) -> String {
    // Rounded to what a person would have written, without floating-point noise.
    format!("{}%", format_number((part * 1e10).round() / 1e8))
}

pub(super) fn format_queue(queue: Queue) -> String {
    match queue {
        Queue::Bytes(bytes) => format_size(bytes),
        Queue::Time(ns) => format_delay(ns),
    }
}
