//! How a server starts and stops.

mod common;

use std::io::{Read as _, Write as _};
use std::time::Duration;

use common::Running;
use rpcgauge_message::{Compression, WorkloadSpec};
use rpcgauge_reference::{Server, ServerOptions};

#[test]
fn a_server_that_cannot_start_fails_with_one_line() {
    let mut none = ServerOptions::new(WorkloadSpec::Hello {});
    none.threads = 0;
    let mut many = ServerOptions::new(WorkloadSpec::Hello {});
    many.threads = 1_000_000;
    let mut level = ServerOptions::new(WorkloadSpec::Hello {});
    level.response_compression = Compression::Gzip { level: 77 };
    for (settings, want) in [
        (none, "cannot serve with 0 threads: use 1 to 1024"),
        (many, "cannot serve with 1000000 threads: use 1 to 1024"),
        (level, "cannot compress or decompress: "),
    ] {
        let error = Server::bind(&settings).err().expect("refused").to_string();
        assert!(error.starts_with(want) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn an_idle_connection_does_not_delay_the_end() {
    let mut server = Running::hello();
    let mut idle_http1 = server.raw();
    idle_http1
        .write_all(b"GET /x HTTP/1.1\r\nhost: a\r\n\r\n")
        .expect("sent");
    let mut response = [0; 12];
    idle_http1.read_exact(&mut response).expect("answered");
    let mut idle_http2 = server.raw();
    idle_http2
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .expect("sent");
    idle_http2.read_exact(&mut response[..9]).expect("settings");
    let silent = server.raw();
    server.end();
    for stream in [idle_http1, idle_http2, silent] {
        common::read_to_close(stream);
    }
}

#[test]
fn a_call_in_flight_is_completed_before_the_end() {
    let mut server = Running::hello();
    let body = r#"{"name":"late"}"#;
    let mut stream = server.raw();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         expect: 100-continue\r\n\r\n",
        server.workload.rest_path(),
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("sent");
    // Once the server requests the body, it has read the head.
    let mut interim = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut interim).expect("100 Continue");
    let ending = std::thread::spawn(move || server.end());
    std::thread::sleep(Duration::from_millis(100));
    stream.write_all(body.as_bytes()).expect("sent");
    let response = String::from_utf8(common::read_to_close(stream)).expect("text");
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    assert!(response.contains("late"), "{response}");
    ending.join().expect("ended");
}
