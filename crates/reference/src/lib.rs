//! The embedded reference server, the subject that is always available.
//!
//! [`server`] serves gRPC, Connect and REST calls of one workload over TCP or a Unix domain socket, in every
//! encoding that `rpcgauge-message` supports. [`grpc::Methods`] adds more methods. [`floor`] is the server
//! that calibrates the floor. [`subject`] starts either server through the subject contract
//! (`contract/README.md`), the only way that the lab uses them.
//!
//! ```text
//! listen ─► accept ─► connection ─┬─► grpc ─┐
//!                                 └─► rest ─┴─► service ─► workload (rpcgauge-message)
//!                                       │
//!                                       ├─► stream: responses of several messages
//!                                       └─► rest::websocket: a response to each message
//! ```

mod accept;
mod body;
mod budget;
mod clock;
mod codec;
mod connection;
pub mod floor;
pub mod grpc;
pub mod listen;
mod log;
mod marks;
mod rest;
pub mod server;
mod service;
pub mod settings;
mod stream;
pub mod subject;
mod timeouts;
mod tls;

pub use budget::default_memory;
pub use listen::{ListenError, ListenOn};
pub use server::{ServeError, Server};
pub use settings::{DEFAULT_MESSAGES, ServerOptions};
pub use subject::subject_main;
pub use timeouts::Timeouts;
