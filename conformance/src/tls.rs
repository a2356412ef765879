//! TLS with the certificates from the suite's runner: in the client under test, and in front of the server
//! under test.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned};
use tokio_rustls::TlsAcceptor;

use crate::suites::connectrpc::conformance::v1::TLSCreds;

/// HTTP/2 in ALPN (RFC 9113, section 3.2).
const ALPN: &[u8] = b"h2";

/// The client's TLS configuration.
#[derive(Debug, Clone)]
pub(crate) struct ClientTls {
    config: Arc<ClientConfig>,
}

impl ClientTls {
    /// Trusts the server with this certificate, in PEM.
    pub(crate) fn trusting(certificate: &[u8]) -> Result<Self, Box<dyn Error>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(certificate)?)?;
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Self {
            config: Arc::new(config),
        })
    }
}

/// The client's end of a connection.
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    /// Connects, with a TLS handshake if there is TLS; a read in the handshake takes at most `patience`.
    pub(crate) fn connect(
        (host, port): (&str, u16),
        tls: Option<&ClientTls>,
        patience: Duration,
    ) -> io::Result<Self> {
        let mut socket = TcpStream::connect((host, port))?;
        socket.set_nodelay(true)?;
        let Some(tls) = tls else {
            return Ok(Self::Plain(socket));
        };
        socket.set_read_timeout(Some(patience))?;
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let mut connection =
            ClientConnection::new(Arc::clone(&tls.config), name).map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        match connection.alpn_protocol() {
            Some(ALPN) => Ok(Self::Tls(Box::new(StreamOwned::new(connection, socket)))),
            _ => Err(io::Error::other("the server did not choose HTTP/2 (ALPN)")),
        }
    }

    /// Like [`TcpStream::set_read_timeout`].
    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.set_read_timeout(timeout),
            Self::Tls(stream) => stream.sock.set_read_timeout(timeout),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// Terminates TLS in front of a server without it.
pub(crate) struct Terminator {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    server: SocketAddr,
}

impl Terminator {
    /// Listens on the loopback interface for clients of `server`.
    pub(crate) fn bind(credentials: &TLSCreds, server: SocketAddr) -> Result<Self, Box<dyn Error>> {
        let certificate = CertificateDer::from_pem_slice(&credentials.cert)?;
        let key = PrivateKeyDer::from_pem_slice(&credentials.key)?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        let listener = TcpListener::bind((server.ip(), 0))?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            server,
        })
    }

    /// The address that clients connect to.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Accepts connections until it is dropped. Returns an error if it cannot accept any more.
    pub(crate) async fn run(self) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        loop {
            let (client, _) = listener.accept().await?;
            let acceptor = self.acceptor.clone();
            tokio::spawn(async move {
                if let Err(error) = carry(client, &acceptor, self.server).await {
                    eprintln!("a connection over TLS ended: {error}");
                }
            });
        }
    }
}

/// Copies one connection's bytes both ways until both sides have ended.
async fn carry(
    client: tokio::net::TcpStream,
    acceptor: &TlsAcceptor,
    server: SocketAddr,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut client = acceptor.accept(client).await?;
    let mut server = tokio::net::TcpStream::connect(server).await?;
    server.set_nodelay(true)?;
    match tokio::io::copy_bidirectional(&mut client, &mut server).await {
        // Clients may close the connection without a TLS alert once they have what they want.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
        carried => carried.map(|_| ()),
    }
}
