//! Checks the slices of clients and codecs: they contain the requested number of records, with times in order,
//! and nothing happens between slices.

use std::time::Duration;

use rpcgauge_contract::{Record, SliceAsk, Until};

use super::{PATIENCE, StackCheck};
use crate::error::TrialResult;
use crate::variant::caller::Caller;

/// How long to watch a subject between slices, when it must not make calls.
const SILENCE: Duration = Duration::from_millis(20);

impl StackCheck<'_> {
    /// Tries slices of each kind. For a codec, each record covers `batch` operations. If `in_flight` is 1,
    /// calls must not overlap.
    pub(super) fn try_slices(
        &self,
        caller: &mut Caller,
        batch: Option<u32>,
        in_flight: u32,
    ) -> TrialResult {
        for (skip, until) in [
            (2, Until::Calls(5)),
            (0, Until::Calls(1)),
            (1, Until::Time(Duration::from_millis(2))),
        ] {
            let ask = SliceAsk { skip, until, batch };
            let (done, records) = caller.slice(&ask, PATIENCE, self.stop, || ())?;
            let records = records.calls;
            let count = records.len() as u64;
            let is_right = match until {
                Until::Calls(calls) => count == calls,
                Until::Time(_) => count > 0,
            };
            let right = match until {
                Until::Calls(calls) if !is_right => Err(format!(
                    "the number of records in a slice of {calls} calls is {count}"
                )),
                Until::Time(_) if !is_right => Err("a slice has no records".to_owned()),
                _ if records.iter().any(|record| record.failed) => Err(format!(
                    "a call failed: {}",
                    done.error
                        .unwrap_or_else(|| "it does not report why".to_owned())
                )),
                _ => in_order(&records, batch.unwrap_or(1), in_flight),
            };
            right.map_err(|reason| caller.subject.wrong(reason))?;
            std::thread::sleep(SILENCE);
            caller.silent()?;
        }
        caller.prove_again(PATIENCE, self.stop)?;
        caller.silent()
    }
}

fn in_order(records: &[Record], operations: u32, in_flight: u32) -> Result<(), String> {
    if let Some(other) = records
        .iter()
        .find(|record| record.operations != operations)
    {
        return Err(format!(
            "a record has {} operations, not {operations}",
            other.operations
        ));
    }
    let overlap = |pair: &[Record]| in_flight == 1 && pair[1].begin < pair[0].end;
    if records.windows(2).any(overlap) {
        Err("a call begins before the previous one has ended".to_owned())
    } else {
        Ok(())
    }
}
