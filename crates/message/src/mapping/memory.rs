//! How much memory a message takes, counted while it is read.

use std::cell::Cell;

use serde::de::Error;

use crate::limits::{BrokenLimit, Limits};

/// Entries that a node of a `BTreeMap` has room for.
const NODE: usize = 11;

/// Entries that every node of a `BTreeMap` has at least, but for its root.
const FULL_NODE: usize = 5;

/// The memory that a message may take. What stands in the bytes themselves, such as text, is
/// bounded by the message's size; counted is what each value takes in addition.
pub(crate) struct Memory {
    /// `None` once more was wanted than was left.
    left: Cell<Option<usize>>,
    most: usize,
}

impl Memory {
    pub(crate) fn new(limits: &Limits) -> Self {
        let most = limits.memory();
        Self {
            left: Cell::new(Some(most)),
            most,
        }
    }

    /// Counts so many bytes, within the limit.
    pub(crate) fn take<E: Error>(&self, bytes: usize) -> Result<(), E> {
        self.left
            .set(self.left.get().and_then(|left| left.checked_sub(bytes)));
        match self.broken() {
            None => Ok(()),
            Some(broken) => Err(E::custom(broken)),
        }
    }

    /// Counts one more entry of a `BTreeMap` that has `before`: its nodes are counted when the entries
    /// may need another one.
    pub(crate) fn take_entry<T, E: Error>(&self, before: usize) -> Result<(), E> {
        match before.is_multiple_of(FULL_NODE) {
            true => self.take(NODE * size_of::<T>()),
            false => Ok(()),
        }
    }

    /// The limit, if it was broken.
    pub(crate) fn broken(&self) -> Option<BrokenLimit> {
        match self.left.get() {
            Some(_) => None,
            None => Some(BrokenLimit::Memory(self.most)),
        }
    }
}
