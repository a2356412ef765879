//! Between a format and the library that reads messages from it. The library has no
//! limits, and its errors have no path. The guard passes everything on, and meanwhile counts levels
//! and memory, keeps the path to an error, and gives map keys and bytes the forms that the library
//! takes. The path costs nothing until it is needed: it is put together from the inside
//! out while an error, or a value that is set aside, is on its way up.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use buffa_descriptor::Value;
use serde::de::value::CowStrDeserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use super::memory::Memory;
use crate::limits::{BrokenLimit, Limits};
use crate::path::Step;

/// Bytes that the library did not see.
pub(crate) struct Aside {
    /// Where they belong; from the innermost step outwards while they are on their way up.
    pub(crate) path: Vec<Step<'static>>,
    pub(crate) bytes: Vec<u8>,
}

/// Memory that bytes set aside take besides themselves: a vector begins with room for four.
const ASIDE_MEMORY: usize = size_of::<Aside>() + 4 * size_of::<Step<'static>>();

/// Where an error is; from the innermost step outwards while it is on its way up.
#[derive(Default)]
pub(crate) struct Fault {
    pub(crate) path: Vec<Step<'static>>,
    /// What was said there first.
    pub(crate) said: Option<String>,
    /// The single value that was refused, if it was one: "integer `7`".
    pub(crate) value: Option<String>,
}

/// What is known of a message while it is read.
pub(crate) struct Watch {
    levels_left: Cell<usize>,
    max_depth: usize,
    too_deep: Cell<bool>,
    memory: Memory,
    fault: RefCell<Fault>,
    /// Whether bytes are given to the library as base64, which is all that it reads.
    bytes_as_text: bool,
    aside: RefCell<Vec<Aside>>,
}

impl Watch {
    /// Bytes are set aside, unless `bytes_as_text`.
    pub(crate) fn new(limits: &Limits, bytes_as_text: bool) -> Self {
        Self {
            levels_left: Cell::new(limits.max_depth),
            max_depth: limits.max_depth,
            too_deep: Cell::new(false),
            memory: Memory::new(limits),
            fault: RefCell::default(),
            bytes_as_text,
            aside: RefCell::default(),
        }
    }

    /// What `seed` reads, watched.
    pub(crate) fn over<S>(&self, seed: S) -> Watched<'_, S> {
        Watched {
            inner: seed,
            watch: self,
            in_list: false,
        }
    }

    /// The limit that was broken, if that was it.
    pub(crate) fn broken(&self) -> Option<BrokenLimit> {
        match self.too_deep.get() {
            true => Some(BrokenLimit::Depth(self.max_depth)),
            false => self.memory.broken(),
        }
    }

    /// What is known of the error.
    pub(crate) fn into_fault(self) -> Fault {
        let mut fault = self.fault.into_inner();
        fault.path.reverse();
        fault
    }

    /// The bytes that the library did not see, in the order of the message.
    pub(crate) fn into_aside(self) -> Vec<Aside> {
        let mut aside = self.aside.into_inner();
        aside.iter_mut().for_each(|one| one.path.reverse());
        aside
    }

    /// Goes one level deeper, within the limit.
    fn enter<E: Error>(&self) -> Result<(), E> {
        let Some(left) = self.levels_left.get().checked_sub(1) else {
            self.too_deep.set(true);
            return Err(E::custom(BrokenLimit::Depth(self.max_depth)));
        };
        self.levels_left.set(left);
        Ok(())
    }

    fn leave(&self) {
        self.levels_left.set(self.levels_left.get() + 1);
    }

    /// How much is set aside.
    fn kept(&self) -> usize {
        self.aside.borrow().len()
    }

    /// Notes a single value that was refused.
    fn judged<T, E>(&self, read: Result<T, E>, value: Unexpected<'_>) -> Result<T, E> {
        if read.is_err() {
            self.fault.borrow_mut().value = Some(value.to_string());
        }
        read
    }

    /// Notes the step for what came up from under it: an error, or what was set aside since then.
    fn passed<E: Error>(
        &self,
        kept: usize,
        error: Option<&E>,
        step: impl FnOnce() -> Step<'static>,
    ) {
        if let Some(error) = error {
            let fault = &mut *self.fault.borrow_mut();
            fault.said.get_or_insert_with(|| error.to_string());
            fault.path.push(step());
        } else if let Some(new @ [_, ..]) = self.aside.borrow_mut().get_mut(kept..) {
            let step = step();
            new.iter_mut().for_each(|one| one.path.push(step.clone()));
        }
    }
}

/// A part of serde's reading, with the watch over it: a seed, a deserializer, a visitor, or the
/// elements of a list.
#[derive(Clone, Copy)]
pub(crate) struct Watched<'w, T> {
    inner: T,
    watch: &'w Watch,
    /// Whether it is an element of a list: a list in a list is a level, as an object is.
    in_list: bool,
}

impl<'w, T> Watched<'w, T> {
    fn with<U>(&self, inner: U) -> Watched<'w, U> {
        Watched {
            inner,
            watch: self.watch,
            in_list: self.in_list,
        }
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Watched<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.deserialize(deserializer)
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Watched<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_option(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_map(visitor)
    }

    // All three formats say what comes.
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct struct enum identifier ignored_any
    }
}

/// Single values: each is passed on, and noted where it is refused.
macro_rules! visit {
    ($($visit:ident($value:ty) as $unexpected:ident,)*) => {$(
        fn $visit<E: Error>(self, v: $value) -> Result<V::Value, E> {
            self.watch.judged(self.inner.$visit(v), Unexpected::$unexpected(v))
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Watched<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool(bool) as Bool,
        visit_i64(i64) as Signed,
        visit_u64(u64) as Unsigned,
        visit_str(&str) as Str,
        visit_borrowed_str(&'de str) as Str,
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<V::Value, E> {
        let read = match v {
            // A payload of an `Any` is kept as JSON for a while, which has no such numbers.
            _ if v.is_finite() || !self.watch.bytes_as_text => self.inner.visit_f64(v),
            f64::INFINITY => self.inner.visit_str("Infinity"),
            f64::NEG_INFINITY => self.inner.visit_str("-Infinity"),
            _ => self.inner.visit_str("NaN"),
        };
        self.watch.judged(read, Unexpected::Float(v))
    }

    fn visit_bytes<E: Error>(self, v: &[u8]) -> Result<V::Value, E> {
        if self.watch.bytes_as_text {
            return self.inner.visit_string(STANDARD.encode(v));
        }
        self.watch.memory.take(ASIDE_MEMORY)?;
        self.watch.aside.borrow_mut().push(Aside {
            path: Vec::new(),
            bytes: v.to_vec(),
        });
        self.inner.visit_str("")
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.visit_some(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        let watch = self.watch;
        let items = Items {
            inner: seq,
            watch,
            next: 0,
        };
        if !self.in_list {
            return self.inner.visit_seq(items);
        }
        watch.enter()?;
        let result = self.inner.visit_seq(items);
        watch.leave();
        result
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let watch = self.watch;
        let entries = Entries {
            inner: map,
            watch,
            read: 0,
            key: Cow::Borrowed(""),
        };
        watch.enter()?;
        let result = self.inner.visit_map(entries);
        watch.leave();
        result
    }
}

/// The elements of a list.
struct Items<'w, A> {
    inner: A,
    watch: &'w Watch,
    next: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Items<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let index = self.next;
        self.next += 1;
        let seed = Watched {
            in_list: true,
            ..self.watch.over(seed)
        };
        let kept = self.watch.kept();
        let result = self.inner.next_element_seed(seed);
        self.watch
            .passed(kept, result.as_ref().err(), || Step::Index(index));
        if let Ok(Some(_)) = &result {
            self.watch.memory.take(size_of::<Value>())?;
        }
        result
    }
}

/// The entries of an object: a message's fields, or a map's.
struct Entries<'w, 'de, A> {
    inner: A,
    watch: &'w Watch,
    read: usize,
    key: Cow<'de, str>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let Some(key) = self.inner.next_key_seed(AnyKey)? else {
            return Ok(None);
        };
        // A message's fields are such a tree; a map is a list that takes less.
        self.watch
            .memory
            .take_entry::<(u32, Value), A::Error>(self.read)?;
        self.read += 1;
        self.key = key.clone();
        seed.deserialize(CowStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.watch.over(seed);
        let kept = self.watch.kept();
        let result = self.inner.next_value_seed(seed);
        self.watch.passed(kept, result.as_ref().err(), || {
            Step::Name(Cow::Owned(self.key.to_string()))
        });
        result
    }
}

/// A key of any kind, as the text that it is in JSON.
struct AnyKey;

impl<'de> DeserializeSeed<'de> for AnyKey {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyKey {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is text, an integer, true or false")
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(if v { "true" } else { "false" }))
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_string()))
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_string()))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_owned()))
    }

    fn visit_borrowed_str<E: Error>(self, v: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(v))
    }

    fn visit_string<E: Error>(self, v: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v))
    }
}
