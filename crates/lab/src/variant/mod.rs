//! One variant, ready to be measured: its server or caller, and their verification.
//!
//! ```text
//! Server           a running server subject, or a live service          (server)
//! Caller           a client or codec subject that runs slices           (caller)
//!   settings line  the settings that a subject is started with          (settings_line)
//!   WorkloadCalls  the messages of the calls, encoded and decoded       (workload_calls)
//!   CallSpec       where calls are sent, and what responses must be     (call_spec)
//!   verification   compares responses, or the codec's output            (verify)
//!   bounds, rule   when the warm-up is over                             (warmup)
//! ```

pub(crate) mod call_spec;
pub(crate) mod caller;
pub(crate) mod responses;
pub(crate) mod server;
pub(crate) mod settings_line;
pub(crate) mod verify;
pub(crate) mod warmup;
pub(crate) mod workload_calls;
