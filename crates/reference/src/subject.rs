//! The reference server behind the subject contract (`contract/README.md`).

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;

use rpcgauge_contract::{
    self as contract, Answer, Ask, Asked, CodecSettings, Failed, Fault, FloorSettings, HttpVersion,
    Protocol, Ready, ReadyPart, Reply, ServerSettings,
};
use rpcgauge_message::Limits;

use crate::budget::default_memory;
use crate::listen::Listener;
use crate::server::{ServeError, Server};
use crate::settings::ServerOptions;
use crate::timeouts::Timeouts;
use crate::{codec, floor};

#[cfg(test)]
mod tests;

/// The one stack that this subject has.
pub const STACK: &str = "hyper";

/// The libraries that the server's figures depend on, as the lock file has them; a test holds them
/// against it.
const LIBRARIES: [(&str, &str); 4] = [
    ("hyper", "1.12.0"),
    ("h2", "0.4.20"),
    ("rustls", "0.23.46"),
    ("tokio", "1.54.1"),
];

/// Speaks the contract on this process's standard input and output until the input closes.
pub fn subject_main() -> ExitCode {
    ExitCode::from(run(BufReader::new(io::stdin()), io::stdout()))
}

/// Speaks the contract on any pair of streams. Returns the exit code: 0, or that of the fault.
pub fn run(mut input: impl BufRead + Send + 'static, mut output: impl Write) -> u8 {
    let ended = match contract::SettingsLine::read(&mut input) {
        Ok(contract::SettingsLine::Server(settings)) => serve(vec![*settings], input, &mut output),
        Ok(contract::SettingsLine::Servers(settings)) => serve(settings.parts, input, &mut output),
        Ok(contract::SettingsLine::Floor(settings)) => serve_floor(&settings, input, &mut output),
        Ok(contract::SettingsLine::Client(_) | contract::SettingsLine::Clients(_)) => Err(
            Ended::refused("this subject has no client: the load engine is the one that there is"),
        ),
        Ok(contract::SettingsLine::Codec(settings)) => run_codec(&settings, input, &mut output),
        Err(error) => Err(Ended::Refused(error.to_string(), Fault::Instrument)),
    };
    match ended {
        Ok(()) => 0,
        Err(Ended::Refused(error, fault)) => {
            let line = Reply::Failed(Failed { error, fault }).to_line();
            if write_line(&mut output, &line).is_err() {
                eprintln!("{line}");
            }
            fault.exit_code()
        }
        Err(Ended::Broke(error, fault)) => {
            eprintln!("ended: {error}");
            fault.exit_code()
        }
    }
}

/// Why a role ended other than by the closing of its input.
#[derive(Debug)]
enum Ended {
    /// Before it was ready, or instead of a response: the error line says why.
    Refused(String, Fault),
    /// While it served: the one reply is used up, so that the log says why.
    Broke(String, Fault),
}

impl From<Failed> for Ended {
    fn from(failed: Failed) -> Self {
        Self::Refused(failed.error, failed.fault)
    }
}

impl From<ServeError> for Ended {
    fn from(error: ServeError) -> Self {
        Self::Refused(error.to_string(), error.fault())
    }
}

impl Ended {
    /// Settings that this subject cannot serve.
    fn refused(error: impl ToString) -> Self {
        Self::Refused(error.to_string(), Fault::User)
    }
}

/// Roles `server` and `servers`.
fn serve(
    asked: Vec<ServerSettings>,
    input: impl BufRead + Send + 'static,
    output: &mut impl Write,
) -> Result<(), Ended> {
    let mut servers = asked.into_iter().map(bind).collect::<Result<Vec<_>, _>>()?;
    let mut parts: Vec<ReadyPart> = servers.iter().map(ready_part).collect();
    let ready = match &mut parts[..] {
        [only] => Ready {
            only: std::mem::take(only),
            ..Ready::default()
        },
        _ => Ready {
            parts,
            ..Ready::default()
        },
    };
    write_ready(output, ready)?;
    let broke = |error: ServeError| Ended::Broke(error.to_string(), error.fault());
    let Some(last) = servers.pop() else {
        return Ok(());
    };
    let (failed, failure) = mpsc::channel();
    let mut ends = Vec::new();
    for server in servers {
        let (end, is_over) = mpsc::channel::<()>();
        ends.push(end);
        let failed = failed.clone();
        spawn("serve", move || {
            // It fails once the other side is dropped, which is the sign to end.
            let served = server.serve_until(move || {
                let _ = is_over.recv();
            });
            if let Err(error) = served {
                // The receiver lives until all have ended.
                let _ = failed.send(error);
            }
        })?;
    }
    drop(failed);
    last.serve_until(move || {
        drain(input);
        drop(ends);
    })
    .map_err(broke)?;
    failure
        .iter()
        .next()
        .map_or(Ok(()), |error| Err(broke(error)))
}

fn bind(asked: ServerSettings) -> Result<Server, Ended> {
    check_stack(asked.stack.as_deref())?;
    if (asked.protocol, asked.http) == (Protocol::Grpc, HttpVersion::Http1) {
        return Err(Ended::refused("gRPC needs HTTP/2: set http to \"2\""));
    }
    let limits = Limits::try_from(asked.limits).map_err(Ended::refused)?;
    Ok(Server::bind(&ServerOptions {
        workload: asked.workload,
        listen: asked.listen.into(),
        tls: asked.tls,
        response_compression: asked.response_compression,
        encoding: asked.encoding,
        threads: asked.threads,
        marks: asked.marks,
        reflection: false,
        limits,
        memory: default_memory(),
        timeouts: Timeouts::DEFAULT,
    })?)
}

fn ready_part(server: &Server) -> ReadyPart {
    ReadyPart {
        address: Some(server.address().clone()),
        certificate: server.certificate().map(str::to_owned),
        code: Some(server.code()),
    }
}

/// Role `floor`.
fn serve_floor(
    asked: &FloorSettings,
    input: impl BufRead + Send + 'static,
    output: &mut impl Write,
) -> Result<(), Ended> {
    let mut listener = Listener::bind(&asked.listen.clone().into()).map_err(ServeError::from)?;
    // The floor's thread never ends by itself: the process ends, and the file with it.
    let _file = listener.take_file();
    let ready = Ready {
        only: ReadyPart {
            address: Some(listener.address().clone()),
            ..ReadyPart::default()
        },
        ..Ready::default()
    };
    write_ready(output, ready)?;
    let (ended, end) = mpsc::channel();
    let closed = ended.clone();
    spawn("floor", move || {
        let error = format!("the floor's socket failed: {}", floor::serve(&listener));
        // Without a receiver the input has closed already.
        let _ = ended.send(Err(Ended::Broke(error, Fault::Machine)));
    })?;
    spawn("wait-for-end", move || {
        drain(input);
        let _ = closed.send(Ok(()));
    })?;
    // Both senders gone would mean that both threads panicked.
    end.recv().unwrap_or(Ok(()))
}

/// Role `codec`.
fn run_codec(
    asked: &CodecSettings,
    mut input: impl BufRead,
    output: &mut impl Write,
) -> Result<(), Ended> {
    check_stack(asked.stack.as_deref())?;
    let mut bench = codec::Bench::new(asked)?;
    let ready = Ready {
        only: ReadyPart {
            code: Some(bench.code()),
            ..ReadyPart::default()
        },
        ..Ready::default()
    };
    write_ready(output, ready)?;
    let wrong =
        |error: contract::ContractError| Ended::Refused(error.to_string(), Fault::Instrument);
    while let Some(ask) = Ask::read(&mut input).map_err(wrong)? {
        if ask.part > 0 {
            let error = format!("there is no part {}: this codec has only one", ask.part);
            return Err(Ended::Refused(error, Fault::Instrument));
        }
        let reply = match ask.asked {
            Asked::Verify => Answer::Verified(bench.verify()?),
            Asked::Slice(slice) => Answer::Slice(bench.slice(&slice)?),
        };
        write_reply(output, &reply.to_line())?;
    }
    Ok(())
}

fn check_stack(asked: Option<&str>) -> Result<(), Ended> {
    match asked {
        None | Some(STACK) => Ok(()),
        Some(other) => Err(Ended::refused(format!(
            "unknown stack \"{other}\": this subject has {STACK}"
        ))),
    }
}

/// Writes the ready line, with the versions.
fn write_ready(output: &mut impl Write, ready: Ready) -> Result<(), Ended> {
    let ready = Ready {
        versions: versions(),
        ..ready
    };
    write_reply(output, &Reply::Ready(ready).to_line())
}

/// Writes a line while the other side waits for it.
fn write_reply(output: &mut impl Write, line: &str) -> Result<(), Ended> {
    write_line(output, line).map_err(|error| {
        let error = format!("cannot write to standard output: {error}");
        Ended::Broke(error, Fault::Machine)
    })
}

fn write_line(output: &mut impl Write, line: &str) -> io::Result<()> {
    output.write_all(line.as_bytes())?;
    output.write_all(b"\n")?;
    output.flush()
}

/// Reads to the end and throws away; a stream that fails has ended too.
fn drain(mut input: impl BufRead) {
    let _ = io::copy(&mut input, &mut io::sink());
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Ended> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(|error| {
        let error = format!("cannot start a thread: {error}");
        Ended::Broke(error, Fault::Machine)
    })
}

fn versions() -> BTreeMap<String, String> {
    let own = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    [own]
        .into_iter()
        .chain(LIBRARIES)
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
        .collect()
}
