//! The generated messages, behind one trait.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use buffa::MessageName;

use crate::error::{DecodeError, EncodeError};
use crate::format;
use crate::mapping::generated::{Element, Fields};
use crate::{Encoding, Limits};

/// Generated protobuf code of the workloads and of the `hybrid` encoding's envelope.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    dead_code,
    unused_imports,
    non_snake_case
)]
pub(crate) mod workloads {
    include!(concat!(env!("OUT_DIR"), "/workloads/mod.rs"));
}

/// The compiled .proto files of the workloads.
pub(crate) const WORKLOADS_DESCRIPTOR_SET: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/workloads.binpb"));

/// Puts a generated message into the mapping. After the type and its full name, a line for each
/// field: its place, its name in Rust, in JSON and in the .proto file.
macro_rules! mapped_message {
    ($type:path, $name:literal $($place:literal $field:ident $json:literal $proto:literal)*) => {
        impl $crate::mapping::generated::Fields for $type {
            const TYPE_NAME: &'static str = $name;

            #[allow(unreachable_patterns, reason = "a field's two names may be the same")]
            fn place(key: &str) -> Option<u32> {
                match key {
                    $($json | $proto => Some($place),)*
                    _ => None,
                }
            }

            fn write<S: serde::Serializer>(
                &self,
                names: $crate::mapping::Names,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                use $crate::mapping::generated::{Slot, WriteSlot};
                let set = 0 $(+ usize::from(Slot::is_set(&self.$field)))*;
                let mut map = serde::Serializer::serialize_map(serializer, Some(set))?;
                $(
                    if Slot::is_set(&self.$field) {
                        let slot = WriteSlot(&self.$field, names);
                        serde::ser::SerializeMap::serialize_entry(
                            &mut map,
                            names.pick($json, $proto),
                            &slot,
                        )?;
                    }
                )*
                serde::ser::SerializeMap::end(map)
            }

            fn read_field<'de, A: serde::de::MapAccess<'de>>(
                &mut self,
                place: u32,
                budget: $crate::mapping::generated::Budget<'_>,
                map: &mut A,
            ) -> Result<(), A::Error> {
                use $crate::mapping::generated::ReadSlot;
                match place {
                    $($place => map.next_value_seed(ReadSlot(&mut self.$field, budget)),)*
                    _ => Ok(()),
                }
            }
        }

        impl $crate::mapping::generated::Element for $type {
            fn write<S: serde::Serializer>(
                &self,
                names: $crate::mapping::Names,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                $crate::mapping::generated::Fields::write(self, names, serializer)
            }

            fn read<'de, D: serde::Deserializer<'de>>(
                budget: $crate::mapping::generated::Budget<'_>,
                deserializer: D,
            ) -> Result<Option<Self>, D::Error> {
                $crate::mapping::generated::read_message(budget, deserializer)
            }
        }
    };
}
#[cfg(test)]
pub(crate) use mapped_message;

mod mapping {
    use super::workloads::*;
    include!(concat!(env!("OUT_DIR"), "/workloads/mapping.rs"));
}

/// A generated message of any type.
pub(crate) trait Generated: fmt::Debug + Send + Sync {
    fn encode(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), EncodeError>;
    fn as_any(&self) -> &dyn Any;
}

/// What the code of one generated type can do.
#[derive(Clone, Copy)]
pub(crate) struct GeneratedType {
    pub(crate) full_name: &'static str,
    pub(crate) decode: DecodeFn,
    pub(crate) empty: fn() -> Arc<dyn Generated>,
}

type DecodeFn = fn(&[u8], Encoding, &Limits) -> Result<Arc<dyn Generated>, DecodeError>;

impl fmt::Debug for GeneratedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GeneratedType({})", self.full_name)
    }
}

impl GeneratedType {
    pub(crate) const fn of<M: GeneratedMessage>() -> Self {
        Self {
            full_name: M::FULL_NAME,
            decode: |bytes, encoding, limits| {
                Ok(Arc::new(format::decode_generated::<M>(
                    bytes, encoding, limits,
                )?))
            },
            empty: || Arc::new(M::default()),
        }
    }
}

/// What a type needs to be a generated message.
pub(crate) trait GeneratedMessage:
    buffa::Message + MessageName + Element + Fields + fmt::Debug + Send + Sync + 'static
{
}

impl<M> GeneratedMessage for M where
    M: buffa::Message + MessageName + Element + Fields + fmt::Debug + Send + Sync + 'static
{
}

impl<M: GeneratedMessage> Generated for M {
    fn encode(&self, encoding: Encoding, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        format::encode_generated(self, encoding, out)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
