//! The figures of a trial that only the operating system knows.

use std::io;
use std::time::Duration;

use rpcgauge_study::record::{Memory, Startup, Threads, TrialFigures};

use crate::machine::process::ProcessMeter;
use crate::subject::Subject;
use crate::variant::server::Running;

/// Adds the resources used by the processes of both sides, and how long they took to start. `caller` is a client or
/// codec subject. There is no `server` for a service that was already running or a codec.
pub(crate) fn add_processes(
    figures: &mut TrialFigures,
    client: &ProcessMeter,
    caller: Option<&Subject>,
    server: Option<Running<'_>>,
) -> io::Result<()> {
    let meter = server.map(Running::meter);
    figures.memory = Memory {
        client_peak: client.peak_bytes()?,
        server_peak: meter.as_ref().map(ProcessMeter::peak_bytes).transpose()?,
    };
    figures.threads = Threads {
        client: client.threads()?,
        server: meter.as_ref().map(ProcessMeter::threads).transpose()?,
    };
    figures.startup = Startup {
        client_ns: caller.map(|caller| nanos(caller.startup)),
        server_ns: server.map(|server| nanos(server.startup())),
        cold: server.and_then(Running::cold),
    };
    Ok(())
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
