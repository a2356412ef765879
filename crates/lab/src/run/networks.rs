//! The emulated links of a run. Each variant or floor over a link has its own under each placement, so that
//! their packets do not interfere. They are reused in all invocations.
//!
//! Links with the same terms share one calibration and therefore its error, which cancels in every ratio.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rpcgauge_link::{Network, Options};
use rpcgauge_study::link::NamedLink;
use rpcgauge_study::settings::Placement;
use rpcgauge_trial::Calibration;

use crate::error::TrialResult;
use crate::machine::placement::Layout;

/// Who uses a link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum User {
    /// A variant, by its index.
    Variant(u32),
    /// All floors over the link with this name.
    Floors(String),
}

#[derive(Debug, Default)]
pub(super) struct Networks {
    made: RefCell<BTreeMap<(User, Placement), Rc<Network>>>,
    /// Calibrations by the link's name. Links with the same name have the same terms.
    calibrated: RefCell<BTreeMap<(String, Placement), Calibration>>,
}

impl Networks {
    /// The link of `user`, created when first needed; `None` for loopback. `seed` determines which packets are
    /// lost.
    pub(super) fn get(
        &self,
        link: Option<&NamedLink>,
        user: User,
        (placement, layout): (Placement, &Layout),
        seed: u64,
    ) -> TrialResult<Option<Rc<Network>>> {
        let Some(link) = link else {
            return Ok(None);
        };
        let key = (user, placement);
        if let Some(network) = self.made.borrow().get(&key) {
            return Ok(Some(network.clone()));
        }
        let kind = (link.name.clone(), placement);
        let options = Options {
            client_cores: layout.client.ids().to_vec(),
            server_cores: layout.server.ids().to_vec(),
            seed,
            calibrated: self.calibrated.borrow().get(&kind).copied(),
        };
        let network = Rc::new(Network::open(&link.terms, &options)?);
        let mut calibrated = self.calibrated.borrow_mut();
        calibrated.entry(kind).or_insert(network.calibration());
        self.made.borrow_mut().insert(key, network.clone());
        Ok(Some(network))
    }
}
