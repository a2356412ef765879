//! TLS with a certificate that the server makes for itself when it starts.

use std::io;
use std::sync::Arc;

use rpcgauge_contract::{Address, LOOPBACK};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

/// What HTTP/2 and HTTP/1.1 are called in ALPN (RFC 7301, RFC 9113).
const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// TLS of a server.
pub(crate) struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    /// The certificate, PEM.
    pub(crate) certificate: String,
}

impl Tls {
    /// Makes a certificate for `localhost` and the address' own IP, with a key on P-256, as most of the web has.
    /// No session can be resumed, so that every connection has a whole handshake.
    pub(crate) fn for_address(address: &Address) -> io::Result<Self> {
        let mut names = vec!["localhost".to_owned()];
        match address {
            // Nobody calls a server by 0.0.0.0.
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
