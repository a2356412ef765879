//! Carries a trial out.

use std::sync::atomic::AtomicBool;

use crate::bodies::Bodies;
use crate::error::LoadError;
use crate::measurement::Measurement;
use crate::trial::Trial;
use crate::warmup::{Settling, WarmupSlice};

/// Carries `trial` out on the calling thread.
///
/// `rule` is asked after each slice of the warm-up. Setting `stop` ends the trial within about a
/// tenth of a second, with what was measured until then.
///
/// # Errors
/// [`LoadError`] when there is nothing to measure with. Calls that fail are no error of the trial:
/// they are counted in [`Measurement::calls`].
pub fn measure(
    trial: &Trial,
    bodies: Bodies<'_>,
    rule: &mut dyn FnMut(WarmupSlice) -> Settling,
    stop: &AtomicBool,
) -> Result<Measurement, LoadError> {
    trial.check()?;
    let _ = (trial.request.prepare()?, bodies, rule, stop);
    Err(LoadError::Setting {
        what: "the engine",
        allowed: "finished first",
    })
}
