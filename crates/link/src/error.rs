//! Errors of links, with advice.

use rustix::io::Errno;
use thiserror::Error;

/// Why a link could not be created or used. Each message is one line, and gives advice where there is any.
#[derive(Debug, Error)]
pub enum LinkError {
    /// `/dev/net/tun` is missing or cannot be opened.
    #[error("a link needs /dev/net/tun, which cannot be opened: {error}; {remedy}")]
    NoTun {
        /// The kernel's error.
        error: Errno,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The machine does not permit namespaces.
    #[error("a link needs a {kind} namespace, which this machine refuses: {error}; {remedy}")]
    NoNamespace {
        /// The kind of namespace, for example `network`.
        kind: &'static str,
        /// The kernel's error.
        error: Errno,
        /// What to do about it.
        remedy: &'static str,
    },
    /// This process is in a namespace of a link.
    #[error(
        "this process is already inside an emulated link, and a link within a link would distort both; leave it first"
    )]
    Inside,
    /// The kernel does not support this congestion control.
    #[error("this kernel does not support the congestion control {name}; it supports {available}")]
    NoCongestion {
        /// The requested congestion control.
        name: &'static str,
        /// The congestion controls that the kernel supports.
        available: String,
    },
    /// A kernel setting cannot be written.
    #[error(
        "cannot set {file} inside a link's namespace: {error}; /proc/sys must be writable (a container: --privileged)"
    )]
    Setting {
        /// The setting's file.
        file: &'static str,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// The network cannot be set up.
    #[error("cannot {action} for an emulated link: {error}")]
    Kernel {
        /// The action that failed, for example `add a route`.
        action: &'static str,
        /// The kernel's error.
        error: std::io::Error,
    },
    /// The thread could not return from the link's namespace.
    #[error(
        "this thread could not leave a link's namespace again; it must be isolated before it enters one"
    )]
    NoReturn,
    /// Too few probes arrived.
    #[error(
        "only {arrived} of {sent} probes crossed the emulated link; a firewall in new network namespaces may block them, or this machine is overloaded"
    )]
    NoProbes {
        /// How many arrived.
        arrived: usize,
        /// How many were sent.
        sent: usize,
    },
    /// After calibration, the remaining delay is too short for the jitter.
    #[error(
        "the link's delay is too short for its jitter: this machine itself adds {} µs up and {} µs down, and the rest of the delay cannot vary that much; set a longer delay or less jitter",
        .up_ns / 1_000, .down_ns / 1_000
    )]
    Jitter {
        /// Delay that the machine adds on the way up, ns.
        up_ns: u64,
        /// Delay that the machine adds on the way down, ns.
        down_ns: u64,
    },
    /// The link's thread has stopped.
    #[error(
        "the thread of an emulated link has stopped: its device rpcgauge0 was deleted, or this is a bug in rpcgauge"
    )]
    Ended,
}

impl LinkError {
    /// Returns a function for `map_err` that adds `action` to the kernel's error.
    pub(crate) fn kernel<E: Into<std::io::Error>>(action: &'static str) -> impl Fn(E) -> Self {
        move |error| Self::Kernel {
            action,
            error: error.into(),
        }
    }
}
