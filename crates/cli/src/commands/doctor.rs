//! `rpcgauge doctor`: shows what this machine can measure, and how noisy it is.

use rpcgauge_lab::doctor;

use super::{link, subjects};
use crate::args::{DoctorArgs, SubjectFolders};
use crate::exit::{Outcome, print_json, print_plain};

pub(crate) fn run(args: DoctorArgs) -> Outcome {
    let subjects = subjects::load(&SubjectFolders::default())?;
    let findings = doctor::examine(
        &subjects::reference()?,
        &subjects,
        link::try_out(),
        !args.no_noise,
    );
    if args.json {
        print_json(&findings)
    } else {
        print_plain(&findings.to_string())
    }
}
