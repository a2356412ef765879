//! The reference subject as a separate program, for the tests of this crate: they start it as
//! the lab starts any subject.

use std::process::ExitCode;

fn main() -> ExitCode {
    rpcgauge_reference::subject_main()
}
