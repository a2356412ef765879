//! A server with known behavior: `bench-server NAME …`.
//!
//! - `bare`: responds to each call immediately, in one write.
//! - `stall [every=1s] [length=100ms] [service=200us] [refuse-one-in=10]`: does nothing in the last part of
//!   every period. With `service`, serves one call at a time, and each call takes this long.
//! - `delay shape=constant:10ms|uniform:5ms:25ms|bimodal:5ms:50ms:0.2`: delays each response.
//!
//! With `stream=bidirectional`, each message of a call is answered like a call, but in order. With `stream=server
//! messages=N`, each call has a stream as its response: `bare` sends it at once, and `delay` needs `gap=SHAPE`, the
//! times between its messages. Streams are only gRPC's.
//!
//! With `unrecorded=N`, the times of `stall` and `delay` exclude the first N calls or, of bidirectional streams,
//! messages.
//!
//! It listens on a free port of the loopback interface for both HTTP/1.1 and gRPC, prints a line of JSON with
//! its addresses, serves until its standard input (a pipe) closes, and prints a line of JSON with its record.
//! For each byte on its standard input, it prints a line with its counts so far.

use std::io;
use std::process::ExitCode;

use bench_servers::arguments::Arguments;
use bench_servers::behaviour::Behaviour;
use bench_servers::clock;
use bench_servers::record::Record;
use bench_servers::serve::Server;
use bench_servers::streaming::Streaming;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench-server: {reason}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let mut arguments = Arguments::of_process();
    let name = arguments.word("the server's name")?;
    let behaviour = Behaviour::read(&name, &mut arguments, clock::now())?;
    let streaming = Streaming::read(&mut arguments, &behaviour)?;
    let unrecorded = arguments.value("unrecorded")?.unwrap_or(0);
    arguments.end()?;
    let record = Record::without_first(unrecorded);
    serve(behaviour, streaming, record).map_err(|error| error.to_string())
}

fn serve(behaviour: Behaviour, streaming: Option<Streaming>, record: Record) -> io::Result<()> {
    let server = Server::new(behaviour, streaming, record)?;
    let address = server.address()?;
    println!(r#"{{"http":"{address}","grpc":"{address}"}}"#);
    let record = server.run(&mut |so_far| println!("{}", so_far.counts()))?;
    println!("{}", record.to_json());
    Ok(())
}
