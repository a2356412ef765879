//! Real TLS servers with their own certificates.

use std::convert::Infallible;
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertifiedKey, DnType, IsCa, KeyPair,
    date_time_ymd,
};
use rpcgauge_load::{Identity, Roots, Tls, TlsSettings, Trial};
use rpcgauge_trial::Address;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use super::{ok, respond_with, serve, serve_tasks, trial};

/// The server's side of a TLS connection.
pub(crate) type Tunnel<S = TcpStream> = StreamOwned<ServerConnection, S>;

/// A certificate authority, with a folder for its files.
pub(crate) struct Authority {
    certificate: Certificate,
    key: KeyPair,
    folder: TempDir,
}

/// The properties of a server's certificate and handshake.
pub(crate) struct Serving {
    pub(crate) names: Vec<&'static str>,
    /// First and last year of the certificate's validity.
    pub(crate) years: (i32, i32),
    pub(crate) alpn: Vec<&'static [u8]>,
    /// Whether clients must present a certificate from the same authority.
    pub(crate) wants_identity: bool,
    pub(crate) only_tls12: bool,
    /// Whether the certificate is self-signed and marked as a CA.
    pub(crate) is_own_ca: bool,
}

impl Default for Serving {
    fn default() -> Serving {
        Serving {
            names: vec!["localhost"],
            years: (2020, 2120),
            alpn: vec![b"h2", b"http/1.1"],
            wants_identity: false,
            only_tls12: false,
            is_own_ca: false,
        }
    }
}

impl Authority {
    /// An authority with a unique name.
    pub(crate) fn new() -> Authority {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::SeqCst);
        Authority::named(&format!("authority {number}"))
    }

    pub(crate) fn named(name: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ca"), certificate.pem()).unwrap();
        Authority {
            certificate,
            key,
            folder,
        }
    }

    /// The PEM file with the authority's own certificate.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("ca")
    }

    /// A client certificate.
    pub(crate) fn identity(&self) -> Identity {
        let CertifiedKey { cert, key_pair } = self.sign(&["a client"], (2020, 2120));
        let write = |name: &str, content: String| {
            let path = self.folder.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        Identity {
            certificate: write("client", cert.pem()),
            key: write("client key", key_pair.serialize_pem()),
        }
    }

    pub(crate) fn server(&self, serving: &Serving) -> ServerConfig {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let versions: &[_] = if serving.only_tls12 {
            &[&rustls::version::TLS12]
        } else {
            rustls::ALL_VERSIONS
        };
        let builder = builder.with_protocol_versions(versions).unwrap();
        let builder = if serving.wants_identity {
            let mut roots = RootCertStore::empty();
            roots.add(self.certificate.der().clone()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let CertifiedKey { cert, key_pair } = if serving.is_own_ca {
            self.sign_itself(serving)
        } else {
            self.sign(&serving.names, serving.years)
        };
        let key = PrivateKeyDer::try_from(key_pair.serialize_der()).unwrap();
        let mut config = builder
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = serving.alpn.iter().map(|name| name.to_vec()).collect();
        config
    }

    /// TLS settings that trust only this authority, for a server called `localhost`.
    pub(crate) fn settings(&self) -> TlsSettings {
        TlsSettings {
            roots: Roots::File(self.file()),
            identity: None,
            server_name: "localhost".to_owned(),
            insecure: false,
            allow_missing_alpn: false,
            resumption: true,
        }
    }

    /// The usual trial, with these TLS settings.
    pub(crate) fn trial(&self, address: Address) -> Trial {
        with_tls(trial(address), self.settings())
    }

    /// Creates a self-signed server certificate, and writes it to the authority's file.
    fn sign_itself(&self, serving: &Serving) -> CertifiedKey {
        let mut params = params(&serving.names, serving.years);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key_pair = KeyPair::generate().unwrap();
        let cert = params.self_signed(&key_pair).unwrap();
        fs::write(self.file(), cert.pem()).unwrap();
        CertifiedKey { cert, key_pair }
    }

    fn sign(&self, names: &[&str], years: (i32, i32)) -> CertifiedKey {
        let params = params(names, years);
        let key_pair = KeyPair::generate().unwrap();
        let cert = params
            .signed_by(&key_pair, &self.certificate, &self.key)
            .unwrap();
        CertifiedKey { cert, key_pair }
    }
}

fn params(names: &[&str], (first, last): (i32, i32)) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.not_before = date_time_ymd(first, 1, 1);
    params.not_after = date_time_ymd(last, 12, 31);
    params
}

pub(crate) fn with_tls(mut trial: Trial, settings: TlsSettings) -> Trial {
    trial.endpoint.tls = Some(Tls::new(settings).unwrap());
    trial
}

/// Serves every connection on its own thread. The handshake takes place during the first read.
pub(crate) fn serve_tls(
    config: ServerConfig,
    each: impl Fn(Tunnel) + Send + Clone + 'static,
) -> Address {
    serve_tls_over(config, |stream| stream, each)
}

/// Like [`serve_tls`], but over the stream that `wrap` builds from the socket.
pub(crate) fn serve_tls_over<S: Read + Write + 'static>(
    config: ServerConfig,
    wrap: impl Fn(TcpStream) -> S + Send + Clone + 'static,
    each: impl Fn(Tunnel<S>) + Send + Clone + 'static,
) -> Address {
    let config = Arc::new(config);
    serve(move |stream| {
        // Without this, a response would wait for the client to acknowledge the tickets sent before it.
        stream.set_nodelay(true).unwrap();
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        each(StreamOwned::new(session, wrap(stream)));
    })
}

/// Serves like `respond_with(ok)`, but damages the bytes that it sends.
pub(crate) fn serve_faulty(authority: &Authority, damage: Damage) -> Address {
    let wrap = move |socket| Faulty {
        socket,
        damage,
        written: 0,
    };
    let config = authority.server(&Serving::default());
    serve_tls_over(config, wrap, respond_with(ok))
}

/// Closes properly, with a close_notify.
pub(crate) fn end<S: Read + Write>(mut tunnel: Tunnel<S>) {
    tunnel.conn.send_close_notify();
    let _ = tunnel.flush();
}

/// Serves HTTP/2 over TLS (hyper). Each response repeats its request's body. The status is 421 if the request
/// is not for `https` (RFC 9110, 7.4).
pub(crate) fn serve_http2(config: ServerConfig) -> Address {
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    serve_tasks(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service_fn(echo))
                .await;
        }
    })
}

async fn echo(
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<Full<Bytes>>, Infallible> {
    use http_body_util::BodyExt;
    let status = match request.uri().scheme_str() {
        Some("https") => 200,
        _ => 421,
    };
    let body = request.into_body().collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let response = hyper::Response::builder()
        .status(status)
        .header("content-type", "text/plain")
        .body(Full::new(body));
    Ok(response.unwrap())
}

/// Bytes that servers have read from and written to their sockets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wire {
    pub(crate) read: Arc<AtomicU64>,
    pub(crate) written: Arc<AtomicU64>,
    /// Number of connections that have ended.
    pub(crate) over: Arc<AtomicU64>,
}

/// A socket that counts its bytes.
pub(crate) struct Counting(pub(crate) TcpStream, pub(crate) Wire);

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(buffer)?;
        self.1.read.fetch_add(n as u64, Ordering::SeqCst);
        Ok(n)
    }
}

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.0.write(bytes)?;
        self.1.written.fetch_add(n as u64, Ordering::SeqCst);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.1.over.fetch_add(1, Ordering::SeqCst);
    }
}

/// What a [`Faulty`] socket does with the bytes written to it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Damage {
    /// Sends each byte separately.
    Drip,
    /// Closes after this many bytes.
    CutAfter(usize),
    /// Flips a bit of the byte at this position.
    FlipAt(usize),
    /// Sends this many bytes, and withholds the rest.
    StallAfter(usize),
}

/// A socket that damages what is written to it.
struct Faulty {
    socket: TcpStream,
    damage: Damage,
    written: usize,
}

impl Read for Faulty {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer)
    }
}

impl Write for Faulty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = match self.damage {
            Damage::Drip => self.socket.write(&bytes[..bytes.len().min(1)])?,
            Damage::CutAfter(end) if self.written >= end => {
                let _ = self.socket.shutdown(std::net::Shutdown::Both);
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            Damage::CutAfter(end) => {
                let n = bytes.len().min(end - self.written);
                self.socket.write(&bytes[..n])?
            }
            Damage::StallAfter(end) => {
                let n = bytes.len().min(end.saturating_sub(self.written));
                self.socket.write_all(&bytes[..n])?;
                bytes.len()
            }
            Damage::FlipAt(at) => {
                let mut bytes = bytes.to_vec();
                if let Some(byte) = at
                    .checked_sub(self.written)
                    .and_then(|at| bytes.get_mut(at))
                {
                    *byte ^= 0x10;
                }
                self.socket.write_all(&bytes)?;
                bytes.len()
            }
        };
        self.written += n;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}
