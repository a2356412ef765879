//! The encodings of messages.

use std::fmt;
use std::str::FromStr;

use crate::nearest::Nearest;

/// Implements serde's traits for a type that is written to files in its `Display` form.
macro_rules! serde_as_text {
    ($text:ty) => {
        impl serde::Serialize for $text {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $text {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;

/// How a message becomes bytes, in any protocol. `docs/encodings.md` describes the mappings.
///
/// Written by name in files and on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(with = "String")
)]
pub enum Encoding {
    /// The protobuf binary format.
    Protobuf,
    /// JSON as an application without protobuf writes it: lowerCamelCase names, and 64-bit integers as numbers.
    Json,
    /// JSON with the field names as written in the .proto file.
    JsonProtoNames,
    /// The proto3 JSON mapping: like [`Encoding::Json`], but with 64-bit integers as strings.
    ProtoJson,
    /// MessagePack, keyed by the JSON names.
    Msgpack,
    /// CBOR (RFC 8949), keyed by the JSON names.
    Cbor,
    /// A JSON string inside a protobuf message (`contract/proto/hybrid.proto`).
    Hybrid,
}

impl Encoding {
    /// Every encoding.
    pub const ALL: [Self; 7] = [
        Self::Protobuf,
        Self::Json,
        Self::JsonProtoNames,
        Self::ProtoJson,
        Self::Msgpack,
        Self::Cbor,
        Self::Hybrid,
    ];

    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Protobuf => "protobuf",
            Self::Json => "json",
            Self::JsonProtoNames => "json-proto-names",
            Self::ProtoJson => "protojson",
            Self::Msgpack => "msgpack",
            Self::Cbor => "cbor",
            Self::Hybrid => "hybrid",
        }
    }

    /// Whether this is a form of JSON. All of them share a content type.
    pub const fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::JsonProtoNames | Self::ProtoJson)
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Text that is not a known encoding or compression. One line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownWord(pub(crate) String);

impl FromStr for Encoding {
    type Err = UnknownWord;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|encoding| encoding.name() == name).ok_or_else(|| {
            let nearest = Nearest::or_known(name, Self::ALL.map(Self::name));
            UnknownWord(format!("unknown encoding \"{name}\"{nearest}"))
        })
    }
}

serde_as_text!(Encoding);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for encoding in Encoding::ALL {
            assert_eq!(encoding.name().parse(), Ok(encoding));
            let json = serde_json::to_string(&encoding).unwrap();
            assert_eq!(json, format!("\"{encoding}\""));
            assert_eq!(serde_json::from_str::<Encoding>(&json).unwrap(), encoding);
        }
    }

    #[test]
    fn a_misspelt_name_is_refused_with_the_nearest() {
        assert_eq!(
            "msgpak".parse::<Encoding>().unwrap_err().to_string(),
            r#"unknown encoding "msgpak"; did you mean "msgpack"?"#
        );
        assert_eq!(
            "xml".parse::<Encoding>().unwrap_err().to_string(),
            "unknown encoding \"xml\"; expected one of protobuf, json, json-proto-names, protojson, \
             msgpack, cbor, hybrid"
        );
    }
}
