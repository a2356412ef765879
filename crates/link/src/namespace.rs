//! Network namespaces without names: each exists as long as a file descriptor or a process holds it.

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

/// A guard: while it exists, the thread that made it is in a namespace. Its connections, listeners and child
/// processes are there too.
#[must_use = "the thread leaves the namespace when this is dropped"]
#[derive(Debug)]
pub struct Entered {
    back: OwnedFd,
    /// Makes the guard stay on this thread.
    _thread: PhantomData<*const ()>,
}

/// Gives this process the privileges to make links. It must be called before any other thread exists. Root
/// has them; another user gets them in a user namespace, in which only that user and group keep their ids and
/// all others are nobody. Returns whether it made a user namespace.
///
/// # Errors User namespaces are refused, or this is inside a link.
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

/// Moves the calling thread permanently into a new network namespace that has only a loopback. An
/// unprivileged thread may enter a link and return only from such a namespace: it may not return to the
/// machine's own. Root does the same, so that both measure alike.
///
/// # Errors Network namespaces are refused: [`prepare`] was not called, or failed.
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
    // Nothing uses IPv6 here, and the kernel's own IPv6 packets would be counted.
    for file in [
        "/proc/sys/net/ipv6/conf/all/disable_ipv6",
        "/proc/sys/net/ipv6/conf/default/disable_ipv6",
    ] {
        match fs::write(file, "1") {
            // The kernel has no IPv6.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            written => written.map_err(|error| LinkError::Setting { file, error })?,
        }
    }
    Netlink::open()?.bring_up(LOOPBACK)
}

impl Namespace {
    /// Makes a namespace in which only the loopback is up.
    pub(crate) fn new() -> Result<Self, LinkError> {
        on_own_thread(|| {
            isolate()?;
            let file = current()?;
            Ok(Self { file })
        })
    }

    /// Moves the calling thread into the namespace until the guard is dropped.
    ///
    /// # Errors The thread could not return: an unprivileged one must be [isolated](isolate) first.
    pub fn enter(&self) -> Result<Entered, LinkError> {
        let back = current()?;
        // Entering the current namespace changes nothing, but fails if the return would fail.
        go(&back).map_err(|_| LinkError::NoReturn)?;
        go(&self.file).map_err(LinkError::kernel("enter a network namespace"))?;
        Ok(Entered {
            back,
            _thread: PhantomData,
        })
    }

    /// The namespace's path for other processes of this user, such as nsenter(1). It is valid as long as this
    /// process lives.
    pub fn path(&self) -> PathBuf {
        let process = std::process::id();
        format!("/proc/{process}/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Runs `work` inside, on a new thread, which need not return. A process that `work` starts with
    /// PR_SET_PDEATHSIG ends with that thread: start such processes from a thread that has
    /// [entered](Namespace::enter).
    ///
    /// # Errors The namespace cannot be entered, or `work` fails.
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
        // The return was permitted when the guard was made. Continuing in the wrong network would falsify all
        // results.
        go(&self.back).expect("a thread returns to its own network namespace");
    }
}

/// Advice for refused user namespaces, as far as the reason is known.
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
