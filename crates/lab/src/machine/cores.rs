//! Finds the cores that this program may use, and assigns them to client and server.

use std::fs;
use std::io;
use std::path::Path;

use rustix::thread::{CpuSet, sched_getaffinity};

/// A logical processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Core {
    /// The kernel's number for it.
    pub id: usize,
    /// The package (socket) it belongs to.
    pub package: u32,
    /// The physical core within the package. Hardware threads of one core share this number.
    pub physical: u32,
}

/// One core for the client and one for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CorePair {
    pub(crate) client: Core,
    pub(crate) server: Core,
}

impl CorePair {
    /// Whether both are hardware threads of one physical core, in which case each slows the other.
    pub(crate) fn is_one_physical_core(&self) -> bool {
        let place = |core: Core| (core.package, core.physical);
        place(self.client) == place(self.server)
    }
}

/// The cores that the calling thread may run on, by increasing number.
///
/// # Errors
/// The kernel does not report the thread's affinity.
pub fn allowed() -> io::Result<Vec<Core>> {
    let set = sched_getaffinity(None)?;
    let base = Path::new("/sys/devices/system/cpu");
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&id| set.is_set(id))
        .map(|id| described(base, id))
        .collect())
}

/// Reads a core's place in the topology. If the system does not expose it, each logical processor is treated as
/// a physical core.
fn described(base: &Path, id: usize) -> Core {
    let read = |name: &str| -> Option<u32> {
        let path = base.join(format!("cpu{id}/topology/{name}"));
        fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    Core {
        id,
        package: read("physical_package_id").unwrap_or(0),
        physical: read("core_id").unwrap_or(id as u32),
    }
}

/// Chooses one core for the client and one for the server; `None` if there is only one core.
///
/// Two physical cores of one package are best: hardware threads slow each other down, and another package is
/// farther away than a neighboring service would be. On many machines the lowest core handles most interrupts,
/// so it is avoided if possible.
pub(crate) fn choose_pair(allowed: &[Core]) -> Option<CorePair> {
    let pairs = allowed.iter().enumerate().flat_map(|(at, &client)| {
        let servers = allowed[at + 1..].iter();
        servers.map(move |&server| CorePair { client, server })
    });
    // `min_by_key` returns the first of equally good pairs. The client gets the lower core.
    pairs.min_by_key(|pair| {
        let is_near = pair.client.package == pair.server.package;
        match (pair.is_one_physical_core(), is_near) {
            (true, _) => 3,
            (false, false) => 2,
            (false, true) => u32::from(pair.client == allowed[0]),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(described: &[(usize, u32, u32)]) -> Vec<Core> {
        described
            .iter()
            .map(|&(id, package, physical)| Core {
                id,
                package,
                physical,
            })
            .collect()
    }

    fn chosen(described: &[(usize, u32, u32)]) -> Option<(usize, usize)> {
        choose_pair(&cores(described)).map(|pair| (pair.client.id, pair.server.id))
    }

    #[test]
    fn a_pair_is_two_physical_cores_of_one_package() {
        let cases = [
            ("two cores", vec![(0, 0, 0), (1, 0, 1)], Some((0, 1))),
            (
                "the lowest is spared",
                vec![(0, 0, 0), (1, 0, 1), (2, 0, 2)],
                Some((1, 2)),
            ),
            (
                "no hardware threads",
                vec![(0, 0, 0), (1, 0, 0), (2, 0, 1), (3, 0, 1)],
                Some((1, 2)),
            ),
            (
                "one package",
                vec![(4, 0, 0), (5, 0, 1), (6, 1, 0), (7, 1, 1)],
                Some((6, 7)),
            ),
            (
                "the lowest, if need be",
                vec![(0, 0, 0), (1, 0, 1), (2, 0, 1)],
                Some((0, 1)),
            ),
            ("two packages", vec![(0, 0, 0), (1, 1, 0)], Some((0, 1))),
            (
                "threads, if need be",
                vec![(0, 0, 0), (1, 0, 0)],
                Some((0, 1)),
            ),
            ("one core", vec![(3, 0, 3)], None),
            ("none", vec![], None),
        ];
        for (name, described, expected) in cases {
            assert_eq!(chosen(&described), expected, "{name}");
        }
    }

    #[test]
    fn threads_of_one_core_are_known_as_such() {
        let pair = choose_pair(&cores(&[(0, 0, 0), (1, 0, 0)])).unwrap();
        assert!(pair.is_one_physical_core());
        let pair = choose_pair(&cores(&[(0, 0, 0), (1, 1, 0)])).unwrap();
        assert!(!pair.is_one_physical_core());
    }

    #[test]
    fn this_thread_may_run_somewhere() {
        let allowed = allowed().unwrap();
        assert!(!allowed.is_empty());
        assert!(allowed.is_sorted_by_key(|core| core.id));
    }
}
