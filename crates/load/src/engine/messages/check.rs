//! Checks of responses that are not decoded. If a check fails, so does the call.

use crate::bodies::{Checked, ResponseCheck};
use crate::clock;
use crate::engine::ledger::Call;
use crate::engine::messages::Unread;
use crate::engine::response::Keep;

/// Checks may use at most one part in this many of the time. While a check runs, no call is begun and no
/// response is read, so a larger share would be visible in the 99th percentile.
const SHARE: u64 = 100;

pub(super) struct Checking<'r> {
    /// The check of all responses, or those of the mix.
    checks: Vec<Option<ResponseCheck<'r>>>,
    /// When the first response was checked, ns.
    since: Option<u64>,
    spent: u64,
    /// Whether a check has failed. From then on, all responses are checked, however long that takes.
    refused: bool,
    /// Checked responses to measured calls.
    measured: u64,
}

impl<'r> Checking<'r> {
    pub(super) fn new(checks: Vec<Option<ResponseCheck<'r>>>) -> Self {
        Checking {
            checks,
            since: None,
            spent: 0,
            refused: false,
            measured: 0,
        }
    }

    pub(super) fn keep(&self, mix_call: usize) -> Keep {
        let check = self.checks.get(mix_call).and_then(Option::as_ref);
        check.map_or(Keep::Nothing, |check| Keep::Check(check.of))
    }

    /// How many responses to measured calls were checked; `None` if only compressed ones are.
    pub(super) fn of_content(&self) -> Option<u64> {
        let mut checks = self.checks.iter().flatten();
        let any = checks.any(|check| check.of == Checked::All);
        any.then_some(self.measured)
    }

    /// Checks a call's response if it was stored for this purpose and there is time.
    pub(super) fn check(&mut self, call: &Call) -> Result<(), Unread> {
        let check = self.checks.get_mut(call.mix_call);
        let (Some(Some(check)), Some(message)) = (check, call.response.to_check()) else {
            return Ok(());
        };
        let now = clock::now();
        let lasted = now.saturating_sub(*self.since.get_or_insert(now));
        if !self.refused && self.spent.saturating_mul(SHARE) > lasted {
            return Ok(());
        }
        let checked = (check.check)(message);
        self.spent += clock::now().saturating_sub(now);
        self.refused |= checked.is_err();
        self.measured += u64::from(call.measured && check.of == Checked::All);
        checked.map_err(|(kind, error)| Unread::Failed(kind, error))
    }
}
