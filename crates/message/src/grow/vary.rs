//! Creates a row from another one, by field type.

use std::fmt::LowerExp;
use std::str::FromStr;
use std::sync::Arc;

use buffa_descriptor::{
    DescriptorPool, DynamicMessage, EnumIndex, FieldKind, ReflectMessage as _, SingularKind, Value,
};

use super::{for_each_entry, for_each_field};
use crate::mapping::well_known::WellKnown;
use crate::random::Random;

const SEED: u64 = 14;

/// The average time between two rows, in seconds.
const ROW_SECONDS: i64 = 61;

/// The last second that a `google.protobuf.Timestamp` can represent: the end of the year 9999.
const LAST_SECOND: i64 = 253_402_300_799;

/// Creates new rows by varying existing ones. The size in each encoding stays about the same.
pub(super) struct Vary {
    pool: Arc<DescriptorPool>,
    pub(super) random: Random,
    /// The distance of the new row from the original, in rows.
    pub(super) rows: usize,
}

impl Vary {
    pub(super) fn new(pool: Arc<DescriptorPool>) -> Self {
        Self {
            pool,
            random: Random::new(SEED),
            rows: 0,
        }
    }

    pub(super) fn value(&mut self, kind: FieldKind, value: &mut Value) {
        match (kind, value) {
            (_, Value::Message(message)) => self.message(message),
            (FieldKind::List(kind), Value::List(items)) => items
                .iter_mut()
                .for_each(|item| self.value(FieldKind::Singular(kind), item)),
            (FieldKind::Map { value: kind, .. }, Value::Map(entries)) => {
                for_each_entry(entries, |value| {
                    self.value(FieldKind::Singular(kind), value)
                });
            }
            (FieldKind::Singular(SingularKind::Enum(index)), Value::EnumNumber(number)) => {
                *number = self.enum_value(index, *number);
            }
            (_, Value::Bool(truth)) => *truth = self.random.below(2) == 1,
            (_, Value::I32(number)) => {
                *number = self.signed((*number).into(), i32::MAX as u64) as i32
            }
            (_, Value::I64(number)) => *number = self.signed(*number, i64::MAX as u64),
            (_, Value::U32(number)) => {
                *number = self.counted((*number).into(), u32::MAX.into()) as u32;
            }
            (_, Value::U64(number)) => *number = self.counted(*number, u64::MAX),
            (_, Value::F32(number)) => *number = self.float(*number).unwrap_or(*number),
            (_, Value::F64(number)) => *number = self.float(*number).unwrap_or(*number),
            (_, Value::String(text)) => *text = self.text(text),
            (_, Value::Bytes(bytes)) => bytes
                .iter_mut()
                .for_each(|byte| *byte = self.random.next() as u8),
            _ => {}
        }
    }

    fn message(&mut self, message: &mut DynamicMessage) {
        match WellKnown::of(message.message_descriptor()) {
            // Its paths must name existing fields.
            Some(WellKnown::FieldMask) => {}
            Some(kind @ (WellKnown::Timestamp | WellKnown::Duration)) => self.time(kind, message),
            _ => for_each_field(message, &mut |kind, value| self.value(kind, value)),
        }
    }

    /// Advances a time by some rows, or counts up a duration. Fractions of a second keep their precision.
    fn time(&mut self, kind: WellKnown, message: &mut DynamicMessage) {
        if let Some(Value::I64(seconds)) = message.field_by_number_mut(1) {
            *seconds = match kind {
                WellKnown::Timestamp => {
                    let later = ROW_SECONDS.saturating_mul(self.rows as i64)
                        + self.random.below(ROW_SECONDS as usize) as i64;
                    seconds.saturating_add(later).min(LAST_SECOND)
                }
                _ => self.signed(*seconds, i64::MAX as u64),
            };
        }
        if let Some(Value::I32(nanos)) = message.field_by_number_mut(2) {
            let fine = [1_000_000, 1_000]
                .into_iter()
                .find(|unit| *nanos % unit == 0);
            let unit = fine.unwrap_or(1);
            let units = self.random.below(999_999_999 / unit as usize) as i32 + 1;
            *nanos = units * unit * nanos.signum();
        }
    }

    /// Returns a random value of the enum. Zero stays zero and other values stay nonzero, because zero is not
    /// sent.
    fn enum_value(&mut self, index: EnumIndex, number: i32) -> i32 {
        let values = self.pool.enumeration(index).values();
        let drawn: Vec<i32> = values
            .iter()
            .map(|value| value.number())
            .filter(|value| (*value == 0) == (number == 0))
            .collect();
        let place = self.random.below(drawn.len());
        drawn.get(place).copied().unwrap_or(number)
    }

    fn signed(&self, number: i64, most: u64) -> i64 {
        // `counted` never exceeds `most`, so the cast keeps the sign.
        self.counted(number.unsigned_abs(), most) as i64 * number.signum()
    }

    /// Adds the distance in rows to a number, wrapping around within its number of digits. Zero stays zero
    /// because it is not sent.
    fn counted(&self, number: u64, most: u64) -> u64 {
        let Some(digits) = number.checked_ilog10() else {
            return number;
        };
        let low = 10_u64.pow(digits);
        let count = low.saturating_mul(9).min(most - low + 1);
        let on = u128::from(number - low) + self.rows as u128;
        low + (on % u128::from(count)) as u64
    }

    /// Counts up a float at the last of its shortest digits, as in `8.2e-1`.
    fn float<T: LowerExp + FromStr>(&self, number: T) -> Option<T> {
        let written = format!("{number:e}");
        let (mantissa, exponent) = written.split_once('e')?;
        let (sign, mantissa) = match mantissa.strip_prefix('-') {
            Some(mantissa) => ("-", mantissa),
            None => ("", mantissa),
        };
        let digits = mantissa.replace('.', "");
        let exponent = exponent.parse::<i64>().ok()? - (digits.len() as i64 - 1);
        let number = self.counted(digits.parse().ok()?, u64::MAX);
        format!("{sign}{number}e{exponent}").parse().ok()
    }

    /// Replaces each letter and digit with a random one of the same kind; the length does not change. In text
    /// with digits but no spaces, such as a URL or an order number, words without digits stay.
    pub(super) fn text(&mut self, text: &str) -> String {
        let is_id =
            text.contains(|c: char| c.is_ascii_digit()) && !text.contains(char::is_whitespace);
        let others: Vec<char> = text.chars().filter(|c| !c.is_ascii()).collect();
        let mut out = String::with_capacity(text.len());
        for word in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
            if is_id && !word.contains(|c: char| c.is_ascii_digit()) {
                out.push_str(word);
                continue;
            }
            let mut letters = word.chars().filter(char::is_ascii_alphabetic).peekable();
            let is_hex =
                is_id && letters.peek().is_some() && letters.all(|c| c.is_ascii_hexdigit());
            out.extend(word.chars().map(|c| self.like(c, is_hex, &others)));
        }
        out
    }

    /// Returns a random character of the same kind.
    fn like(&mut self, c: char, is_hex: bool, others: &[char]) -> char {
        let letters = if is_hex { 6 } else { 26 };
        let first = match c {
            '0'..='9' => return (b'0' + self.random.below(10) as u8).into(),
            'a'..='z' => b'a',
            'A'..='Z' => b'A',
            _ if c.is_alphabetic() => {
                let same =
                    |other: &&char| other.len_utf8() == c.len_utf8() && other.is_alphabetic();
                let alike: Vec<&char> = others.iter().filter(same).collect();
                return *alike[self.random.below(alike.len())];
            }
            _ => return c,
        };
        (first + self.random.below(letters) as u8).into()
    }
}
