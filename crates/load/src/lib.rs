//! Decides when calls are sent and what is timed: schedules, connections, the event loop, the recorder.
//!
//! [`measure`] runs one [`Trial`] on the calling thread and returns its [`Measurement`]:
//!
//! 1. The connections are opened (with [`ConnectionUse::Reuse`](rpcgauge_trial::ConnectionUse::Reuse)).
//! 2. Calls are made until the warm-up rule decides that they have settled, or a bound is reached. A ramp has
//!    no warm-up.
//! 3. The measured part follows, until the trial's [`Stop`](rpcgauge_trial::Stop) or the end of its ramp. A
//!    closed loop lets the calls of the warm-up end before it begins; a rate continues without a pause.
//! 4. Calls in flight at that point may still end, for at most [`Trial::drain`]. The rest are abandoned.
//!
//! A call is *due* when the previous one ends (closed loop) or when the schedule requires it (rate), and its
//! latency is counted from then. Nothing is corrected afterwards. Every measured call is accounted for:
//! started = answered + failed + abandoned. A call that the server declares unprocessed is sent again, and
//! remains one call ([`Calls::retried`](rpcgauge_trial::Calls::retried) counts the sends).
//!
//! [`measure_on_threads`] runs the trial on several threads: each has a [`Shard`] of it, and the figures are merged.
//!
//! A [`Session`] measures a closed loop one slice at a time, so that several sessions can take turns.
//!
//! For a small example, see `benches/stage_stamps.rs`.
//!
//! No other crate times calls. All times are nanoseconds of CLOCK_MONOTONIC.

mod bodies;
mod clock;
mod demand;
mod engine;
mod error;
mod fetch;
mod histogram;
mod measurement;
mod message_recorder;
mod progress;
mod recorder;
mod schedule;
mod secrets;
mod shard;
mod slow;
mod steps;
mod timeline;
mod tls;
mod trial;
mod unix;
mod warmup;

pub mod floor;

pub use bodies::{
    Bodies, Body, BodyIterator, Checked, Codec, CodecError, MessageCheck, MixBodies, PairBy,
    ResponseCheck, ToCheck,
};
pub use clock::now as monotonic_ns;
pub use demand::Demand;
pub use engine::{Counted, Hooks, Session, ShardCalls, measure, measure_on_threads, measure_with};
pub use error::LoadError;
pub use fetch::{Fetch, FetchError, Fetched};
pub use measurement::{Marks, Measurement, MessageSizes, bytes_of};
pub use message_recorder::MessageRecorder;
pub use progress::{IntervalTimes, ProgressHook, TrialProgress};
pub use rpcgauge_wire::{ByteCount, Limits, Protocol, Traffic};
pub use secrets::without_values;
pub use shard::Shard;
pub use slow::{SLOW_FACTOR, SlowCalls, Usual};
pub use timeline::TimelineRecorder;
pub use tls::{Identity, Roots, Tls, TlsError, TlsSettings};
pub use trial::{CallStyle, Endpoint, Expect, MixCall, Request, Trial};
pub use unix::connect_unix;
pub use warmup::{Settling, WarmupBounds};

/// A histogram of nanoseconds with three significant digits.
pub type Histogram = hdrhistogram::Histogram<u64>;
