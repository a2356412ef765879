//! One variant, ready to be measured: the server or the caller, and its verification.
//!
//! ```text
//! Server           a server subject that is up, or a live service       (server)
//! Caller           a client or codec subject, asked for slices          (caller)
//!   settings line  what a subject is started with, by its role          (settings_line)
//!   WorkloadCalls  the messages of the calls, encoded and decoded       (workload_calls)
//!   CallSpec       where calls go, and what their responses must be     (call_spec)
//!   verification   the responses or the codec's output, compared        (verify)
//!   bounds, rule   when the warm-up is over                             (warmup)
//! ```

pub(crate) mod call_spec;
pub(crate) mod caller;
pub(crate) mod server;
pub(crate) mod settings_line;
pub(crate) mod verify;
pub(crate) mod warmup;
pub(crate) mod workload_calls;
