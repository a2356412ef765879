//! `rpcgauge doctor`: what this machine can measure, and how quietly.

use rpcgauge_lab::{Options, doctor};

use super::subjects;
use crate::args::DoctorArgs;
use crate::exit::{Failure, Outcome, print_json, print_plain};

pub(crate) fn run(args: DoctorArgs) -> Outcome {
    let logs = tempfile::Builder::new()
        .prefix("rpcgauge-doctor-")
        .tempdir()
        .map_err(|error| {
            Failure::cannot(format!(
                "cannot make a temporary folder: {error}; set TMPDIR"
            ))
        })?;
    let options = Options::new(subjects::reference()?, logs.path().to_owned());
    let findings = doctor::examine(&options, !args.no_noise);
    if args.json {
        print_json(&findings)
    } else {
        print_plain(&findings.to_string())
    }
}
