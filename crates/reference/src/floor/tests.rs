//! Tests the floor's loop on byte arrays and on real sockets.

use std::io::Cursor;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use rpcgauge_contract::Address;

use super::*;
use crate::listen::ListenOn;

/// Maximum time to wait for bytes. A test that reaches it fails.
const PATIENCE: Duration = Duration::from_secs(10);

fn header(request: u64, response: u64) -> Vec<u8> {
    [request.to_le_bytes(), response.to_le_bytes()].concat()
}

/// Reads from one buffer and writes to another.
struct Duplex {
    input: Cursor<Vec<u8>>,
    output: Vec<u8>,
}

impl Read for Duplex {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // One byte at a time, so that requests arrive in pieces.
        let one = buffer.len().min(1);
        self.input.read(&mut buffer[..one])
    }
}

impl Write for Duplex {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn run(input: Vec<u8>) -> (io::Result<()>, usize) {
    let mut duplex = Duplex {
        input: Cursor::new(input),
        output: Vec::new(),
    };
    let result = respond_until_closed(&mut duplex);
    (result, duplex.output.len())
}

#[test]
fn each_whole_request_is_answered_once() {
    let (result, answered) = run([header(3, 5), vec![1; 9]].concat());
    assert!(result.is_ok());
    assert_eq!(answered, 3 * 5);
}

#[test]
fn a_half_request_is_not_answered() {
    let (result, answered) = run([header(3, 5), vec![1; 5]].concat());
    assert_eq!(
        result.expect_err("half").to_string(),
        "closed after 2 of 3 request bytes"
    );
    assert_eq!(answered, 5);
}

#[test]
fn lengths_out_of_bounds_are_refused() {
    for (request, response) in [(0, 1), (1, 0), (MAX_BYTES + 1, 1), (1, u64::MAX)] {
        let (result, answered) = run([header(request, response), vec![0; 64]].concat());
        assert!(
            result
                .expect_err("bounds")
                .to_string()
                .contains("length must be 1 to")
        );
        assert_eq!(answered, 0);
    }
    assert!(run(vec![0; 15]).0.is_err(), "half a header");
}

fn ping_pong(mut stream: impl Read + Write) {
    stream.write_all(&header(200, 150)).expect("sent");
    let mut response = [0; 150];
    for _ in 0..10 {
        stream.write_all(&[7; 200]).expect("sent");
        stream.read_exact(&mut response).expect("answered");
    }
}

#[test]
fn both_transports_are_served_connection_after_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    for on in [
        ListenOn::loopback(),
        ListenOn::Unix(folder.path().join("f")),
    ] {
        let listener = Listener::bind(&on).expect("free");
        let address = listener.address().clone();
        thread::spawn(move || serve(&listener));
        for _ in 0..3 {
            match &address {
                Address::Tcp(address) => {
                    let stream = TcpStream::connect(address).expect("listening");
                    stream.set_read_timeout(Some(PATIENCE)).expect("set");
                    ping_pong(stream);
                }
                Address::Unix(path) => {
                    let stream = UnixStream::connect(path).expect("listening");
                    stream.set_read_timeout(Some(PATIENCE)).expect("set");
                    ping_pong(stream);
                }
            }
        }
    }
}
