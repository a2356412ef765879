//! The emulated links of a run: one for each variant and floor that uses one, under each placement, so that
//! their packets do not meet. They are kept for all invocations.
//!
//! Links of the same terms share one calibration, so they share its error, and it cancels in every ratio.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rpcgauge_link::{Network, Options};
use rpcgauge_study::link::NamedLink;
use rpcgauge_study::settings::Placement;
use rpcgauge_trial::Calibration;

use crate::error::TrialResult;
use crate::machine::placement::Layout;

/// The user of a link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum User {
    /// A variant, by its index.
    Variant(u32),
    /// All floors over the link of this name.
    Floors(String),
}

#[derive(Debug, Default)]
pub(super) struct Networks {
    made: RefCell<BTreeMap<(User, Placement), Rc<Network>>>,
    /// By the link's name: links of the same name are equal.
    calibrated: RefCell<BTreeMap<(String, Placement), Calibration>>,
}

impl Networks {
    /// The link of `user`, made when it is first needed; `None` for loopback. `seed` decides which packets are
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
