//! Shows and exports a load while it runs.
//!
//! The measuring thread takes a snapshot of its trial every second ([`sampler`]) and sends it to
//! another thread ([`watcher`]), which shows and exports it.

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
pub(crate) use self::status::{failures, latency};
pub(crate) use self::view::LoadView;
