//! The network device (TUN) at each end of a link. Reading its file returns packets that the kernel sends;
//! writing to its file delivers packets to the kernel.

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

/// The name of the device in each namespace of a link. Its presence also shows that a process is inside a
/// link.
const NAME: &str = "rpcgauge0";
/// TUNSETIFF from linux/if_tun.h.
const SET_INTERFACE: Opcode = opcode::write::<libc::c_int>(b'T', 202);
/// Number of packets that can wait in the device. A full device drops packets outside the link's queue. On a
/// busy machine, 1,000 (twice the kernel's default) was not enough.
const RING: u32 = 20_000;
/// Buffer sizes of a connection, bytes (min, default, max). They are the kernel's defaults with a larger
/// maximum: 32 MiB is enough for the 11 MB in flight over 1 Gbit/s and 90 ms, the packets in a 30 ms queue,
/// and the kernel's own overhead.
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

/// Whether the calling thread is in a namespace of a link.
pub(crate) fn is_here() -> bool {
    fs::read_to_string("/proc/thread-self/net/dev")
        .is_ok_and(|text| text.contains(&format!("{NAME}:")))
}

impl Device {
    /// Creates the device in the calling thread's namespace, with a route to the other end.
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
        // SAFETY: `ifreq` is plain data, and all zeros is a valid value of it.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(NAME.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: TUNSETIFF reads an `ifreq` and writes it back with the device's name.
        let set = unsafe { Updater::<SET_INTERFACE, libc::ifreq>::new(&mut request) };
        // SAFETY: see above.
        unsafe { ioctl(&file, set) }.map_err(LinkError::kernel("create a TUN device"))?;
        configure(link, own, other)?;
        Ok(Self { file })
    }
}

fn configure(link: &Link, own: Ipv4Addr, other: Ipv4Addr) -> Result<(), LinkError> {
    let idle = if link.slow_start_after_idle { "1" } else { "0" };
    for (file, value) in [
        // One connection's windows must not carry over to the next.
        ("/proc/sys/net/ipv4/tcp_no_metrics_save", "1"),
        ("/proc/sys/net/ipv4/tcp_slow_start_after_idle", idle),
        // On loopback, Linux reuses TIME_WAIT ports by default. Without reuse, a workload with one connection
        // per call runs out of ports.
        ("/proc/sys/net/ipv4/tcp_tw_reuse", "1"),
        // A new namespace does not inherit these from the machine's settings.
        ("/proc/sys/net/ipv4/tcp_rmem", RECEIVE_BUFFERS),
        ("/proc/sys/net/ipv4/tcp_wmem", SEND_BUFFERS),
    ] {
        fs::write(file, value).map_err(|error| LinkError::Setting { file, error })?;
    }
    let netlink = Netlink::open()?;
    let index = netlink.index(NAME)?;
    netlink.add_address(index, own)?;
    netlink.set_up(index, link.mtu, RING)?;
    // Set on the route, because a namespace inherits the machine's congestion control and cannot change it
    // from inside.
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
