//! The kernel's timestamps of arriving packets.

use std::net::UdpSocket;

use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, ioctl};
use rustix::time::{ClockId, clock_gettime};

/// SIOCGSTAMPNS, in asm-generic/sockios.h.
const STAMP: Opcode = 0x8907;

/// Tells the kernel to stamp packets that arrive from now on.
pub(crate) fn begin_stamps(socket: &UdpSocket) -> Result<(), Errno> {
    // The first request turns timestamps on. It fails with ENOENT because there is no timestamp yet.
    match stamp(socket) {
        Ok(_) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

/// When the packet that was read last had arrived, ns of the wall clock.
pub(crate) fn stamp(socket: &UdpSocket) -> Result<u64, Errno> {
    // SAFETY: SIOCGSTAMPNS writes a `timespec`.
    let get = unsafe { Getter::<STAMP, libc::timespec>::new() };
    // SAFETY: see above.
    let stamp = unsafe { ioctl(socket, get) }?;
    Ok(nanoseconds(stamp.tv_sec as u64, stamp.tv_nsec as u64))
}

/// The current time on the clock of the kernel's timestamps, ns.
pub(crate) fn wall_clock() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    nanoseconds(now.tv_sec as u64, now.tv_nsec as u64)
}

fn nanoseconds(seconds: u64, rest: u64) -> u64 {
    seconds * 1_000_000_000 + rest
}
