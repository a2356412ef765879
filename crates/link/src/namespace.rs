//! Unnamed network namespaces. Each exists as long as a file descriptor or a process refers to it.

use std::fs;
use std::marker::PhantomData;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::thread;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::process::{getgid, getuid};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, UnshareFlags, capabilities, move_into_link_name_space,
    unshare_unsafe,
};

use crate::device;
use crate::error::LinkError;
use crate::netlink::{LOOPBACK, Netlink};

/// The network namespace at one end of a link.
#[derive(Debug)]
pub struct Namespace {
    file: OwnedFd,
}

/// A guard that keeps the thread that created it inside a namespace. Connections and listeners that the
/// thread opens are inside too, as are child processes that it starts.
#[must_use = "the thread leaves the namespace when this is dropped"]
#[derive(Debug)]
pub struct Entered {
    back: OwnedFd,
    /// Makes the guard `!Send`: it must be dropped on the thread that created it.
    _thread: PhantomData<*const ()>,
}

/// Gives this process the privileges to create links. It must be called before any other thread exists. Root
/// already has the privileges. Any other user acquires them in a user namespace, where only that user and
/// group keep their ids and all others appear as nobody. Returns whether a user namespace was created.
///
/// # Errors
/// User namespaces are refused, or this process is already inside a link.
pub fn prepare() -> Result<bool, LinkError> {
    if device::is_here() {
        return Err(LinkError::Inside);
    }
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    let held = capabilities(None).map_err(LinkError::kernel("read this process's capabilities"))?;
    if held.effective.contains(needed) {
        return Ok(false);
    }
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let refused = |error| LinkError::NoNamespace {
        kind: "user",
        error,
        remedy: user_remedy(error),
    };
    // SAFETY: the file descriptor table stays shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }.map_err(refused)?;
    // An unprivileged process may map its own group only once setgroups(2) is denied (user_namespaces(7)).
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ] {
        fs::write(file, text)
            .map_err(|error| refused(Errno::from_io_error(&error).unwrap_or(Errno::PERM)))?;
    }
    Ok(true)
}

/// Moves the calling thread permanently into a new network namespace that has only a loopback device. An
/// unprivileged thread must be in one before it enters a link, because it would not be permitted to return to
/// the machine's own namespace. Root does the same, so that both are measured under the same conditions.
///
/// # Errors
/// Network namespaces are refused: [`prepare`] was not called, or failed.
pub fn isolate() -> Result<(), LinkError> {
    // SAFETY: the file descriptor table stays shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(|error| LinkError::NoNamespace {
        kind: "network",
        error,
        remedy: match error {
            Errno::NOSPC => "raise the limit: sysctl -w user.max_net_namespaces=1000",
            _ => ELSE,
        },
    })?;
    // IPv6 is unused here, and the kernel's own IPv6 packets would be counted.
    for file in [
        "/proc/sys/net/ipv6/conf/all/disable_ipv6",
        "/proc/sys/net/ipv6/conf/default/disable_ipv6",
    ] {
        match fs::write(file, "1") {
            // The kernel was built without IPv6.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            written => written.map_err(|error| LinkError::Setting { file, error })?,
        }
    }
    Netlink::open()?.bring_up(LOOPBACK)
}

impl Namespace {
    /// Creates a namespace in which only the loopback device is up.
    pub(crate) fn new() -> Result<Self, LinkError> {
        on_own_thread(|| {
            isolate()?;
            let file = current()?;
            Ok(Self { file })
        })
    }

    /// Moves the calling thread into the namespace until the guard is dropped.
    ///
    /// # Errors
    /// The thread would not be able to return: an unprivileged thread must be [isolated](isolate) first.
    pub fn enter(&self) -> Result<Entered, LinkError> {
        let back = current()?;
        // Entering the current namespace is a no-op, but fails if the thread would not be permitted to
        // return.
        go(&back).map_err(|_| LinkError::NoReturn)?;
        go(&self.file).map_err(LinkError::kernel("enter a network namespace"))?;
        Ok(Entered {
            back,
            _thread: PhantomData,
        })
    }

    /// The namespace's path, for other processes of this user such as nsenter(1). It is valid while this
    /// process is alive.
    pub fn path(&self) -> PathBuf {
        let process = std::process::id();
        format!("/proc/{process}/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Runs `work` inside the namespace on a new thread, which does not have to return. If `work` starts a
    /// process with PR_SET_PDEATHSIG, the process is killed when that thread exits. Start such processes from
    /// a thread that has [entered](Namespace::enter) instead.
    ///
    /// # Errors
    /// The namespace cannot be entered, or `work` fails.
    pub fn run<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, LinkError> + Send,
    ) -> Result<T, LinkError> {
        on_own_thread(|| {
            go(&self.file).map_err(LinkError::kernel("enter a network namespace"))?;
            work()
        })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // The return was verified when the guard was created. Continuing in the wrong network would falsify
        // all results.
        go(&self.back).expect("a thread returns to its own network namespace");
    }
}

/// Advice if user namespaces are refused, specific where the reason is known.
fn user_remedy(error: Errno) -> &'static str {
    let is =
        |file: &str, value: &str| fs::read_to_string(file).is_ok_and(|text| text.trim() == value);
    if is("/proc/sys/user/max_user_namespaces", "0") || error == Errno::NOSPC {
        "allow them (sysctl -w user.max_user_namespaces=10000), or run as root"
    } else if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "allow them (sysctl -w kernel.unprivileged_userns_clone=1), or run as root"
    } else if is(
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    ) {
        "allow them (sysctl -w kernel.apparmor_restrict_unprivileged_userns=0), or run as root"
    } else {
        ELSE
    }
}

const ELSE: &str = "run as root, in a container with --cap-add SYS_ADMIN --cap-add NET_ADMIN";

fn current() -> Result<OwnedFd, LinkError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    open("/proc/thread-self/ns/net", flags, Mode::empty())
        .map_err(LinkError::kernel("open this thread's network namespace"))
}

fn go(to: &OwnedFd) -> Result<(), Errno> {
    move_into_link_name_space(to.as_fd(), Some(LinkNameSpaceType::Network))
}

fn on_own_thread<T: Send>(
    work: impl FnOnce() -> Result<T, LinkError> + Send,
) -> Result<T, LinkError> {
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
