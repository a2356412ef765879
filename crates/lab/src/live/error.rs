//! Why a live service cannot be called.

use std::io;

use rpcgauge_load::TlsError;
use rpcgauge_message::nearest::Nearest;
use rpcgauge_study::system::sentence;

/// Why a live service is not called. Each is one line: what, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The settings are not a live service's.
    #[error("the plan calls no live service; make it anew")]
    Plan,
    /// A text cannot be sent.
    #[error("{source_name}{place}: {what}")]
    Text {
        /// Where the text comes from.
        source_name: String,
        /// Its line there, as `, line 7`; empty where it has none.
        place: String,
        /// What is wrong with it.
        what: String,
    },
    /// A header field that rpcgauge sets, or that cannot be sent.
    #[error("header '{name}: …': {what}")]
    Header {
        /// The field's name.
        name: String,
        /// What is wrong, and what to do.
        what: String,
    },
    /// The host has no address.
    #[error("the name \"{host}\" has no address: {source}; check it, or give an IP address")]
    NoAddress {
        /// The host.
        host: String,
        /// What the system said.
        source: io::Error,
    },
    /// No connection can be made there.
    #[error(
        "cannot connect to {target} at {address}: {}; is the service running there?",
        sentence(source)
    )]
    Unreachable {
        /// The target.
        target: String,
        /// The address that was tried.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// There is no service at the path of a Unix socket.
    #[error("cannot connect to {target}: {what}")]
    Socket {
        /// The target, which names the path.
        target: String,
        /// What is wrong, and what to do.
        what: String,
    },
    /// TLS cannot be set up.
    #[error("{0}")]
    Tls(#[from] TlsError),
    /// The service is there, but every call to it would fail.
    #[error("{target} {what}")]
    Refused {
        /// The target.
        target: String,
        /// What it did, and what to do.
        what: String,
    },
    /// The service does not describe its messages.
    #[error("{target} {what}; give --proto FILE or --descriptor-set FILE")]
    Reflection {
        /// The target.
        target: String,
        /// What it did instead.
        what: String,
    },
    /// The service has others, and not this one.
    #[error("{target} has no service \"{service}\"{nearest}")]
    UnknownService {
        /// The target.
        target: String,
        /// What was asked for.
        service: String,
        /// What was probably meant.
        nearest: Nearest,
    },
    /// The engine could not make the first call.
    #[error("{target}: {what}")]
    Uncallable {
        /// The target.
        target: String,
        /// Why.
        what: String,
    },
    /// The user ended it.
    #[error("interrupted before anything was measured")]
    Interrupted,
}
