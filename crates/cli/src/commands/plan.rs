//! `rpcgauge plan`: prints the resolved trials and how long they would take; runs nothing.

use super::{app_study, subjects};
use crate::args::PlanArgs;
use crate::exit::Outcome;
use crate::inputs;
use crate::show;

pub(crate) fn run(args: PlanArgs) -> Outcome {
    let limits = inputs::limits(&args.limits)?;
    let mut subjects = subjects::load(&args.subjects)?;
    let written = inputs::written(&args.study)?;
    if let Some(study) = inputs::of_app(&written, &args.overrides)? {
        return app_study::plan(&study.plan, args.json);
    }
    let stacks = subjects::named_in(&written.text);
    subjects.add_versions(stacks.iter().map(String::as_str))?;
    let plan = inputs::study(written, &args.overrides, limits, &subjects, false)?.plan;
    show::plan(&plan, args.json)
}
