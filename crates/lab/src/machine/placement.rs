//! Decides which cores client and server run on.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::marker::PhantomData;

use rpcgauge_study::settings::Placement;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use thiserror::Error;

use crate::machine::cores::{self, Core, CorePair};

/// Why processes could not be placed.
#[derive(Debug, Error)]
pub enum PlacementError {
    /// Two cores were requested, but only one is available.
    #[error(
        "placement two-cores needs two cores, but this program may use only one (core {0}); \
         allow it more cores (taskset, the container's CPU set) or set the placement to one-core"
    )]
    OneCoreOnly(usize),
    /// The kernel rejected a system call.
    #[error("could not {0}: {1}; check this program's CPU set")]
    Refused(&'static str, #[source] io::Error),
}

/// The cores of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreSet(Vec<usize>);

impl CoreSet {
    /// Creates a set from core numbers in increasing order.
    pub(crate) fn new(ids: Vec<usize>) -> Self {
        Self(ids)
    }

    /// The kernel's core numbers, in increasing order.
    pub fn ids(&self) -> &[usize] {
        &self.0
    }

    fn mask(&self) -> CpuSet {
        let mut mask = CpuSet::new();
        self.0.iter().for_each(|&id| mask.set(id));
        mask
    }

    /// Binds the calling thread and, by inheritance, every thread and process that it starts later. Does not
    /// allocate, so it is safe between fork and exec.
    pub(crate) fn bind_this_thread(&self) -> io::Result<()> {
        Ok(sched_setaffinity(None, &self.mask())?)
    }
}

impl fmt::Display for CoreSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&ids.join(","))
    }
}

/// The cores of both sides under one placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The measuring thread's cores.
    pub client: CoreSet,
    /// The subject process's cores.
    pub server: CoreSet,
}

/// The placements that are possible on this machine. Chosen once, so that every trial uses the same cores.
#[derive(Debug, Clone)]
pub struct Placements {
    allowed: Vec<Core>,
    pair: Option<CorePair>,
}

impl Placements {
    /// Determines the placements from the cores that the calling thread may use.
    ///
    /// # Errors
    /// [`PlacementError::Refused`] if the kernel does not report the cores.
    pub fn detect() -> Result<Self, PlacementError> {
        let allowed = cores::allowed().map_err(refused("read the allowed cores"))?;
        Ok(Self::among(allowed))
    }

    /// The placements that are possible with these cores.
    pub(crate) fn among(allowed: Vec<Core>) -> Self {
        let pair = cores::choose_pair(&allowed);
        Self { allowed, pair }
    }

    /// The cores of [`Placement::TwoCores`].
    pub(crate) fn pair(&self) -> Option<CorePair> {
        self.pair
    }

    /// The cores of both sides under `placement`.
    ///
    /// # Errors
    /// [`PlacementError::OneCoreOnly`] if two cores are requested and there is only one.
    pub fn layout(&self, placement: Placement) -> Result<Layout, PlacementError> {
        let all = || CoreSet(self.allowed.iter().map(|core| core.id).collect());
        let first = self.allowed.first().map_or(0, |core| core.id);
        let (client, server) = match (placement, self.pair) {
            (Placement::Free, _) => (all(), all()),
            (Placement::TwoCores, Some(pair)) => {
                (CoreSet(vec![pair.client.id]), CoreSet(vec![pair.server.id]))
            }
            (Placement::TwoCores, None) => return Err(PlacementError::OneCoreOnly(first)),
            // Use the client's core of the pair, so that both placements are measured on the same core.
            (Placement::OneCore, pair) => {
                let shared = CoreSet(vec![pair.map_or(first, |pair| pair.client.id)]);
                (shared.clone(), shared)
            }
        };
        Ok(Layout { client, server })
    }

    /// The cores of both sides under those of `placements` that are possible here.
    pub(crate) fn cores(&self, placements: &[Placement]) -> BTreeSet<usize> {
        let layouts = placements.iter().flat_map(|&one| self.layout(one));
        layouts
            .flat_map(|layout| [layout.client.0, layout.server.0])
            .flatten()
            .collect()
    }
}

fn refused(what: &'static str) -> impl FnOnce(io::Error) -> PlacementError {
    move |source| PlacementError::Refused(what, source)
}

/// Binds the calling thread to cores. Dropping it restores the previous affinity.
#[derive(Debug)]
pub struct Bound {
    before: CpuSet,
    // Only the bound thread can restore its affinity, so this must not move to another thread.
    _this_thread: PhantomData<*const ()>,
}

impl Bound {
    /// Binds the calling thread.
    ///
    /// # Errors
    /// [`PlacementError::Refused`] if the kernel does not allow it.
    pub fn to(cores: &CoreSet) -> Result<Self, PlacementError> {
        let before = sched_getaffinity(None)
            .map_err(io::Error::from)
            .map_err(refused("read the allowed cores"))?;
        cores
            .bind_this_thread()
            .map_err(refused("bind the measuring thread to its core"))?;
        Ok(Self {
            before,
            _this_thread: PhantomData,
        })
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // If a core went offline in the meantime, this fails, and the thread keeps its current affinity.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(id: usize) -> Core {
        Core {
            id,
            package: 0,
            physical: id as u32,
        }
    }

    #[test]
    fn each_placement_has_its_cores() {
        let placements = Placements::among(vec![core(2), core(3)]);
        let ids = |placement| {
            let layout = placements.layout(placement).unwrap();
            (layout.client.to_string(), layout.server.to_string())
        };
        assert_eq!(ids(Placement::TwoCores), ("2".into(), "3".into()));
        assert_eq!(ids(Placement::OneCore), ("2".into(), "2".into()));
        assert_eq!(ids(Placement::Free), ("2,3".into(), "2,3".into()));
        let cores = |used: &[Placement]| placements.cores(used);
        assert_eq!(cores(&[Placement::OneCore]), [2].into());
        assert_eq!(
            cores(&[Placement::OneCore, Placement::TwoCores]),
            [2, 3].into()
        );
    }

    #[test]
    fn two_cores_on_one_are_refused_with_what_to_do() {
        let placements = Placements::among(vec![core(5)]);
        let error = placements
            .layout(Placement::TwoCores)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("core 5") && error.contains("one-core"),
            "{error}"
        );
        assert!(placements.layout(Placement::OneCore).is_ok());
        assert!(placements.layout(Placement::Free).is_ok());
    }

    #[test]
    fn a_thread_gets_its_cores_back() {
        std::thread::spawn(|| {
            let before = cores::allowed().unwrap();
            let one = CoreSet(vec![before[0].id]);
            let bound = Bound::to(&one).unwrap();
            assert_eq!(cores::allowed().unwrap().len(), 1);
            drop(bound);
            assert_eq!(cores::allowed().unwrap(), before);
        })
        .join()
        .unwrap();
    }
}
