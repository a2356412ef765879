//! The floor of a stream: two bare loops write and read HTTP/2 frames of the size of its messages.
//!
//! The client finds the frames by their headers and reads the clock once per read, which is what no client can do
//! without. It has no windows, streams or messages.

use std::hint::black_box;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use bench_servers::arguments::Arguments;
use bench_servers::clock;
use bench_servers::deframer::Deframer;

use crate::{Shape, connect, report};

/// The length of a frame header (RFC 9113, 4.1).
const HEADER_BYTES: usize = 9;

/// The maximum number of bytes per read, and about the number per write.
const CHUNK_BYTES: usize = 64 * 1024;

/// How many messages the client writes at once, as rpcgauge does.
const BATCH: u64 = 64;

/// How many messages may be unanswered. Their responses fit into the kernel's buffers, so that neither side stops.
const MAX_UNANSWERED: u64 = 16 * BATCH;

/// Which side of a call streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Server,
    Bidirectional,
}

impl Form {
    /// Parses `stream=server` or `stream=bidirectional`, if given.
    pub(crate) fn read(arguments: &mut Arguments, shape: &Shape) -> Result<Option<Self>, String> {
        let form = match arguments.text("stream").as_deref() {
            None => return Ok(None),
            Some("server") => Self::Server,
            Some("bidirectional") => Self::Bidirectional,
            Some(other) => {
                return Err(format!(
                    "stream={other} is not valid: it must be server or bidirectional"
                ));
            }
        };
        if shape.connections != 1 {
            return Err("a stream has one connection".to_owned());
        }
        if shape.request.min(shape.response) < HEADER_BYTES {
            return Err(format!("a frame has {HEADER_BYTES} bytes or more"));
        }
        Ok(Some(form))
    }
}

type Frames = Deframer<HEADER_BYTES>;

fn frames() -> Frames {
    Frames::new(|header| u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize)
}

/// Frames of `bytes` bytes each, including their headers.
fn filled(bytes: usize, count: u64) -> Vec<u8> {
    let length = (bytes - HEADER_BYTES) as u32;
    let mut frame = vec![0; bytes];
    frame[..3].copy_from_slice(&length.to_be_bytes()[1..]);
    frame.repeat(count as usize)
}

/// Serves one connection after another.
pub(crate) fn answer(listener: &TcpListener, shape: &Shape, form: Form) -> io::Result<()> {
    let responses = filled(shape.response, (CHUNK_BYTES / shape.response).max(1) as u64);
    loop {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        // Ends when the client has what it wants and closes its connection.
        let _ = match form {
            Form::Server => produce(&mut stream, shape, &responses),
            Form::Bidirectional => echo(&mut stream, shape, &responses),
        };
    }
}

fn produce(stream: &mut TcpStream, shape: &Shape, responses: &[u8]) -> io::Result<()> {
    stream.read_exact(&mut vec![0; shape.request])?;
    loop {
        stream.write_all(responses)?;
    }
}

fn echo(stream: &mut TcpStream, shape: &Shape, responses: &[u8]) -> io::Result<()> {
    let (mut buffer, mut frames) = (vec![0; CHUNK_BYTES], frames());
    loop {
        let requests = frames.completed(read(stream, &mut buffer)?) as usize;
        let mut bytes = requests * shape.response;
        while bytes > 0 {
            let piece = bytes.min(responses.len());
            stream.write_all(&responses[..piece])?;
            bytes -= piece;
        }
    }
}

pub(crate) fn call(
    address: &SocketAddr,
    shape: &Shape,
    form: Form,
    messages: u64,
) -> io::Result<()> {
    let mut stream = connect(address)?;
    let requests = filled(shape.request, BATCH);
    let (mut buffer, mut frames) = (vec![0; CHUNK_BYTES], frames());
    let to_send = match form {
        Form::Server => 1,
        Form::Bidirectional => messages,
    };
    let (start, mut sent, mut received) = (clock::now(), 0, 0);
    while received < messages {
        while sent < to_send && sent - received < MAX_UNANSWERED {
            let batch = BATCH.min(to_send - sent);
            stream.write_all(&requests[..batch as usize * shape.request])?;
            sent += batch;
        }
        let bytes = read(&mut stream, &mut buffer)?;
        black_box(clock::now());
        received += frames.completed(bytes);
    }
    // The last read of a server's stream may contain more messages than were requested.
    report(received, clock::now() - start, None);
    Ok(())
}

fn read<'b>(stream: &mut TcpStream, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
    match stream.read(buffer)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        bytes => Ok(&buffer[..bytes]),
    }
}
