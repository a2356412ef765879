//! The mapping of generated messages. The build script writes one [`mapped_message!`] for each; the
//! traits here say what the types of its fields do.
//!
//! [`mapped_message!`]: crate::generated

mod collections;

use std::fmt;
use std::marker::PhantomData;

use buffa::{EnumValue, Enumeration, MessageField, ProtoBox};
use serde::de::{DeserializeSeed, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserializer, Serialize, Serializer};

use super::Names;
use super::leaf::{self, Leaf};
use super::memory::Memory;

/// What a message may still take while it is read.
#[derive(Clone, Copy)]
pub(crate) struct Budget<'a> {
    /// Levels of messages that may follow.
    pub(crate) levels: usize,
    /// The memory of all that is read.
    pub(crate) memory: &'a Memory,
}

/// One value: a scalar, an enum's, a message.
pub(crate) trait Element: Sized {
    fn write<S: Serializer>(&self, names: Names, serializer: S) -> Result<S::Ok, S::Error>;

    /// `None` is null.
    fn read<'de, D: Deserializer<'de>>(budget: Budget<'_>, d: D) -> Result<Option<Self>, D::Error>;
}

/// A field of a message.
pub(crate) trait Slot: Sized {
    fn is_set(&self) -> bool;
    fn write<S: Serializer>(&self, names: Names, serializer: S) -> Result<S::Ok, S::Error>;

    /// Null leaves the field as it is.
    fn read<'de, D: Deserializer<'de>>(&mut self, budget: Budget<'_>, d: D)
    -> Result<(), D::Error>;
}

/// A message's fields, by their place in the .proto file.
pub(crate) trait Fields: Default {
    const TYPE_NAME: &'static str;

    /// The place of the field with this name of either kind; at most 63.
    fn place(key: &str) -> Option<u32>;
    fn write<S: Serializer>(&self, names: Names, serializer: S) -> Result<S::Ok, S::Error>;
    fn read_field<'de, A: MapAccess<'de>>(
        &mut self,
        place: u32,
        budget: Budget<'_>,
        map: &mut A,
    ) -> Result<(), A::Error>;
}

/// Writes one element; what a serializer wants in place of the element itself.
pub(crate) struct WriteElement<'a, T>(pub(crate) &'a T, pub(crate) Names);

impl<T: Element> Serialize for WriteElement<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(self.1, serializer)
    }
}

/// Reads one element.
pub(crate) struct ReadElement<'a, T> {
    budget: Budget<'a>,
    element: PhantomData<T>,
}

impl<'a, T> ReadElement<'a, T> {
    pub(crate) const fn new(budget: Budget<'a>) -> Self {
        Self {
            budget,
            element: PhantomData,
        }
    }
}

impl<'de, T: Element> DeserializeSeed<'de> for ReadElement<'_, T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        T::read(self.budget, deserializer)
    }
}

/// Writes one field.
pub(crate) struct WriteSlot<'a, T>(pub(crate) &'a T, pub(crate) Names);

impl<T: Slot> Serialize for WriteSlot<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(self.1, serializer)
    }
}

/// Reads one field.
pub(crate) struct ReadSlot<'a, T>(pub(crate) &'a mut T, pub(crate) Budget<'a>);

impl<'de, T: Slot> DeserializeSeed<'de> for ReadSlot<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.read(self.1, deserializer)
    }
}

/// Reads a message for [`Element::read`].
pub(crate) fn read_message<'de, M: Fields, D: Deserializer<'de>>(
    budget: Budget<'_>,
    deserializer: D,
) -> Result<Option<M>, D::Error> {
    let levels = budget
        .levels
        .checked_sub(1)
        .ok_or_else(|| D::Error::custom("it nests too deep"))?;
    deserializer.deserialize_any(ReadMessage {
        budget: Budget { levels, ..budget },
        message: PhantomData,
    })
}

struct ReadMessage<'a, M> {
    budget: Budget<'a>,
    message: PhantomData<M>,
}

impl<'de, M: Fields> Visitor<'de> for ReadMessage<'_, M> {
    type Value = Option<M>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object of {}", M::TYPE_NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<M>, A::Error> {
        let mut message = M::default();
        let mut seen = 0u64;
        while let Some(place) = map.next_key_seed(Place::<M>(PhantomData))? {
            let bit = 1u64 << place;
            if seen & bit != 0 {
                return Err(A::Error::custom("a field is there twice"));
            }
            seen |= bit;
            message.read_field(place, self.budget, &mut map)?;
        }
        Ok(Some(message))
    }

    fn visit_unit<E>(self) -> Result<Option<M>, E> {
        Ok(None)
    }

    fn visit_none<E>(self) -> Result<Option<M>, E> {
        Ok(None)
    }
}

/// A key of an object, as the place of its field.
struct Place<M>(PhantomData<M>);

impl<'de, M: Fields> DeserializeSeed<'de> for Place<M> {
    type Value = u32;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u32, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<M: Fields> Visitor<'_> for Place<M> {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a field of {}", M::TYPE_NAME)
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<u32, E> {
        M::place(key).ok_or_else(|| E::invalid_value(Unexpected::Str(key), &self))
    }
}

macro_rules! leaf_fields {
    ($($type:ty: $set:expr),* $(,)?) => {$(
        impl Element for $type {
            fn write<S: Serializer>(&self, _: Names, serializer: S) -> Result<S::Ok, S::Error> {
                Leaf::write(self, serializer)
            }

            fn read<'de, D: Deserializer<'de>>(_: Budget<'_>, d: D) -> Result<Option<Self>, D::Error> {
                leaf::read(d)
            }
        }

        impl Slot for $type {
            fn is_set(&self) -> bool {
                let is_set: fn(&Self) -> bool = $set;
                is_set(self)
            }

            fn write<S: Serializer>(&self, _: Names, serializer: S) -> Result<S::Ok, S::Error> {
                Leaf::write(self, serializer)
            }

            fn read<'de, D: Deserializer<'de>>(&mut self, _: Budget<'_>, d: D) -> Result<(), D::Error> {
                if let Some(value) = leaf::read(d)? {
                    *self = value;
                }
                Ok(())
            }
        }
    )*};
}

leaf_fields! {
    bool: |v| *v,
    i32: |v| *v != 0,
    i64: |v| *v != 0,
    u32: |v| *v != 0,
    u64: |v| *v != 0,
    // Negative zero is not the default.
    f32: |v| v.to_bits() != 0,
    f64: |v| v.to_bits() != 0,
    String: |v| !v.is_empty(),
    Vec<u8>: |v| !v.is_empty(),
}

impl<E: Enumeration> Element for EnumValue<E> {
    fn write<S: Serializer>(&self, _: Names, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(value) => serializer.serialize_str(value.proto_name()),
            Self::Unknown(number) => serializer.serialize_i32(*number),
        }
    }

    fn read<'de, D: Deserializer<'de>>(_: Budget<'_>, d: D) -> Result<Option<Self>, D::Error> {
        d.deserialize_any(ReadEnum(PhantomData))
    }
}

impl<E: Enumeration> Slot for EnumValue<E> {
    fn is_set(&self) -> bool {
        self.to_i32() != 0
    }

    fn write<S: Serializer>(&self, names: Names, serializer: S) -> Result<S::Ok, S::Error> {
        Element::write(self, names, serializer)
    }

    fn read<'de, D: Deserializer<'de>>(
        &mut self,
        budget: Budget<'_>,
        d: D,
    ) -> Result<(), D::Error> {
        if let Some(value) = Element::read(budget, d)? {
            *self = value;
        }
        Ok(())
    }
}

struct ReadEnum<E>(PhantomData<E>);

impl<E: Enumeration> Visitor<'_> for ReadEnum<E> {
    type Value = Option<EnumValue<E>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an enum's name or number")
    }

    fn visit_str<Er: Error>(self, name: &str) -> Result<Self::Value, Er> {
        E::from_proto_name(name)
            .map(|value| Some(EnumValue::Known(value)))
            .ok_or_else(|| Er::invalid_value(Unexpected::Str(name), &self))
    }

    fn visit_i64<Er: Error>(self, number: i64) -> Result<Self::Value, Er> {
        i32::try_from(number)
            .map(|number| Some(EnumValue::from(number)))
            .map_err(|_| Er::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_u64<Er: Error>(self, number: u64) -> Result<Self::Value, Er> {
        i32::try_from(number)
            .map(|number| Some(EnumValue::from(number)))
            .map_err(|_| Er::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_unit<Er>(self) -> Result<Self::Value, Er> {
        Ok(None)
    }

    fn visit_none<Er>(self) -> Result<Self::Value, Er> {
        Ok(None)
    }
}

impl<T: Element> Slot for Option<T> {
    fn is_set(&self) -> bool {
        self.is_some()
    }

    fn write<S: Serializer>(&self, names: Names, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => value.write(names, serializer),
            None => serializer.serialize_none(),
        }
    }

    fn read<'de, D: Deserializer<'de>>(
        &mut self,
        budget: Budget<'_>,
        d: D,
    ) -> Result<(), D::Error> {
        *self = T::read(budget, d)?;
        Ok(())
    }
}

impl<T: Element + Default, P: ProtoBox<T>> Slot for MessageField<T, P> {
    fn is_set(&self) -> bool {
        MessageField::is_set(self)
    }

    fn write<S: Serializer>(&self, names: Names, serializer: S) -> Result<S::Ok, S::Error> {
        match self.as_option() {
            Some(value) => value.write(names, serializer),
            None => serializer.serialize_none(),
        }
    }

    fn read<'de, D: Deserializer<'de>>(
        &mut self,
        budget: Budget<'_>,
        d: D,
    ) -> Result<(), D::Error> {
        let value: Option<T> = T::read(budget, d)?;
        if value.is_some() {
            budget.memory.take(size_of::<T>())?;
        }
        *self = value.into();
        Ok(())
    }
}
