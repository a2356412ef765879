//! `rpcgauge run`: studies from file to report.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use super::measure::{self, Ended, How};
use crate::args::RunArgs;
use crate::exit::{Failure, Outcome};
use crate::inputs;

pub(crate) fn run(args: RunArgs) -> Outcome {
    if args.output.out.is_some() && args.studies.len() > 1 {
        return Err(Failure::input(
            "--out names one directory, but there are several studies; run them one by one",
        ));
    }
    let stop = measure::stop_flag()?;
    let how = How {
        output: &args.output,
        stop: &stop,
        live: &BTreeMap::new(),
    };
    if let Some(directory) = &args.resume {
        return measure::resume(directory, &args.limits, how).map(Ended::code);
    }
    let limits = inputs::limits(&args.limits)?;
    // All are resolved before the first is run: a mistake in the last one shows at once.
    let studies = args
        .studies
        .iter()
        .map(|study| inputs::study(study, &args.overrides, limits))
        .collect::<Result<Vec<_>, _>>()?;
    let mut ended = Ended::Well;
    for study in &studies {
        ended = ended.worst(measure::start(study, how)?);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(ended.code())
}
