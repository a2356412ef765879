//! Why there is no link: what is missing here, and how to get it.

use rustix::io::Errno;
use thiserror::Error;

/// Why a link cannot be made. Each is one line that says what to do.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The device that makes network devices is missing or closed to us.
    #[error("a link needs /dev/net/tun, which cannot be opened: {error}; {remedy}")]
    NoTun {
        /// What the kernel said.
        error: Errno,
        /// What helps.
        remedy: &'static str,
    },
    /// The machine does not allow namespaces.
    #[error("a link needs a {kind} namespace, which is refused here: {error}; {remedy}")]
    NoNamespace {
        /// Which one.
        kind: &'static str,
        /// What the kernel said.
        error: Errno,
        /// What helps.
        remedy: &'static str,
    },
    /// This process is in a link's namespace.
    #[error(
        "this is inside an emulated link already, and a link in a link would distort both; leave it first"
    )]
    Inside,
    /// The congestion control is not in the kernel.
    #[error("this kernel has no congestion control {name}; it has {available}")]
    NoCongestion {
        /// The one that was asked for.
        name: &'static str,
        /// Those that are there.
        available: String,
    },
    /// A setting of the kernel cannot be written.
    #[error(
        "cannot set {file} inside a link's namespace: {error}; /proc/sys must be writable (a container: --privileged)"
    )]
    Setting {
        /// Its file.
        file: &'static str,
        /// What the kernel said.
        error: std::io::Error,
    },
    /// The network cannot be set up.
    #[error("cannot {action} for an emulated link: {error}")]
    Kernel {
        /// What was tried.
        action: &'static str,
        /// What the kernel said.
        error: std::io::Error,
    },
    /// The thread could not come back from the link.
    #[error(
        "this thread could not leave a link's namespace again: it must be isolated before it enters one"
    )]
    NoReturn,
    /// Probes do not arrive.
    #[error(
        "only {arrived} of {sent} probes crossed the emulated link; a firewall in new network namespaces, or an overloaded machine"
    )]
    NoProbes {
        /// How many arrived.
        arrived: usize,
        /// How many were sent.
        sent: usize,
    },
    /// The remaining delay is shorter than its jitter.
    #[error(
        "the link's jitter needs a longer delay here: of the delays this machine itself takes {} µs up and {} µs down, so that the rest cannot vary as much; set a longer delay or less jitter",
        .up_ns / 1_000, .down_ns / 1_000
    )]
    Jitter {
        /// What the machine adds on the way up, ns.
        up_ns: u64,
        /// And on the way down.
        down_ns: u64,
    },
    /// The thread of a link has ended.
    #[error(
        "the thread of an emulated link has ended: its device rpcgauge0 was deleted, or this is a bug in rpcgauge"
    )]
    Ended,
}

impl LinkError {
    /// For `map_err`: what was tried, with what the kernel said.
    pub(crate) fn kernel<E: Into<std::io::Error>>(action: &'static str) -> impl Fn(E) -> Self {
        move |error| Self::Kernel {
            action,
            error: error.into(),
        }
    }
}
