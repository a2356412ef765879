//! Calls a server over a plain blocking socket. Shows everything that a caller of this crate must
//! do.
//!
//! `cargo run -p rpcgauge-wire --example call -- h2 127.0.0.1:8080 POST /echo 100000 3` sends three
//! POSTs of 100,000 bytes over HTTP/2 (`h1` for HTTP/1.1) and prints the events.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use bytes::Bytes;
use rpcgauge_wire::{Client, Event, Head, Limits, Protocol};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [protocol, address, method, path, body_bytes, calls] = arguments.as_slice() else {
        return Err("usage: call h1|h2 HOST:PORT METHOD PATH BODY_BYTES CALLS".into());
    };
    let protocol = if protocol == "h1" {
        Protocol::Http1
    } else {
        Protocol::Http2
    };
    let head = Head::builder(method, path, address)
        .field("user-agent", "rpcgauge")
        .build()?;
    let body = Bytes::from(vec![b'x'; body_bytes.parse()?]);
    let calls: u64 = calls.parse()?;
    let mut client = Client::new(protocol, Limits::default());
    let mut stream = TcpStream::connect(address)?;
    // One thread cannot wait to read and to write at the same time, so a short read timeout
    // alternates between them.
    stream.set_read_timeout(Some(std::time::Duration::from_millis(5)))?;
    stream.set_nodelay(true)?;

    let (mut started, mut ended) = (0, 0);
    let mut buffer = vec![0; 64 * 1024];
    while ended < calls && !client.is_closed() {
        while started < calls && client.capacity() > 0 {
            client.start(&head, &body, started)?;
            started += 1;
        }
        while !client.output().is_empty() {
            let written = stream.write(client.output())?;
            client.consume_output(written);
        }
        let mut note = |event: Event<'_>| {
            ended += u64::from(matches!(
                event,
                Event::Complete { .. } | Event::Failed { .. }
            ));
            match event {
                Event::Body { token, data } => println!("{token}: {} bytes of body", data.len()),
                other => println!("{other:?}"),
            }
        };
        match stream.read(&mut buffer) {
            Ok(0) => client.end_of_input(true, &mut note),
            Ok(n) => client.input(&buffer[..n], &mut note),
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) => {}
            Err(e) => return Err(e.into()),
        }
    }
    println!("{:#?}", client.traffic());
    Ok(())
}
