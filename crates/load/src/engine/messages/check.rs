//! Checks of responses that are not decoded. If a check fails, so does the call.

use crate::bodies::ResponseCheck;
use crate::clock;
use crate::engine::messages::Unread;
use crate::engine::response::{Keep, Response};

/// Checks may use at most one part in this many of the time. While a check runs, no call is begun and no
/// response is read, so a larger share would be visible in the 99th percentile.
const SHARE: u64 = 100;

pub(super) struct Checking<'r> {
    check: ResponseCheck<'r>,
    /// When the first response was checked, ns.
    since: Option<u64>,
    spent: u64,
    /// Whether a check has failed. From then on, all responses are checked, however long that takes.
    refused: bool,
}

impl<'r> Checking<'r> {
    pub(super) fn new(check: ResponseCheck<'r>) -> Self {
        Checking {
            check,
            since: None,
            spent: 0,
            refused: false,
        }
    }

    pub(super) fn keep(&self) -> Keep {
        Keep::Check(self.check.of)
    }

    /// Checks a response if it was stored for this purpose and there is time.
    pub(super) fn check(&mut self, response: &Response) -> Result<(), Unread> {
        let Some(carried) = response.to_check() else {
            return Ok(());
        };
        let now = clock::now();
        let lasted = now.saturating_sub(*self.since.get_or_insert(now));
        if !self.refused && self.spent.saturating_mul(SHARE) > lasted {
            return Ok(());
        }
        let checked = (self.check.check)(carried);
        self.spent += clock::now().saturating_sub(now);
        self.refused |= checked.is_err();
        checked.map_err(|error| Unread::Failed(self.check.of.fails_as(), error))
    }
}
