//! The network device (TUN) at each end of a link: packets that the kernel sends are read from a file, and
//! packets that are written to the file are received by the kernel.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use netlink_packet_route::route::RouteMetric;
use rpcgauge_trial::{Congestion, Link};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use std::net::Ipv4Addr;

use crate::error::LinkError;
use crate::netlink::Netlink;

/// The name of the device in each namespace of a link. It also tells whether a process is inside a link.
const NAME: &str = "rpcgauge0";
/// TUNSETIFF, in linux/if_tun.h.
const SET_INTERFACE: Opcode = opcode::write::<libc::c_int>(b'T', 202);
/// The number of packets that can wait in the device. When it is full, it drops packets outside the link's
/// queue. 1,000, twice the kernel's default, was too few on a busy machine.
const RING: u32 = 20_000;
/// The kernel's defaults for a connection's buffers, bytes (min, default, max), with a larger maximum: 32 MiB
/// have room for the 11 MB in flight over 1 Gbit/s and 90 ms, those in a queue of 30 ms, and the kernel's own
/// overhead.
const RECEIVE_BUFFERS: &str = "4096 131072 33554432";
const SEND_BUFFERS: &str = "4096 16384 33554432";

/// A TUN device.
#[derive(Debug)]
pub(crate) struct Device {
    file: OwnedFd,
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Whether the calling thread is at an end of a link.
pub(crate) fn is_here() -> bool {
    fs::read_to_string("/proc/thread-self/net/dev")
        .is_ok_and(|text| text.contains(&format!("{NAME}:")))
}

impl Device {
    /// Makes the device in the namespace of the calling thread, with a route to the other end.
    pub(crate) fn open(link: &Link, own: Ipv4Addr, other: Ipv4Addr) -> Result<Self, LinkError> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file =
            open("/dev/net/tun", flags, Mode::empty()).map_err(|error| LinkError::NoTun {
                error,
                remedy: match error {
                    Errno::NOENT | Errno::NODEV | Errno::NXIO => {
                        "load it (modprobe tun); a container needs --device /dev/net/tun"
                    }
                    _ => {
                        "it must be readable and writable (chmod 666 /dev/net/tun), or run as root"
                    }
                },
            })?;
        // SAFETY: the structure is plain data for which zero is a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(NAME.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: this operation reads such a structure and copies it back with the device's name.
        let set = unsafe { Updater::<SET_INTERFACE, libc::ifreq>::new(&mut request) };
        // SAFETY: as above.
        unsafe { ioctl(&file, set) }.map_err(LinkError::kernel("make a TUN device"))?;
        configure(link, own, other)?;
        Ok(Self { file })
    }
}

fn configure(link: &Link, own: Ipv4Addr, other: Ipv4Addr) -> Result<(), LinkError> {
    let idle = if link.slow_start_after_idle { "1" } else { "0" };
    for (file, value) in [
        // The windows of one connection must not affect the next.
        ("/proc/sys/net/ipv4/tcp_no_metrics_save", "1"),
        ("/proc/sys/net/ipv4/tcp_slow_start_after_idle", idle),
        // Linux does this on the loopback anyway. Without it, one connection per call runs out of ports.
        ("/proc/sys/net/ipv4/tcp_tw_reuse", "1"),
        // Not inherited from the machine's settings.
        ("/proc/sys/net/ipv4/tcp_rmem", RECEIVE_BUFFERS),
        ("/proc/sys/net/ipv4/tcp_wmem", SEND_BUFFERS),
    ] {
        fs::write(file, value).map_err(|error| LinkError::Setting { file, error })?;
    }
    let netlink = Netlink::open()?;
    let index = netlink.index(NAME)?;
    netlink.add_address(index, own)?;
    netlink.set_up(index, link.mtu, RING)?;
    // Set on the route: the machine's congestion control is inherited, and inside a namespace this setting
    // cannot be changed.
    let name = match link.congestion {
        Congestion::Cubic => "cubic",
        Congestion::Bbr => "bbr",
        Congestion::Reno => "reno",
    };
    let mut metrics = vec![RouteMetric::CcAlgo(name.to_owned())];
    metrics.extend(link.initial_window.map(RouteMetric::InitCwnd));
    let added = netlink.add_route(index, own, other, metrics);
    added.map_err(|error| {
        let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
        let available = fs::read_to_string(file).unwrap_or_default();
        let available = available.trim().replace(' ', ", ");
        if available.split(", ").any(|it| it == name) {
            LinkError::kernel("add a route")(error)
        } else {
            LinkError::NoCongestion { name, available }
        }
    })
}
