//! What is seen of a load while it runs.
//!
//! The thread that measures takes a snapshot of its trial every second ([`sampler`]) and hands it to a thread of
//! its own ([`watcher`]), which draws it and writes it down.

mod exports;
mod hgrm;
mod interval_log;
mod metrics;
mod output_file;
mod sampler;
mod status;
mod trial;
mod view;
mod watcher;

pub(crate) use self::exports::Exports;
pub(crate) use self::view::LoadView;
