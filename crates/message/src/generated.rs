//! Generated messages.

mod records;

use std::fmt;

use buffa::MessageName;
use serde::de::{self, DeserializeOwned, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Generated protobuf code for the workloads and for the envelope of the `hybrid` encoding.
#[allow(warnings, clippy::all)]
pub(crate) mod workloads {
    include!(concat!(env!("OUT_DIR"), "/workloads/mod.rs"));
}

/// The workloads' descriptor set: their compiled .proto files.
pub(crate) const WORKLOADS_DESCRIPTOR_SET: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/workloads.binpb"));

/// The traits of every generated message.
pub(crate) trait GeneratedMessage:
    buffa::Message + MessageName + Serialize + DeserializeOwned + fmt::Debug + Send + Sync + 'static
{
    /// Returns a form of the message that serde writes with the .proto file's field names.
    fn by_proto_names(&self) -> impl Serialize {
        self
    }
}

/// Types whose JSON names equal their names in the .proto file.
macro_rules! same_names {
    ($($message:ty),* $(,)?) => {$( impl GeneratedMessage for $message {} )*};
}

same_names!(
    workloads::several::SeveralData,
    workloads::hello::HelloRequest,
    workloads::hello::HelloReply,
    workloads::ExampleRequest,
    workloads::ExampleResponse1,
    workloads::ExampleResponse1Array,
    workloads::records::RecordsRequest,
    workloads::GetMemberProfileRequest,
    workloads::GetMemberProfileResponse,
    workloads::GetFollowerRequest,
    workloads::GetFollowerResponse,
);

/// Whether a field has its default value, and is therefore omitted.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// 64-bit integers, written as numbers, and read from numbers and strings.
mod int64 {
    use super::*;

    /// An integer that can be read from either form.
    struct Int64(i64);

    impl<'de> Deserialize<'de> for Int64 {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(Both).map(Self)
        }
    }

    struct Both;

    impl Visitor<'_> for Both {
        type Value = i64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a 64-bit integer as a number or a string")
        }

        fn visit_i64<E: de::Error>(self, number: i64) -> Result<i64, E> {
            Ok(number)
        }

        fn visit_u64<E: de::Error>(self, number: u64) -> Result<i64, E> {
            number
                .try_into()
                .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<i64, E> {
            text.parse()
                .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
        }
    }

    pub(super) fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        Int64::deserialize(deserializer).map(|Int64(number)| number)
    }

    pub(super) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<i64>, D::Error> {
        let list = Vec::<Int64>::deserialize(deserializer)?;
        Ok(list.into_iter().map(|Int64(number)| number).collect())
    }
}
