//! TLS with a self-signed certificate that the server generates when it starts.

use std::io;
use std::sync::Arc;

use rpcgauge_contract::{Address, LOOPBACK};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

/// The ALPN names of HTTP/2 and HTTP/1.1 (RFC 7301, RFC 9113).
const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// A server's TLS acceptor and certificate.
pub(crate) struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    /// The certificate as PEM.
    pub(crate) certificate: String,
}

impl Tls {
    /// Generates a certificate for `localhost` and the IP address, with a P-256 key, which is common on the
    /// web. Sessions cannot be resumed, so every connection needs a full handshake.
    pub(crate) fn for_address(address: &Address) -> io::Result<Self> {
        let mut names = vec!["localhost".to_owned()];
        match address {
            // No client connects to 0.0.0.0.
            Address::Tcp(address) if address.ip().is_unspecified() => {
                names.push(LOOPBACK.to_owned())
            }
            Address::Tcp(address) => names.push(address.ip().to_string()),
            Address::Unix(_) => {}
        }
        let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(made.key_pair.serialize_der().into());
        let chain = vec![made.cert.der().clone()];
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(io::Error::other)?;
        config.alpn_protocols = ALPN.map(<[u8]>::to_vec).to_vec();
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificate: made.cert.pem(),
        })
    }
}
