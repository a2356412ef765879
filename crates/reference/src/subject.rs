//! Connects the reference server to the subject contract (`contract/README.md`).

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;

use rpcgauge_contract::{
    self as contract, Answer, Ask, Asked, CodecSettings, Failed, Fault, FloorSettings, HttpVersion,
    Protocol, Ready, ReadyPart, Reply, ServerSettings, StreamForm,
};
use rpcgauge_message::Limits;

use crate::budget::default_memory;
use crate::listen::Listener;
use crate::server::{ServeError, Server};
use crate::settings::{ServerOptions, check_text};
use crate::timeouts::Timeouts;
use crate::{codec, floor};

#[cfg(test)]
mod tests;

/// The only stack of this subject.
pub const STACK: &str = "hyper";

/// The libraries that affect the server's measurements, with their versions in the lock file. A test compares
/// the two.
const LIBRARIES: [(&str, &str); 5] = [
    ("hyper", "1.12.0"),
    ("h2", "0.4.20"),
    ("rustls", "0.23.46"),
    ("tokio", "1.54.1"),
    ("tungstenite", "0.30.0"),
];

/// Follows the contract on this process's standard input and output until the input closes.
pub fn subject_main() -> ExitCode {
    ExitCode::from(run(BufReader::new(io::stdin()), io::stdout()))
}

/// Follows the contract on any pair of streams. Returns the exit code: 0, or the fault's code.
pub fn run(mut input: impl BufRead + Send + 'static, mut output: impl Write) -> u8 {
    let ended = match contract::SettingsLine::read(&mut input) {
        Ok(contract::SettingsLine::Server(settings)) => serve(vec![*settings], input, &mut output),
        Ok(contract::SettingsLine::Servers(settings)) => serve(settings.parts, input, &mut output),
        Ok(contract::SettingsLine::Floor(settings)) => serve_floor(&settings, input, &mut output),
        Ok(contract::SettingsLine::Client(_) | contract::SettingsLine::Clients(_)) => Err(
            Ended::refused("this subject has no client: rpcgauge's load engine is the client"),
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

/// Why a role ended, other than because its input closed.
#[derive(Debug)]
enum Ended {
    /// The role failed before it was ready, or instead of a response. The error line reports why.
    Refused(String, Fault),
    /// The role failed while it was serving. Its only reply has already been sent, so the log reports why.
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
    /// The user asked for settings that this subject does not support.
    fn refused(error: impl ToString) -> Self {
        Self::Refused(error.to_string(), Fault::User)
    }
}

/// The roles `server` and `servers`.
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
            // The receive fails once the sender is dropped, which is the signal to stop.
            let served = server.serve_until(move || {
                let _ = is_over.recv();
            });
            if let Err(error) = served {
                // The receiver outlives all senders.
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
    if let Some(form) = asked.stream.map(|stream| stream.form()) {
        let is_carried = match asked.protocol {
            Protocol::Grpc => form.is_grpc(),
            Protocol::Rest => form.is_rest(),
            Protocol::Connect => false,
        };
        if !is_carried {
            let (name, value) = if form.is_grpc() {
                ("gRPC", "grpc")
            } else {
                ("REST", "rest")
            };
            let call = form.article_and_name();
            let error = format!("{call} call needs {name}: set protocol to \"{value}\"");
            return Err(Ended::refused(error));
        }
        if asked.protocol == Protocol::Rest {
            if form == StreamForm::Bidirectional && asked.http != HttpVersion::Http1 {
                let error = "a WebSocket needs HTTP/1.1: set http to \"1.1\"";
                return Err(Ended::refused(error));
            }
            check_text(form, asked.encoding, asked.response_compression)
                .map_err(ServeError::Stream)?;
        }
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
        stream: asked.stream,
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
        ..ReadyPart::default()
    }
}

/// The role `floor`.
fn serve_floor(
    asked: &FloorSettings,
    input: impl BufRead + Send + 'static,
    output: &mut impl Write,
) -> Result<(), Ended> {
    let mut listener = Listener::bind(&asked.listen.clone().into()).map_err(ServeError::from)?;
    // The floor's thread runs until the process exits, so the file is removed when this function returns.
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
        // Sending fails only if the input has already closed.
        let _ = ended.send(Err(Ended::Broke(error, Fault::Machine)));
    })?;
    spawn("wait-for-end", move || {
        drain(input);
        let _ = closed.send(Ok(()));
    })?;
    // If both senders are gone, both threads panicked.
    end.recv().unwrap_or(Ok(()))
}

/// The role `codec`.
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
            let error = format!("there is no part {}: this codec has only part 0", ask.part);
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
            "unknown stack \"{other}\": this subject supports {STACK}"
        ))),
    }
}

/// Writes the ready line, including the versions.
fn write_ready(output: &mut impl Write, ready: Ready) -> Result<(), Ended> {
    let ready = Ready {
        versions: versions(),
        ..ready
    };
    write_reply(output, &Reply::Ready(ready).to_line())
}

/// Writes a line for which the other side is waiting.
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

/// Reads and discards everything until the end. An error also ends the stream.
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
