//! Runs a program and tells what it took: `bench-measure REPORT PROGRAM …`, where the report is a file
//! for one JSON object. It runs where this one does.
//!
//! A process's peak memory as the kernel tells it begins with that of the one that started it. This
//! program is small, so that the figures of small programs stay theirs.

use std::mem::MaybeUninit;
use std::process::{Command, ExitCode};

use bench_servers::clock;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(code) => code,
        Err(reason) => {
            eprintln!("bench-measure: {reason}");
            ExitCode::from(125)
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode, String> {
    let [report, program, rest @ ..] = arguments else {
        return Err("a file for the report and a program are wanted".to_owned());
    };
    let start = clock::now();
    let status = Command::new(program)
        .args(rest)
        .status()
        .map_err(|error| format!("{program} cannot be started: {error}"))?;
    let elapsed = clock::now() - start;
    let usage = usage_of_children();
    let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    let json = format!(
        r#"{{"user_us":{},"system_us":{},"peak_kib":{},"elapsed_ns":{elapsed}}}"#,
        micros(usage.ru_utime),
        micros(usage.ru_stime),
        usage.ru_maxrss
    );
    std::fs::write(report, json).map_err(|error| format!("{report}: {error}"))?;
    Ok(ExitCode::from(status.code().map_or(255, |code| code as u8)))
}

/// Of every process below this one that has ended.
fn usage_of_children() -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a whole `rusage`, which the call fills in; all zeros is a valid
    // one, should the call fail.
    unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    }
}
