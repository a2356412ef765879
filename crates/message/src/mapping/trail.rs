//! Where in a message something went wrong. Costs nothing until it does: the path is put together
//! from the inside out while the error is on its way up.

use std::cell::{Cell, RefCell};
use std::fmt;

use buffa_descriptor::Value;
use serde::de::Error;

use super::memory::Memory;
use crate::limits::{BrokenLimit, Limits};

/// One step down into a message.
pub(crate) enum Step<'a> {
    /// A field, or an object's or a map's key.
    Name(&'a str),
    /// An element of a list, from 0.
    Index(usize),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Name(name) if is_plain(name) => write!(f, ".{name}"),
            Self::Name(name) => write!(f, "[{:?}]", clip(name)),
        }
    }
}

/// What is known about an error, how deep the reader is, and how much memory was taken.
pub(crate) struct Trail {
    /// The steps from the innermost outwards, each as text.
    steps: RefCell<Vec<String>>,
    /// What the innermost reader said.
    what: RefCell<Option<String>>,
    depth: Cell<usize>,
    max_depth: usize,
    memory: Memory,
    broken: Cell<Option<BrokenLimit>>,
}

impl Trail {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            steps: RefCell::default(),
            what: RefCell::default(),
            depth: Cell::new(0),
            max_depth: limits.max_depth,
            memory: Memory::new(limits),
            broken: Cell::new(None),
        }
    }

    /// Notes that `error` came from under `step`.
    pub(crate) fn at<E: Error>(&self, step: Step<'_>, error: E) -> E {
        let mut what = self.what.borrow_mut();
        if what.is_none() {
            *what = Some(error.to_string());
        }
        self.steps.borrow_mut().push(step.to_string());
        error
    }

    /// Runs `read` one level deeper, within the limit.
    pub(crate) fn deeper<T, E: Error>(&self, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        if self.depth.get() >= self.max_depth {
            let broken = BrokenLimit::Depth(self.max_depth);
            self.broken.set(Some(broken));
            return Err(E::custom(broken));
        }
        self.depth.set(self.depth.get() + 1);
        let result = read();
        self.depth.set(self.depth.get() - 1);
        result
    }

    /// Counts what a value takes, within the limit.
    pub(crate) fn take<E: Error>(&self, bytes: usize) -> Result<(), E> {
        self.memory.take(bytes)
    }

    /// How much memory was taken.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Counts what a message inside another one takes once a field of it is set: its fields are a
    /// `BTreeMap`.
    pub(crate) fn take_fields<E: Error>(&self) -> Result<(), E> {
        match self.depth.get() {
            0 | 1 => Ok(()),
            _ => self.memory.take_entry::<(u32, Value), E>(0).map(|_| ()),
        }
    }

    /// The limit that was broken, if that was it.
    pub(crate) fn broken(&self) -> Option<BrokenLimit> {
        self.broken.get().or_else(|| self.memory.broken())
    }

    /// The path to the error and what was said there; `$` and `outermost` when it is the message
    /// itself.
    pub(crate) fn into_error(self, outermost: String) -> (String, String) {
        let mut path = String::from("$");
        path.extend(self.steps.into_inner().iter().rev().map(String::as_str));
        (path, tidy(&self.what.into_inner().unwrap_or(outermost)))
    }
}

/// Whether a name can stand behind a dot in a path.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'@')
}

/// Longest part of a parser's words that is shown, in characters: they repeat what they read.
const SHOWN: usize = 240;

/// One line of limited length without the parser's own position, for which the path stands.
pub(crate) fn tidy(what: &str) -> String {
    let what = match what.rsplit_once(" at line ") {
        Some((head, position)) if position.starts_with(|c: char| c.is_ascii_digit()) => head,
        _ => what,
    };
    clip(what)
}

/// One line of limited length.
pub(crate) fn clip(text: &str) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == SHOWN {
            out.push('…');
            break;
        }
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}
