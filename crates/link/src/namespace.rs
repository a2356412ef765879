//! Network namespaces without names: each lives as long as a file descriptor or a process holds it.

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

/// A network namespace of a link's end.
#[derive(Debug)]
pub struct Namespace {
    file: OwnedFd,
}

/// While it lives, the thread that made it is in a namespace: what it connects, listens on and starts is there.
#[must_use = "the thread leaves the namespace when this is dropped"]
#[derive(Debug)]
pub struct Entered {
    back: OwnedFd,
    /// Of this thread only.
    _thread: PhantomData<*const ()>,
}

/// Gives this process the right to make links. It must be called before any other thread exists. Root has the
/// right; another user gets it in a user namespace, in which only that user and group keep their numbers, and all
/// others are nobody. `true` where it made one.
///
/// # Errors
/// Where user namespaces are refused, and within a link.
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
    // SAFETY: the table of file descriptors stays shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }.map_err(refused)?;
    // Without setgroups(2) an unprivileged process may map its own group (user_namespaces(7)).
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

/// Moves the calling thread into a new network namespace that has only its loopback, for good. Only from
/// there may a thread without privileges enter a link and come back: the way back to the machine's own
/// namespace is closed to it. Root goes the same way, so that both measure alike.
///
/// # Errors
/// Where network namespaces are refused: [`prepare`] was not called, or failed.
pub fn isolate() -> Result<(), LinkError> {
    // SAFETY: the table of file descriptors stays shared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(|error| LinkError::NoNamespace {
        kind: "network",
        error,
        remedy: match error {
            Errno::NOSPC => "raise the limit: sysctl -w user.max_net_namespaces=1000",
            _ => ELSE,
        },
    })?;
    // Nothing uses IPv6 here, and its own packets would be counted.
    for file in [
        "/proc/sys/net/ipv6/conf/all/disable_ipv6",
        "/proc/sys/net/ipv6/conf/default/disable_ipv6",
    ] {
        match fs::write(file, "1") {
            // A kernel without IPv6.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            written => written.map_err(|error| LinkError::Setting { file, error })?,
        }
    }
    Netlink::open()?.bring_up(LOOPBACK)
}

impl Namespace {
    /// A new one, in which only the loopback is up.
    pub(crate) fn new() -> Result<Self, LinkError> {
        on_own_thread(|| {
            isolate()?;
            let file = current()?;
            Ok(Self { file })
        })
    }

    /// Moves the calling thread into it until the guard is dropped.
    ///
    /// # Errors
    /// When the thread could not come back: an unprivileged one must [`isolate`] itself before.
    pub fn enter(&self) -> Result<Entered, LinkError> {
        let back = current()?;
        // Enters the namespace that it is in: that changes nothing, but is refused if the way back would be.
        go(&back).map_err(|_| LinkError::NoReturn)?;
        go(&self.file).map_err(LinkError::kernel("enter a network namespace"))?;
        Ok(Entered {
            back,
            _thread: PhantomData,
        })
    }

    /// Its path for other processes of this user, such as nsenter(1), as long as this process lives.
    pub fn path(&self) -> PathBuf {
        let process = std::process::id();
        format!("/proc/{process}/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Runs `work` inside, on a thread of its own, which needs no way back. A process that it starts with
    /// PR_SET_PDEATHSIG ends with that thread: start those from a thread that has entered.
    ///
    /// # Errors
    /// When the namespace cannot be entered, or as `work` fails.
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
        // It was allowed when the guard was made. Continuing in the wrong network would falsify everything.
        go(&self.back).expect("a thread returns to its own network namespace");
    }
}

/// Why user namespaces are refused, as far as the machine says.
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
