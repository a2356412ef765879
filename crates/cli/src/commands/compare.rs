//! `rpcgauge compare`: the sensible ways to make the user's own call.

use std::collections::BTreeMap;

use rpcgauge_lab::Stacks;
use rpcgauge_study::compare::{self, CompareError, CompareOptions};

use super::measure::{self, Ended, How};
use crate::args::CompareArgs;
use crate::exit::{Failure, Outcome};
use crate::inputs::{self, Resolved};
use crate::show;
use crate::signals;

pub(crate) fn run(args: CompareArgs) -> Outcome {
    let own = inputs::own_workload(&args.schema, &args.method, &args.request, &args.response)?;
    let options = CompareOptions {
        only: args.only,
        against: args.against,
        sizes: args.size_sweep,
        budget: args.budget,
        seed: args.seed,
        cores: inputs::cores(),
        limits: inputs::limits(&args.limits)?,
    };
    let plan = compare::study(&own, &options).map_err(|error| match error {
        CompareError::OverLimit(over) => {
            inputs::over_limit(&over, Some((&args.request, &args.response)))
        }
        error => Failure::input(error),
    })?;
    if args.plan {
        return show::plan(&plan, args.output.json);
    }
    let stop = signals::stop_flag()?;
    let how = How {
        output: &args.output,
        stop: &stop,
        live: &BTreeMap::new(),
        subjects: &Stacks::default(),
    };
    measure::start(&Resolved { plan, text: None }, how).map(Ended::code)
}
