//! `rpcgauge plan`: the resolved trials and how long they take; runs nothing.

use crate::args::PlanArgs;
use crate::exit::{Outcome, print, print_json};
use crate::inputs;
use crate::show;

pub(crate) fn run(args: PlanArgs) -> Outcome {
    let plan = inputs::study(&args.study, &args.overrides, inputs::limits(&args.limits)?)?.plan;
    if args.json {
        print_json(&plan)
    } else {
        print(&plan.text(show::columns()))
    }
}
