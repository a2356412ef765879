//! Sends one HTTP/1.1 request on its own connection and reads the whole response. Nothing is timed.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rpcgauge_wire::{Client, Event, Failure, Head, Limits, PrepareError, Protocol};
use rustls::{ClientConnection, StreamOwned};

use crate::tls::Tls;

/// Maximum size of a response's body, bytes.
const MAX_BODY_BYTES: u64 = 64 << 20;

/// A request to send.
#[derive(Debug, Clone)]
pub struct Fetch {
    /// The server's address.
    pub address: SocketAddr,
    /// The host and port to name in the request; `None` for the address.
    pub authority: Option<String>,
    /// How to use TLS; `None` for a plain connection.
    pub tls: Option<Tls>,
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Header fields.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// The response to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fetched {
    /// The response's status.
    pub status: u16,
    /// The response's body.
    pub body: Vec<u8>,
}

/// Why a request has no response.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The request cannot be sent.
    #[error("the request cannot be sent: {0}")]
    Request(#[from] PrepareError),
    /// The connection could not be opened, or failed.
    #[error("{0}")]
    Connection(#[from] io::Error),
    /// The response was incomplete or invalid.
    #[error("{0}")]
    Response(#[from] Failure),
    /// The response was not complete in time.
    #[error("no complete response within {} s", .0.as_secs_f64())]
    Late(Duration),
}

impl Fetch {
    /// A GET request.
    pub fn get(address: SocketAddr, path: &str) -> Self {
        Self {
            address,
            authority: None,
            tls: None,
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// The request's head.
    ///
    /// # Errors
    /// Reports the part that is not valid in a request.
    pub fn head(&self) -> Result<Head, PrepareError> {
        let address = self.address.to_string();
        let authority = self.authority.as_deref().unwrap_or(&address);
        let head = Head::builder(&self.method, &self.path, authority).close(true);
        let fields = self.headers.iter();
        let head = fields.fold(head, |head, (name, value)| head.field(name, value));
        head.build()
    }

    /// Sends the request, and waits at most `limit` for the whole response.
    ///
    /// # Errors
    /// Reports why there is no complete response.
    pub fn send(&self, limit: Duration) -> Result<Fetched, FetchError> {
        let deadline = Instant::now() + limit;
        let left = || match deadline.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(FetchError::Late(limit)),
            left => Ok(left),
        };
        let in_time = |error: io::Error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => FetchError::Late(limit),
            _ => FetchError::Connection(error),
        };
        let head = self.head()?;
        let limits = Limits {
            max_body_bytes: MAX_BODY_BYTES,
            ..Limits::default()
        };
        let mut client = Client::new(Protocol::Http1, limits);
        let started = client.start(&head, &Bytes::from(self.body.clone()), 0);
        started.map_err(|error| io::Error::other(error.to_string()))?;

        let socket = TcpStream::connect_timeout(&self.address, limit).map_err(in_time)?;
        // A handshake reads and writes. Its limits are those of the socket, which both handles share.
        let limited = socket.try_clone()?;
        let limit_io = || -> Result<(), FetchError> {
            let left = Some(left()?);
            limited.set_read_timeout(left)?;
            Ok(limited.set_write_timeout(left)?)
        };
        let mut stream = self.transport(socket)?;
        while !client.is_all_sent() {
            limit_io()?;
            let n = stream.write(client.output()).map_err(in_time)?;
            client.consume_output(n);
        }
        stream.flush().map_err(in_time)?;
        let (mut fetched, mut end) = (Fetched::default(), None);
        let mut chunk = vec![0; 64 << 10];
        while end.is_none() {
            limit_io()?;
            let n = stream.read(&mut chunk).map_err(in_time)?;
            let mut sink = |event: Event<'_>| match event {
                Event::Head { status, .. } => fetched.status = status,
                Event::Body { data, .. } => fetched.body.extend_from_slice(data),
                Event::Complete { .. } => end = Some(Ok(())),
                Event::Failed { failure, .. } => end = Some(Err(failure)),
                _ => {}
            };
            match n {
                0 => client.end_of_input(true, &mut sink),
                n => client.input(&chunk[..n], &mut sink),
            }
        }
        end.transpose()?;
        Ok(fetched)
    }

    fn transport(&self, socket: TcpStream) -> io::Result<Box<dyn Transport>> {
        let Some(tls) = &self.tls else {
            return Ok(Box::new(socket));
        };
        let client = tls.client(Protocol::Http1);
        let connection = ClientConnection::new(client.config, client.name);
        let connection = connection.map_err(io::Error::other)?;
        Ok(Box::new(StreamOwned::new(connection, socket)))
    }
}

/// A connected socket, with or without TLS.
trait Transport: Read + Write {}

impl<T: Read + Write> Transport for T {}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server that answers any request with `text` and waits for the client to close.
    fn answers(text: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 1024];
            let _ = stream.read(&mut head);
            stream.write_all(text.as_bytes()).unwrap();
            let _ = stream.read(&mut head);
        });
        address
    }

    fn fetch(text: &'static str, limit: Duration) -> Result<Fetched, FetchError> {
        Fetch::get(answers(text), "/metrics").send(limit)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_response_has_its_status_and_its_body() {
        let chunked =
            "HTTP/1.1 503 No\r\ntransfer-encoding: chunked\r\n\r\n2\r\nno\r\n1\r\n!\r\n0\r\n\r\n";
        let fetched = fetch(chunked, LONG).unwrap();
        assert_eq!((fetched.status, fetched.body), (503, b"no!".to_vec()));
    }

    #[test]
    fn what_is_no_whole_response_is_an_error() {
        let cut = fetch(
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nno",
            Duration::from_millis(50),
        );
        assert!(matches!(cut, Err(FetchError::Late(_))), "{cut:?}");
        let other = fetch("SSH-2.0-OpenSSH\r\n", LONG);
        assert!(matches!(other, Err(FetchError::Response(_))), "{other:?}");
        let free = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let refused = Fetch::get(free, "/").send(LONG);
        assert!(
            matches!(refused, Err(FetchError::Connection(_))),
            "{refused:?}"
        );
    }
}
