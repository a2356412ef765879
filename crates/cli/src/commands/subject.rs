//! The hidden `rpcgauge subject`: the embedded reference server behind the subject contract.

use crate::exit::Outcome;

pub(crate) fn run() -> Outcome {
    Ok(rpcgauge_reference::subject_main())
}
