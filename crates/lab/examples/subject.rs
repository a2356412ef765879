//! The reference subject as a program of its own, for the tests of this crate: they start it as
//! the lab starts any subject.

use std::process::ExitCode;

fn main() -> ExitCode {
    rpcgauge_reference::subject_main()
}
