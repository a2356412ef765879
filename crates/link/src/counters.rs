//! The counters of a link and of the kernel at its ends.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use hdrhistogram::Histogram;
use rpcgauge_trial::{Calibration, DirectionCounts, Lateness, LinkCounts};

use crate::error::LinkError;

/// Maximum lateness that is recorded exactly, ns. Longer values are capped.
const MAX_LATENESS_NS: u64 = 60_000_000_000;
/// Significant digits of a recorded lateness; two make it accurate to 1%.
const DIGITS: u8 = 2;

/// Counts of a link's thread since it started.
#[derive(Debug, Clone)]
pub(crate) struct Totals {
    /// The directions: up, then down.
    pub(crate) directions: [DirectionCounts; 2],
    lateness: Histogram<u64>,
    /// Time that the thread was runnable but had no core, and its CPU time, ns.
    pub(crate) waited: u64,
    pub(crate) cpu: u64,
}

impl Totals {
    pub(crate) fn new() -> Self {
        Self {
            directions: [DirectionCounts::default(); 2],
            lateness: Histogram::new_with_bounds(1, MAX_LATENESS_NS, DIGITS)
                .expect("constant bounds"),
            waited: 0,
            cpu: 0,
        }
    }

    /// Records a packet that left `by` ns after it was due.
    pub(crate) fn late(&mut self, by: u64) {
        self.lateness.saturating_record(by);
    }
}

/// The counts of a link and of the kernels at its ends, taken at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) totals: Totals,
    pub(crate) kernel: KernelCounts,
    pub(crate) calibration: Calibration,
}

impl Snapshot {
    /// The counts since an earlier snapshot of the same link.
    pub fn since(&self, earlier: &Self) -> LinkCounts {
        let [up, down] = [0, 1].map(|way| {
            let (now, then) = (self.totals.directions[way], earlier.totals.directions[way]);
            DirectionCounts {
                packets: now.packets - then.packets,
                bytes: now.bytes - then.bytes,
                lost: now.lost - then.lost,
                dropped: now.dropped - then.dropped,
                queued_ns: now.queued_ns - then.queued_ns,
            }
        });
        let mut lateness = self.totals.lateness.clone();
        // The later histogram includes every value of the earlier one.
        let subtracted = lateness.subtract(&earlier.totals.lateness);
        debug_assert!(subtracted.is_ok(), "snapshots of one link, in order");
        let KernelCounts { drops, retransmits } = self.kernel;
        LinkCounts {
            up,
            down,
            lateness: Lateness {
                p50_ns: lateness.value_at_quantile(0.5),
                p99_ns: lateness.value_at_quantile(0.99),
                max_ns: lateness.max(),
            },
            foreign_drops: drops.saturating_sub(earlier.kernel.drops),
            retransmits: retransmits.saturating_sub(earlier.kernel.retransmits),
            waited_ns: self.totals.waited.saturating_sub(earlier.totals.waited),
            cpu_ns: self.totals.cpu.saturating_sub(earlier.totals.cpu),
            over_ns: 0,
            calibration: self.calibration,
        }
    }
}

/// The kernel's counts, summed over both ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct KernelCounts {
    /// Packets dropped by a device, by a full socket buffer, or by a full TCP backlog.
    pub(crate) drops: u64,
    /// Retransmitted segments.
    pub(crate) retransmits: u64,
}

/// The kernel's counters for one namespace. Open files keep referring to the namespace in which they were
/// opened.
#[derive(Debug)]
pub(crate) struct Counters {
    devices: File,
    protocols: File,
    more: File,
}

impl Counters {
    /// Opens the counters of the calling thread's namespace.
    pub(crate) fn open() -> Result<Self, LinkError> {
        let open = |name: &str| {
            File::open(format!("/proc/thread-self/net/{name}"))
                .map_err(LinkError::kernel("read the kernel's counters"))
        };
        Ok(Self {
            devices: open("dev")?,
            protocols: open("snmp")?,
            more: open("netstat")?,
        })
    }

    /// Adds the current values to `counts`.
    pub(crate) fn add_to(&self, counts: &mut KernelCounts) -> Result<(), LinkError> {
        let read = |file| text(file).map_err(LinkError::kernel("read the kernel's counters"));
        let (protocols, more) = (read(&self.protocols)?, read(&self.more)?);
        counts.drops += device_drops(&read(&self.devices)?)
            + field(&protocols, "Udp", "RcvbufErrors")
            + field(&more, "TcpExt", "TCPBacklogDrop")
            + field(&more, "TcpExt", "TCPRcvQDrop");
        counts.retransmits += field(&protocols, "Tcp", "RetransSegs");
        Ok(())
    }
}

/// Reads the whole file, starting at offset 0.
fn text(file: &File) -> std::io::Result<String> {
    let mut bytes = vec![0; 16_384];
    let mut length = 0;
    loop {
        match file.read_at(&mut bytes[length..], length as u64)? {
            0 => break,
            read => length += read,
        }
        if length == bytes.len() {
            bytes.resize(2 * length, 0);
        }
    }
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// Packets that devices dropped in both directions, from text in the format of /proc/net/dev. Each device
/// name is followed by 8 columns for received packets and 8 for sent ones. In each group, the third column is
/// errors and the fourth is drops.
fn device_drops(text: &str) -> u64 {
    let devices = text.lines().filter_map(|line| line.split_once(':'));
    let figures = devices.flat_map(|(_, figures)| figures.split_whitespace().enumerate());
    let dropped = figures.filter(|(column, _)| matches!(column % 8, 2 | 3));
    dropped.filter_map(|(_, it)| it.parse::<u64>().ok()).sum()
}

/// A value from text in the format of /proc/net/snmp, where a line of names precedes each line of values.
/// Returns 0 if the kernel does not provide the counter.
fn field(text: &str, protocol: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| {
        let (of, rest) = line.split_once(':')?;
        (of == protocol).then_some(rest)
    });
    let (Some(names), Some(figures)) = (lines.next(), lines.next()) else {
        return 0;
    };
    let mut pairs = names.split_whitespace().zip(figures.split_whitespace());
    let found = pairs.find(|(it, _)| *it == name);
    found
        .and_then(|(_, figure)| figure.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_devices_are_read() {
        let text = "Inter-|   Receive                            |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 100 2 0 0 0 0 0 0 100 2 0 0 0 0 0 0
rpcgauge0: 5000 9 1 20 7 7 7 7 9000 9 300 4000 7 7 7 7
";
        assert_eq!(device_drops(text), 4_321);
    }

    #[test]
    fn a_field_is_found_by_its_name() {
        let text = "Tcp: RtoMin RetransSegs InErrs\nTcp: 200 17 3\nUdp: InDatagrams RcvbufErrors\nUdp: 5 6\n";
        assert_eq!(field(text, "Tcp", "RetransSegs"), 17);
        assert_eq!(field(text, "Udp", "RcvbufErrors"), 6);
        assert_eq!(field(text, "Udp", "Other"), 0);
        assert_eq!(field(text, "TcpExt", "TCPBacklogDrop"), 0);
    }

    #[test]
    fn a_snapshot_counts_since_another() {
        let mut totals = Totals::new();
        let snapshot = |totals: &Totals, drops| Snapshot {
            totals: totals.clone(),
            kernel: KernelCounts {
                drops,
                retransmits: 2 * drops,
            },
            calibration: Calibration::default(),
        };
        totals.late(1_000_000);
        totals.directions[0].packets = 3;
        (totals.waited, totals.cpu) = (10, 100);
        let first = snapshot(&totals, 1);
        for _ in 0..100 {
            totals.late(50);
        }
        totals.directions[0].packets = 10;
        (totals.waited, totals.cpu) = (15, 170);
        let counts = snapshot(&totals, 3).since(&first);
        assert_eq!((counts.up.packets, counts.down.packets), (7, 0));
        assert_eq!((counts.foreign_drops, counts.retransmits), (2, 4));
        assert_eq!((counts.waited_ns, counts.cpu_ns), (5, 70));
        assert_eq!(counts.lateness.p50_ns, 50);
        assert_eq!(counts.lateness.max_ns, 50);
    }
}
