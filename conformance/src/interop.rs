//! The unary cases of the gRPC project's interop tests (its doc/interop-test-descriptions.md), run against that
//! project's own server in Go.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use buffa::Message;
use rpcgauge_message::{Compression, Encoding};
use rpcgauge_wire::grpc::{Code, DEFAULT_MAX_MESSAGE_BYTES, decode_binary, encode_binary};

use crate::call::{Call, Ended, Metadata, value};
use crate::suites::grpc::testing::{EchoStatus, Payload, SimpleRequest, SimpleResponse};

const HOST: &str = "127.0.0.1";

/// The time in which the server must start to listen.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A case: its name in the descriptions, and a function that tests the server on a port.
type Case = (&'static str, fn(u16) -> Result<(), String>);

const CASES: [Case; 7] = [
    ("empty_unary", empty_unary),
    ("large_unary", large_unary),
    ("custom_metadata", custom_metadata),
    ("status_code_and_message", status_code_and_message),
    ("special_status_message", special_status_message),
    ("unimplemented_method", unimplemented_method),
    ("unimplemented_service", unimplemented_service),
];

/// Starts the server program, runs every case and prints a line for each. Returns false if a case failed.
pub(crate) fn run(program: &str) -> io::Result<bool> {
    let server = Running::start(program)?;
    let mut failed = 0;
    for (name, case) in CASES {
        match case(server.port) {
            Ok(()) => println!("{name}: passed"),
            Err(problem) => {
                failed += 1;
                println!("{name}: FAILED: {problem}");
            }
        }
    }
    println!("{} passed, {failed} failed", CASES.len() - failed);
    Ok(failed == 0)
}

/// The server's process. It ends when the value is dropped.
struct Running {
    process: Child,
    port: u16,
}

impl Running {
    fn start(program: &str) -> io::Result<Self> {
        // The server cannot report which port it got, so a free one is chosen for it.
        let port = TcpListener::bind((HOST, 0))?.local_addr()?.port();
        let process = Command::new(program)
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
        let mut running = Self { process, port };
        running.wait_until_listening()?;
        Ok(running)
    }

    fn wait_until_listening(&mut self) -> io::Result<()> {
        let begin = Instant::now();
        while TcpStream::connect((HOST, self.port)).is_err() {
            if let Some(status) = self.process.try_wait()? {
                return Err(io::Error::other(format!(
                    "the interop server ended: {status}"
                )));
            }
            if begin.elapsed() > START_TIMEOUT {
                return Err(io::Error::other("the interop server does not listen"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn empty_unary(port: u16) -> Result<(), String> {
    let ended = call(port, "TestService/EmptyCall", &[], Metadata::new())?;
    expect("status", &ended.code, &Code::OK)?;
    expect("response", &ended.message.as_slice(), &&[][..])
}

fn large_unary(port: u16) -> Result<(), String> {
    let request = request_for(271_828, 314_159);
    let ended = unary_call(port, &request, Metadata::new())?;
    expect_payload(&ended, 314_159)
}

fn custom_metadata(port: u16) -> Result<(), String> {
    const INITIAL: (&str, &str) = ("x-grpc-test-echo-initial", "test_initial_metadata_value");
    const TRAILING: (&str, &[u8]) = ("x-grpc-test-echo-trailing-bin", &[0xab, 0xab, 0xab]);
    let metadata = vec![
        (INITIAL.0.to_owned(), INITIAL.1.to_owned()),
        (TRAILING.0.to_owned(), encode_binary(TRAILING.1)),
    ];
    let ended = unary_call(port, &request_for(271_828, 314_159), metadata)?;
    expect_payload(&ended, 314_159)?;
    let initial = value(&ended.initial_metadata, INITIAL.0);
    expect("initial metadata", &initial, &Some(INITIAL.1))?;
    let trailing = value(&ended.trailing_metadata, TRAILING.0)
        .and_then(|value| decode_binary(value.as_bytes()));
    expect("trailing metadata", &trailing.as_deref(), &Some(TRAILING.1))
}

fn status_code_and_message(port: u16) -> Result<(), String> {
    echo_status(port, "test status message")
}

fn special_status_message(port: u16) -> Result<(), String> {
    echo_status(
        port,
        "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n",
    )
}

fn unimplemented_method(port: u16) -> Result<(), String> {
    let ended = call(port, "TestService/UnimplementedCall", &[], Metadata::new())?;
    expect("status", &ended.code, &Code::UNIMPLEMENTED)
}

fn unimplemented_service(port: u16) -> Result<(), String> {
    let ended = call(
        port,
        "UnimplementedService/UnimplementedCall",
        &[],
        Metadata::new(),
    )?;
    expect("status", &ended.code, &Code::UNIMPLEMENTED)
}

/// Requests the status UNKNOWN with this message.
fn echo_status(port: u16, text: &str) -> Result<(), String> {
    let status = EchoStatus {
        code: 2,
        message: text.to_owned(),
        ..Default::default()
    };
    let request = SimpleRequest {
        response_status: status.into(),
        ..Default::default()
    };
    let ended = unary_call(port, &request, Metadata::new())?;
    expect("status", &ended.code, &Code::UNKNOWN)?;
    expect("message", &ended.text.as_str(), &text)
}

/// A request with a payload, for a response with a payload; sizes in bytes.
fn request_for(request_size: usize, response_size: i32) -> SimpleRequest {
    let payload = Payload {
        body: vec![0; request_size],
        ..Default::default()
    };
    SimpleRequest {
        response_size,
        payload: payload.into(),
        ..Default::default()
    }
}

fn expect_payload(ended: &Ended, size: usize) -> Result<(), String> {
    expect("status", &ended.code, &Code::OK)?;
    let response =
        SimpleResponse::decode_from_slice(&ended.message).map_err(|error| error.to_string())?;
    let payload = response.payload.into_option().unwrap_or_default();
    expect("payload's length", &payload.body.len(), &size)?;
    expect("payload's type", &payload.r#type.to_i32(), &0)
}

fn unary_call(port: u16, request: &SimpleRequest, metadata: Metadata) -> Result<Ended, String> {
    call(
        port,
        "TestService/UnaryCall",
        &request.encode_to_vec(),
        metadata,
    )
}

fn call(port: u16, method: &str, message: &[u8], metadata: Metadata) -> Result<Ended, String> {
    let call = Call {
        host: HOST,
        port,
        tls: None,
        path: &format!("/grpc.testing.{method}"),
        metadata,
        encoding: Encoding::Protobuf,
        message,
        compression: Compression::None,
        timeout: Some(Duration::from_secs(10)),
        cancel_after: None,
        max_message_bytes: DEFAULT_MAX_MESSAGE_BYTES,
    };
    call.make().map_err(|error| error.to_string())
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: &T, want: &T) -> Result<(), String> {
    if got == want {
        Ok(())
    } else {
        Err(format!("the {what} is {got:?} instead of {want:?}"))
    }
}
