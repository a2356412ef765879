//! Runs a program and reports its resource usage: `bench-measure REPORT PROGRAM …`, where REPORT is the file
//! for the report, a JSON object. The program runs on the same cores.
//!
//! With `resident=MS` before the program, its resident memory is sampled every MS milliseconds, and the median
//! is reported. The median reflects the memory while the program runs, without peaks from starting and
//! reporting.
//!
//! The peak memory that the kernel reports for a process includes that of the process that started it. This
//! program is small, so it does not affect the figures of small programs.

use std::io;
use std::mem::MaybeUninit;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::thread;
use std::time::Duration;

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
    let usage = "usage: bench-measure REPORT [resident=MS] PROGRAM …";
    let [report, rest @ ..] = arguments else {
        return Err(usage.to_owned());
    };
    let (every, rest) = match rest {
        [first, rest @ ..] if first.starts_with("resident=") => (Some(milliseconds(first)?), rest),
        rest => (None, rest),
    };
    let [program, rest @ ..] = rest else {
        return Err(usage.to_owned());
    };
    let start = clock::now();
    let mut child = Command::new(program)
        .args(rest)
        .spawn()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    let (status, resident_kib) = match every {
        None => (child.wait(), None),
        Some(every) => watch(&mut child, every),
    };
    let status = status.map_err(|error| format!("{program}: {error}"))?;
    let elapsed = clock::now() - start;
    let usage = usage_of_children();
    let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    let json = format!(
        r#"{{"user_us":{},"system_us":{},"peak_kib":{},"resident_kib":{},"elapsed_ns":{elapsed}}}"#,
        micros(usage.ru_utime),
        micros(usage.ru_stime),
        usage.ru_maxrss,
        resident_kib.map_or("null".to_owned(), |kib| kib.to_string())
    );
    std::fs::write(report, json).map_err(|error| format!("{report}: {error}"))?;
    Ok(ExitCode::from(status.code().map_or(255, |code| code as u8)))
}

fn milliseconds(argument: &str) -> Result<Duration, String> {
    let given = argument.trim_start_matches("resident=");
    match given.parse() {
        Ok(ms) if ms > 0 => Ok(Duration::from_millis(ms)),
        _ => Err(format!("{argument}: write a number of ms")),
    }
}

/// Waits for a program to exit. Returns the median of its resident memory while it ran, in KiB.
fn watch(child: &mut Child, every: Duration) -> (io::Result<ExitStatus>, Option<u64>) {
    let mut seen = Vec::new();
    loop {
        match child.try_wait() {
            Ok(None) => seen.extend(resident_kib(child.id())),
            Ok(Some(status)) => {
                let middle = seen.len() / 2;
                seen.sort_unstable();
                return (Ok(status), seen.get(middle).copied());
            }
            Err(error) => return (Err(error), None),
        }
        thread::sleep(every);
    }
}

/// Returns a process's `VmRSS` (proc(5)) in KiB.
fn resident_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse().ok()
}

/// Returns the resource usage of all child processes that have exited.
fn usage_of_children() -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a whole `rusage`, which the call fills in. If the call fails, all zeros is a
    // valid value.
    unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    }
}
