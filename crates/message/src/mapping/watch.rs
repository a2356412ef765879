//! The state of reading a message: depth, memory, the path to an error, and values that were set aside.
//!
//! The path costs nothing until it is needed. It is built from the inside out while an error or a value that
//! was set aside propagates outward.

use std::cell::{Cell, RefCell};
use std::mem;

use serde::de::{Error, Unexpected};

use crate::limits::{BrokenLimit, Limits};
use crate::path::Step;

/// A value that was set aside because the library cannot read its original form.
pub(crate) struct Aside {
    /// The path to its place. While propagating outward, the path starts with the innermost step.
    pub(crate) path: Vec<Step<'static>>,
    pub(crate) content: Content,
}

/// The original form of a value that was set aside.
pub(crate) enum Content {
    /// Bytes: the library reads them only as base64.
    Bytes(Vec<u8>),
    /// A number that rounds to the largest float. The library would refuse it as out of range, so it reads that
    /// float instead.
    Number(f64),
    /// Text that the library would accept as a float but protobuf does not: "nan", or a number that is out of
    /// range.
    Text(String),
}

impl Aside {
    /// Returns the error for a value that does not fit its place.
    pub(super) fn fault(&mut self) -> Fault {
        let value = match &self.content {
            Content::Bytes(_) => "byte array".to_owned(),
            Content::Number(number) => Unexpected::Float(*number).to_string(),
            Content::Text(text) => Unexpected::Str(text).to_string(),
        };
        Fault {
            path: mem::take(&mut self.path),
            said: None,
            value: Some(value),
        }
    }
}

/// The memory of a value that is set aside, without its content. A vector starts with room for four elements.
const ASIDE_MEMORY: usize = size_of::<Aside>() + 4 * size_of::<Step<'static>>();

/// The maximum number of entries in a `BTreeMap` node.
const NODE: usize = 11;

/// The minimum number of entries in a `BTreeMap` node other than the root.
const FULL_NODE: usize = 5;

/// Where an error is. While propagating outward, the path starts with the innermost step.
#[derive(Default)]
pub(crate) struct Fault {
    pub(crate) path: Vec<Step<'static>>,
    /// The first error message.
    pub(crate) said: Option<String>,
    /// The single value that was refused, if any: "integer `7`".
    pub(crate) value: Option<String>,
}

/// The state of reading a message.
pub(crate) struct Watch {
    levels_left: Cell<usize>,
    max_depth: usize,
    /// The memory left for values beyond their content. Content such as text is bounded by the message's size.
    memory_left: Cell<usize>,
    max_memory: usize,
    broken: Cell<Option<BrokenLimit>>,
    fault: RefCell<Fault>,
    /// Whether to pass bytes to the library as base64, the only form that it can read.
    pub(super) bytes_as_text: bool,
    aside: RefCell<Vec<Aside>>,
}

impl Watch {
    /// Starts watching. Bytes are set aside unless `bytes_as_text`.
    pub(crate) fn new(limits: &Limits, bytes_as_text: bool) -> Self {
        Self {
            levels_left: Cell::new(limits.max_depth),
            max_depth: limits.max_depth,
            memory_left: Cell::new(limits.memory()),
            max_memory: limits.memory(),
            broken: Cell::new(None),
            fault: RefCell::default(),
            bytes_as_text,
            aside: RefCell::default(),
        }
    }

    /// The limit that was exceeded, if that is what caused the error.
    pub(crate) fn broken(&self) -> Option<BrokenLimit> {
        self.broken.get()
    }

    /// Returns the location of the error, with the path starting at the outermost step.
    pub(crate) fn into_fault(self) -> Fault {
        let mut fault = self.fault.into_inner();
        fault.path.reverse();
        fault
    }

    /// Returns the values that were set aside, in message order.
    pub(crate) fn into_aside(self) -> Vec<Aside> {
        let mut aside = self.aside.into_inner();
        aside.iter_mut().for_each(|one| one.path.reverse());
        aside
    }

    /// Descends one level. Fails beyond the limit.
    pub(super) fn enter<E: Error>(&self) -> Result<(), E> {
        let left = self.levels_left.get().checked_sub(1);
        let left = left.ok_or_else(|| self.refuse(BrokenLimit::Depth(self.max_depth)))?;
        self.levels_left.set(left);
        Ok(())
    }

    pub(super) fn leave(&self) {
        self.levels_left.set(self.levels_left.get() + 1);
    }

    /// Counts `bytes` of memory. Fails beyond the limit.
    pub(super) fn take<E: Error>(&self, bytes: usize) -> Result<(), E> {
        let left = self.memory_left.get().checked_sub(bytes);
        let left = left.ok_or_else(|| self.refuse(BrokenLimit::Memory(self.max_memory)))?;
        self.memory_left.set(left);
        Ok(())
    }

    /// Counts one more entry of a `BTreeMap` that has `before` entries. Counts a whole node whenever the entry
    /// may need a new one.
    pub(super) fn take_entry<T, E: Error>(&self, before: usize) -> Result<(), E> {
        if before.is_multiple_of(FULL_NODE) {
            self.take(NODE * size_of::<T>())
        } else {
            Ok(())
        }
    }

    fn refuse<E: Error>(&self, limit: BrokenLimit) -> E {
        self.broken.set(Some(limit));
        E::custom(limit)
    }

    /// Sets aside a value that the library cannot read in its original form.
    pub(super) fn set_aside<E: Error>(&self, content: Content) -> Result<(), E> {
        self.take(ASIDE_MEMORY)?;
        self.aside.borrow_mut().push(Aside {
            path: Vec::new(),
            content,
        });
        Ok(())
    }

    /// Sets aside text that Rust, and therefore the library, parses as an infinite float or NaN, unless it is
    /// protobuf's own name for that value. In a string field, this has no effect.
    pub(super) fn doubt<E: Error>(&self, text: &str) -> Result<(), E> {
        /// The length of the shortest text that parses as an infinite float or NaN.
        const MIN: usize = "inf".len();
        let begins_as_number =
            text.starts_with(|c: char| "+-.iInN".contains(c) || c.is_ascii_digit());
        if text.len() < MIN || !begins_as_number || ["NaN", "Infinity", "-Infinity"].contains(&text)
        {
            return Ok(());
        }
        match text.parse::<f32>() {
            Ok(number) if !number.is_finite() => self.set_aside(Content::Text(text.to_owned())),
            _ => Ok(()),
        }
    }

    /// The number of values set aside so far.
    pub(super) fn kept(&self) -> usize {
        self.aside.borrow().len()
    }

    /// Passes on a result, and records the value if it was refused.
    pub(super) fn judged<T, E>(&self, read: Result<T, E>, value: Unexpected<'_>) -> Result<T, E> {
        if read.is_err() {
            self.fault.borrow_mut().value = Some(value.to_string());
        }
        read
    }

    /// Adds a step to the path of an error from below, or of the values that were set aside below since `kept`.
    pub(super) fn passed<E: Error>(
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
