//! The reference subject as a separate program for the tests of this crate, which start it the way
//! the lab starts any subject.

use std::process::ExitCode;

fn main() -> ExitCode {
    rpcgauge_reference::subject_main()
}
