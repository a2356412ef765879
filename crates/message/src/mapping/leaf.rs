//! The forms of single values: numbers, booleans, text, bytes and enums.

use std::fmt;
use std::marker::PhantomData;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserializer, Serializer};

/// A single value's forms.
pub(crate) trait Leaf: Sized {
    /// What is wanted, for error messages.
    const WANTED: &'static str;

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    fn from_bool(_value: bool) -> Option<Self> {
        None
    }
    fn from_integer(_value: i128) -> Option<Self> {
        None
    }
    /// A float; `readable` says that it came from JSON.
    fn from_float(_value: f64, _readable: bool) -> Option<Self> {
        None
    }
    /// Text; `readable` says that it came from JSON.
    fn from_text(_value: &str, _readable: bool) -> Option<Self> {
        None
    }
    /// Text that need not be copied.
    fn from_string(value: String, readable: bool) -> Result<Self, String> {
        Self::from_text(&value, readable).ok_or(value)
    }
    fn from_bytes(_value: &[u8]) -> Option<Self> {
        None
    }
}

/// Reads a value; `None` is null, which in all formats means "not there".
pub(crate) fn read<'de, L: Leaf, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<L>, D::Error> {
    let readable = deserializer.is_human_readable();
    deserializer.deserialize_any(LeafVisitor {
        readable,
        leaf: PhantomData,
    })
}

struct LeafVisitor<L> {
    readable: bool,
    leaf: PhantomData<L>,
}

impl<L: Leaf> LeafVisitor<L> {
    fn integer<E: de::Error>(&self, value: i128, shown: Unexpected<'_>) -> Result<Option<L>, E> {
        L::from_integer(value)
            .map(Some)
            .ok_or_else(|| E::invalid_value(shown, &L::WANTED))
    }
}

impl<L: Leaf> Visitor<'_> for LeafVisitor<L> {
    type Value = Option<L>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(L::WANTED)
    }

    fn visit_bool<E: de::Error>(self, v: bool) -> Result<Self::Value, E> {
        L::from_bool(v)
            .map(Some)
            .ok_or_else(|| E::invalid_type(Unexpected::Bool(v), &L::WANTED))
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<Self::Value, E> {
        self.integer(v.into(), Unexpected::Signed(v))
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Self::Value, E> {
        self.integer(v.into(), Unexpected::Unsigned(v))
    }

    fn visit_i128<E: de::Error>(self, v: i128) -> Result<Self::Value, E> {
        self.integer(v, Unexpected::Other("integer of over 64 bits"))
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Self::Value, E> {
        L::from_float(v, self.readable)
            .map(Some)
            .ok_or_else(|| E::invalid_value(Unexpected::Float(v), &L::WANTED))
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<Self::Value, E> {
        L::from_text(v, self.readable)
            .map(Some)
            .ok_or_else(|| E::invalid_value(Unexpected::Str(v), &L::WANTED))
    }

    fn visit_string<E: de::Error>(self, v: String) -> Result<Self::Value, E> {
        L::from_string(v, self.readable)
            .map(Some)
            .map_err(|v| E::invalid_value(Unexpected::Str(&v), &L::WANTED))
    }

    fn visit_bytes<E: de::Error>(self, v: &[u8]) -> Result<Self::Value, E> {
        L::from_bytes(v)
            .map(Some)
            .ok_or_else(|| E::invalid_type(Unexpected::Bytes(v), &L::WANTED))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// A whole number in a float that holds it exactly. Above 2^53 neighbours share a float. A float
/// from JSON is only the nearest to what was written: from 2^50 on, a tenth no longer shows in it.
fn whole(value: f64, readable: bool) -> Option<i128> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    const TENTHS: f64 = (1_u64 << 50) as f64;
    let is_exact = match readable {
        true => value.abs() < TENTHS,
        false => value.abs() <= EXACT,
    };
    (value.fract() == 0.0 && is_exact).then_some(value as i128)
}

/// A whole number with a fraction or an exponent, in JSON's grammar, read digit by digit.
fn whole_from_text(text: &str) -> Option<i128> {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse().ok()?),
        None => (text, 0_i64),
    };
    let (units, fraction) = match number.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (number, ""),
    };
    let digits = format!("{}{fraction}", units.strip_prefix('-').unwrap_or(units));
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let zeros = digits.len() - significant.len();
    // Below zero, a part of a unit is left.
    let power = exponent
        .checked_add(zeros as i64)?
        .checked_sub(fraction.len() as i64)?;
    let size = 10_i128
        .checked_pow(u32::try_from(power).ok()?)?
        .checked_mul(significant.parse().ok()?)?;
    Some(if units.starts_with('-') { -size } else { size })
}

/// A decimal integer as text. The proto3 JSON mapping also has `1e3` and `1.0`.
fn integer_from_text(text: &str) -> Option<i128> {
    // What Rust's parsers take beyond JSON's number grammar: a plus sign, `inf`, blanks they refuse.
    let first = text.bytes().find(|b| *b != b'-')?;
    if !first.is_ascii_digit() {
        return None;
    }
    text.parse().ok().or_else(|| whole_from_text(text))
}

macro_rules! integer_leaf {
    ($type:ty, $wanted:literal, wide = $wide:literal) => {
        impl Leaf for $type {
            const WANTED: &'static str = $wanted;

            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if $wide && serializer.is_human_readable() {
                    // JSON numbers are doubles to many readers, so 64 bits go as text.
                    serializer.collect_str(self)
                } else {
                    serde::Serialize::serialize(self, serializer)
                }
            }

            fn from_integer(value: i128) -> Option<Self> {
                value.try_into().ok()
            }

            fn from_float(value: f64, readable: bool) -> Option<Self> {
                Self::from_integer(whole(value, readable)?)
            }

            fn from_text(value: &str, readable: bool) -> Option<Self> {
                Self::from_integer(readable.then(|| integer_from_text(value))??)
            }
        }
    };
}

integer_leaf!(
    i32,
    "an integer from -2147483648 to 2147483647",
    wide = false
);
integer_leaf!(u32, "an integer from 0 to 4294967295", wide = false);
integer_leaf!(
    i64,
    "an integer from -9223372036854775808 to 9223372036854775807",
    wide = true
);
integer_leaf!(
    u64,
    "an integer from 0 to 18446744073709551615",
    wide = true
);

macro_rules! float_leaf {
    ($type:ty, $wanted:literal) => {
        impl Leaf for $type {
            const WANTED: &'static str = $wanted;

            fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if self.is_finite() || !serializer.is_human_readable() {
                    serde::Serialize::serialize(self, serializer)
                } else if self.is_nan() {
                    serializer.serialize_str("NaN")
                } else {
                    serializer.serialize_str(if *self > 0.0 { "Infinity" } else { "-Infinity" })
                }
            }

            fn from_integer(value: i128) -> Option<Self> {
                Some(value as Self)
            }

            fn from_float(value: f64, _readable: bool) -> Option<Self> {
                let narrowed = value as Self;
                (narrowed.is_finite() || !value.is_finite()).then_some(narrowed)
            }

            fn from_text(value: &str, readable: bool) -> Option<Self> {
                match value {
                    _ if !readable => None,
                    "NaN" => Some(Self::NAN),
                    "Infinity" => Some(Self::INFINITY),
                    "-Infinity" => Some(Self::NEG_INFINITY),
                    number => {
                        let first = number.bytes().find(|b| *b != b'-')?;
                        let value: f64 = first.is_ascii_digit().then(|| number.parse().ok())??;
                        value
                            .is_finite()
                            .then(|| Self::from_float(value, readable))?
                    }
                }
            }
        }
    };
}

float_leaf!(
    f32,
    "a number from -3.4028235e38 to 3.4028235e38, \"NaN\", \"Infinity\" or \"-Infinity\""
);
float_leaf!(f64, "a number, \"NaN\", \"Infinity\" or \"-Infinity\"");

impl Leaf for bool {
    const WANTED: &'static str = "true or false";

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(*self)
    }

    fn from_bool(value: bool) -> Option<Self> {
        Some(value)
    }
}

impl Leaf for String {
    const WANTED: &'static str = "a string";

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }

    fn from_text(value: &str, _readable: bool) -> Option<Self> {
        Some(value.to_owned())
    }

    fn from_string(value: String, _readable: bool) -> Result<Self, String> {
        Ok(value)
    }
}

/// Readers of the proto3 JSON mapping take base64 with and without padding.
const ANY_PADDING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, ANY_PADDING);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, ANY_PADDING);

impl Leaf for Vec<u8> {
    const WANTED: &'static str = "bytes (in JSON as base64)";

    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(&base64::display::Base64Display::new(
                self,
                &general_purpose::STANDARD,
            ))
        } else {
            serializer.serialize_bytes(self)
        }
    }

    fn from_text(value: &str, readable: bool) -> Option<Self> {
        if !readable {
            return None;
        }
        // The alphabets differ in two characters.
        let engine = if value.contains(['-', '_']) {
            URL_SAFE
        } else {
            STANDARD
        };
        engine.decode(value).ok()
    }

    fn from_bytes(value: &[u8]) -> Option<Self> {
        Some(value.to_vec())
    }
}
