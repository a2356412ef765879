//! Addresses, routes and devices of the calling thread's network namespace (rtnetlink(7)).

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::net::netdevice::name_to_index;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

use crate::error::LinkError;

/// The index of the loopback device, the first in any namespace.
pub(crate) const LOOPBACK: u32 = 1;
/// The prefix length of an address: all bits, for a single host.
const ALL_BITS: u8 = 32;

/// A socket to the kernel's routing subsystem.
pub(crate) struct Netlink {
    socket: OwnedFd,
}

impl Netlink {
    pub(crate) fn open() -> Result<Self, LinkError> {
        let socket = socket_with(
            rustix::net::AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            // NETLINK_ROUTE is 0.
            None,
        )
        .map_err(LinkError::kernel("open a netlink socket"))?;
        Ok(Self { socket })
    }

    pub(crate) fn index(&self, device: &str) -> Result<u32, LinkError> {
        name_to_index(&self.socket, device).map_err(LinkError::kernel("find a network device"))
    }

    pub(crate) fn bring_up(&self, index: u32) -> Result<(), LinkError> {
        self.set(index, Vec::new())
            .map_err(LinkError::kernel("bring up a network device"))
    }

    /// Sets the device's MTU and the number of packets that can wait in it, and brings the device up.
    pub(crate) fn set_up(&self, index: u32, mtu: u32, ring: u32) -> Result<(), LinkError> {
        self.set(
            index,
            vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(ring)],
        )
        .map_err(LinkError::kernel("configure a network device"))
    }

    pub(crate) fn add_address(&self, index: u32, address: Ipv4Addr) -> Result<(), LinkError> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.prefix_len = ALL_BITS;
        message.header.index = index;
        let address = IpAddr::V4(address);
        message.attributes = vec![
            AddressAttribute::Local(address),
            AddressAttribute::Address(address),
        ];
        self.request(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE)
            .map_err(LinkError::kernel("assign an address to a network device"))
    }

    /// Adds the route to the other end. The metrics apply to all connections over this route.
    pub(crate) fn add_route(
        &self,
        index: u32,
        from: Ipv4Addr,
        to: Ipv4Addr,
        metrics: Vec<RouteMetric>,
    ) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: AddressFamily::Inet,
            destination_prefix_length: ALL_BITS,
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Static,
            scope: RouteScope::Link,
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message.attributes = vec![
            RouteAttribute::Destination(RouteAddress::Inet(to)),
            RouteAttribute::PrefSource(RouteAddress::Inet(from)),
            RouteAttribute::Oif(index),
            RouteAttribute::Metrics(metrics),
        ];
        self.request(
            RouteNetlinkMessage::NewRoute(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
    }

    fn set(&self, index: u32, attributes: Vec<LinkAttribute>) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        message.attributes = attributes;
        self.request(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Sends a request and waits for the kernel's reply.
    fn request(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut packet = NetlinkMessage::from(message);
        packet.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        send(&self.socket, &bytes, SendFlags::empty())?;
        let mut answer = [0; 8_192];
        let (length, _) = recv(&self.socket, &mut answer, RecvFlags::empty())?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..length])
            .map_err(io::Error::other)?;
        match answer.payload {
            // An error code of zero is an acknowledgement.
            NetlinkPayload::Error(word) if word.code.is_some() => Err(word.to_io()),
            _ => Ok(()),
        }
    }
}
