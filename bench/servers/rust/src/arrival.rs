//! When bytes arrived in the kernel, which may be long before a busy server reads them.
//!
//! A server that records how long its calls waited must start there, because bytes also wait unread in a
//! socket.

use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::ptr;

use rustix::time::{ClockId, clock_gettime};

use crate::clock::{self, Nanos, SECOND};

/// Space for a control message with a timestamp, aligned like its header.
type Control = [u64; 8];

/// Has the kernel timestamp incoming data on connections that `listener` accepts (socket(7), SO_TIMESTAMPNS).
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn stamp(listener: &TcpListener) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the pointer is to a whole `c_int`, whose size is given.
    let done = unsafe {
        libc::setsockopt(
            listener.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            ptr::from_ref(&on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads into `buffer`. Returns the number of bytes and when the last of them arrived, or the current time if
/// the kernel has no timestamp for them.
///
/// # Errors
/// If the read fails.
pub(crate) fn receive(socket: &TcpStream, buffer: &mut [u8]) -> io::Result<(usize, Nanos)> {
    let mut control: Control = [0; 8];
    let mut into = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all zeros is a valid message header: null pointers of length 0.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut into;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of::<Control>() as _;
    // SAFETY: the header points to `buffer` and `control`, with their lengths, and both outlive the call.
    let read = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let read = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    let came = match stamp_in(&message) {
        None => clock::now(),
        Some(stamp) => nanos(stamp.tv_sec, stamp.tv_nsec).saturating_sub(ahead()),
    };
    Ok((read, came))
}

/// The timestamp in a received message's control messages, on the real-time clock.
fn stamp_in(message: &libc::msghdr) -> Option<libc::timespec> {
    // SAFETY: the kernel has filled in the control messages within their length, and CMSG_FIRSTHDR and
    // CMSG_NXTHDR stay within it. A timestamp's payload is a `timespec`, which may be unaligned.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            let (level, kind) = ((*header).cmsg_level, (*header).cmsg_type);
            if level == libc::SOL_SOCKET && kind == libc::SCM_TIMESTAMPNS {
                let mut stamp = MaybeUninit::<libc::timespec>::uninit();
                let bytes = size_of::<libc::timespec>();
                ptr::copy_nonoverlapping(
                    libc::CMSG_DATA(header),
                    stamp.as_mut_ptr().cast::<u8>(),
                    bytes,
                );
                return Some(stamp.assume_init());
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}

/// How far the real-time clock is currently ahead of the monotonic clock. It changes if the real-time clock is
/// set or slewed.
fn ahead() -> Nanos {
    // If the readings before and after are farther apart than this, something interrupted them.
    const AT_ONCE: Nanos = 5_000;
    const TRIES: usize = 4;
    let mut best = (Nanos::MAX, 0);
    for _ in 0..TRIES {
        let before = clock::now();
        let day = clock_gettime(ClockId::Realtime);
        let apart = clock::now() - before;
        let ahead = nanos(day.tv_sec, day.tv_nsec).saturating_sub(before + apart / 2);
        best = best.min((apart, ahead));
        if apart < AT_ONCE {
            break;
        }
    }
    best.1
}

fn nanos(seconds: i64, nanos: i64) -> Nanos {
    seconds as Nanos * SECOND + nanos as Nanos
}
