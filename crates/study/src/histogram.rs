//! A histogram as it stands in a record.

use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Serialize};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Values with three significant digits, as an HDR histogram.
///
/// Written as the standard base64 of HdrHistogram's compressed V2 format, so that other tools can
/// read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram(pub Hdr<u64>);

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.0, &mut bytes)
            .map_err(S::Error::custom)?;
        serializer.serialize_str(&STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
        Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map(Self)
            .map_err(D::Error::custom)
    }
}
