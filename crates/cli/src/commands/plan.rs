//! `rpcgauge plan`: the resolved trials and how long they take; runs nothing.

use super::subjects;
use crate::args::PlanArgs;
use crate::exit::Outcome;
use crate::inputs;
use crate::show;

pub(crate) fn run(args: PlanArgs) -> Outcome {
    let limits = inputs::limits(&args.limits)?;
    let subjects = subjects::load(&args.subjects)?;
    let plan = inputs::study(&args.study, &args.overrides, limits, &subjects, false)?.plan;
    show::plan(&plan, args.json)
}
