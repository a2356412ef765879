//! What is known of a message while it is read: levels, memory, the path to an error, and the bytes
//! that were set aside.
//!
//! The path costs nothing until it is needed: it is built from the inside out while an error,
//! or a value that is set aside, is on its way up.

use std::cell::{Cell, RefCell};
use std::mem;

use serde::de::{Error, Unexpected};

use crate::limits::{BrokenLimit, Limits};
use crate::path::Step;

/// What the library did not see in its original form.
pub(crate) struct Aside {
    /// Where it belongs; from the innermost step outwards while it is on its way up.
    pub(crate) path: Vec<Step<'static>>,
    pub(crate) content: Content,
}

/// What was set aside.
pub(crate) enum Content {
    /// Bytes, which the library reads only as base64.
    Bytes(Vec<u8>),
    /// A number that rounds to the largest float, which the library takes for one out of range. It saw
    /// that float.
    Number(f64),
    /// Text that the library takes for a number where a float belongs, and protobuf does not: "nan", or a
    /// number that is out of range.
    Text(String),
}

impl Aside {
    /// That it does not belong where it is.
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

/// Memory that what is set aside takes besides its bytes: a vector begins with room for four.
const ASIDE_MEMORY: usize = size_of::<Aside>() + 4 * size_of::<Step<'static>>();

/// Entries that a node of a `BTreeMap` has room for.
const NODE: usize = 11;

/// Entries that every node of a `BTreeMap` has at least, but for its root.
const FULL_NODE: usize = 5;

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
    /// What is in the bytes themselves, such as text, is bounded by the message's size; counted
    /// is what each value takes in addition.
    memory_left: Cell<usize>,
    max_memory: usize,
    broken: Cell<Option<BrokenLimit>>,
    fault: RefCell<Fault>,
    /// Whether bytes are given to the library as base64, which is all that it reads.
    pub(super) bytes_as_text: bool,
    aside: RefCell<Vec<Aside>>,
}

impl Watch {
    /// Bytes are set aside, unless `bytes_as_text`.
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

    /// The limit that was broken, if that was it.
    pub(crate) fn broken(&self) -> Option<BrokenLimit> {
        self.broken.get()
    }

    /// What is known of the error.
    pub(crate) fn into_fault(self) -> Fault {
        let mut fault = self.fault.into_inner();
        fault.path.reverse();
        fault
    }

    /// What the library did not see in its original form, in the order of the message.
    pub(crate) fn into_aside(self) -> Vec<Aside> {
        let mut aside = self.aside.into_inner();
        aside.iter_mut().for_each(|one| one.path.reverse());
        aside
    }

    /// Descends one level, within the limit.
    pub(super) fn enter<E: Error>(&self) -> Result<(), E> {
        let left = self.levels_left.get().checked_sub(1);
        let left = left.ok_or_else(|| self.refuse(BrokenLimit::Depth(self.max_depth)))?;
        self.levels_left.set(left);
        Ok(())
    }

    pub(super) fn leave(&self) {
        self.levels_left.set(self.levels_left.get() + 1);
    }

    /// Counts `bytes` of memory, within the limit.
    pub(super) fn take<E: Error>(&self, bytes: usize) -> Result<(), E> {
        let left = self.memory_left.get().checked_sub(bytes);
        let left = left.ok_or_else(|| self.refuse(BrokenLimit::Memory(self.max_memory)))?;
        self.memory_left.set(left);
        Ok(())
    }

    /// Counts one more entry of a `BTreeMap` that has `before`: its nodes are counted when the entries
    /// may need another one.
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

    /// Sets something aside, which the library does not read as it is.
    pub(super) fn set_aside<E: Error>(&self, content: Content) -> Result<(), E> {
        self.take(ASIDE_MEMORY)?;
        self.aside.borrow_mut().push(Aside {
            path: Vec::new(),
            content,
        });
        Ok(())
    }

    /// Sets text aside that Rust reads as infinite or NaN, as the library does, unless it is protobuf's own name
    /// for that. Where it stands for text, it stays.
    pub(super) fn doubt<E: Error>(&self, text: &str) -> Result<(), E> {
        /// The length of the shortest text that overflows a float.
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

    /// How much is set aside.
    pub(super) fn kept(&self) -> usize {
        self.aside.borrow().len()
    }

    /// Notes a single value that was refused.
    pub(super) fn judged<T, E>(&self, read: Result<T, E>, value: Unexpected<'_>) -> Result<T, E> {
        if read.is_err() {
            self.fault.borrow_mut().value = Some(value.to_string());
        }
        read
    }

    /// Notes the step for what came up from under it: an error, or what was set aside since then.
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
