//! TLS with a target: trusted CAs, client certificates, and the errors in their settings.

mod insecure;
mod own_ca;

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rpcgauge_wire::Protocol;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use self::insecure::Unverified;
use self::own_ca::OwnCa;

/// Number of server names whose sessions are stored for resumption. A trial uses one.
const RESUMABLE_SERVERS: usize = 1;

/// How TLS is used with a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// The CAs that may vouch for the server.
    pub roots: Roots,
    /// The certificate that this program presents if the server requests one.
    pub identity: Option<Identity>,
    /// The name for which the server's certificate must be valid, also sent in the handshake (SNI). It is a
    /// DNS name or an IP address, without a port. An address is not sent as SNI.
    pub server_name: String,
    /// Accepts any certificate. The signature of the handshake is still checked, but not the identity of its
    /// signer.
    pub insecure: bool,
    /// Whether to use HTTP/2 with a server that selects no protocol by ALPN, contrary to RFC 9113 §3.2.
    pub allow_missing_alpn: bool,
    /// Whether a connection resumes the session of an earlier one, as most clients do. The server then sends
    /// no certificate. Sessions live as long as the [`Tls`], across trials.
    pub resumption: bool,
}

/// The CAs that may vouch for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    /// The CAs that this machine trusts. They include a company's own CAs and, unlike a built-in list, are
    /// kept up to date. `SSL_CERT_FILE` and `SSL_CERT_DIR` select others.
    System,
    /// Only the CAs in this PEM file. One of them may be the server's own certificate.
    File(PathBuf),
    /// The server's own certificate, as PEM.
    Certificate(String),
}

/// A client certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// PEM file with the certificate, followed by any intermediate certificates.
    pub certificate: PathBuf,
    /// PEM file with the certificate's private key, in PKCS #1, PKCS #8 or SEC1.
    pub key: PathBuf,
}

/// [`TlsSettings`] whose files have been read and checked. It is created once and used by every connection.
#[derive(Clone)]
pub struct Tls {
    name: ServerName<'static>,
    config: ClientConfig,
    allow_missing_alpn: bool,
}

/// Why [`TlsSettings`] cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The name to verify is not a valid server name.
    #[error("{0:?} is not a valid server name: use a DNS name or an IP address, without a port")]
    ServerName(String),
    /// A file cannot be read as PEM.
    #[error("cannot read {what} from {}: {}", path.display(), pem_text(source))]
    File {
        /// What the file should contain.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: pem::Error,
    },
    /// A root certificate is invalid.
    #[error("{} contains a certificate that cannot be used as a CA: {source}", path.display())]
    Root {
        /// The file.
        path: PathBuf,
        /// What is wrong with the certificate.
        source: rustls::Error,
    },
    /// The given certificate of the server cannot be used.
    #[error("the server's certificate cannot be used: {0}")]
    Certificate(String),
    /// This machine trusts no CA.
    #[error(
        "no CA certificates were found on this machine: install them, or specify your own file"
    )]
    NoSystemRoots,
    /// The certificate and the key do not belong together, or cannot be used.
    #[error(
        "the client certificate {} cannot be used with the key {}: {source}",
        certificate.display(), key.display()
    )]
    Identity {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What is wrong.
        source: rustls::Error,
    },
    /// The TLS library rejected its own defaults.
    #[error("TLS cannot be set up: {0}: this is a bug in rpcgauge; please report it")]
    Library(String),
}

impl Tls {
    /// Reads the files and checks that they are consistent.
    ///
    /// # Errors
    /// Returns a [`TlsError`] that identifies the problem and the file.
    pub fn new(settings: TlsSettings) -> Result<Tls, TlsError> {
        let name = ServerName::try_from(settings.server_name.clone())
            .map_err(|_| TlsError::ServerName(settings.server_name))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Library(error.to_string()))?;
        let builder = if settings.insecure {
            let any = Arc::new(Unverified(provider.signature_verification_algorithms));
            builder.dangerous().with_custom_certificate_verifier(any)
        } else {
            let verifier = Arc::new(verifier(&settings.roots, provider)?);
            builder
                .dangerous()
                .with_custom_certificate_verifier(verifier)
        };
        let mut config = match &settings.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = identity.read()?;
                let built = builder.with_client_auth_cert(chain, key);
                built.map_err(|source| TlsError::Identity {
                    certificate: identity.certificate.clone(),
                    key: identity.key.clone(),
                    source,
                })?
            }
        };
        config.resumption = if settings.resumption {
            Resumption::in_memory_sessions(RESUMABLE_SERVERS)
        } else {
            Resumption::disabled()
        };
        Ok(Tls {
            name,
            config,
            allow_missing_alpn: settings.allow_missing_alpn,
        })
    }

    /// The configuration of a trial's connections.
    pub(crate) fn client(&self, protocol: Protocol) -> TlsClient {
        let mut config = self.config.clone();
        config.alpn_protocols = vec![alpn(protocol).to_vec()];
        TlsClient {
            config: Arc::new(config),
            name: self.name.clone(),
            protocol,
            allow_missing_alpn: self.allow_missing_alpn || protocol == Protocol::Http1,
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.name).finish()
    }
}

/// The configuration shared by a trial's TLS connections.
#[derive(Debug, Clone)]
pub(crate) struct TlsClient {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
    pub(crate) protocol: Protocol,
    /// Whether the server may select no protocol by ALPN. The connection then uses HTTP/1.1, as with any
    /// server that does not support ALPN, or HTTP/2 if the user allowed it.
    pub(crate) allow_missing_alpn: bool,
}

/// The ALPN name of an HTTP version (RFC 7301, RFC 9113).
pub(crate) fn alpn(protocol: Protocol) -> &'static [u8] {
    match protocol {
        Protocol::Http1 => b"http/1.1",
        Protocol::Http2 => b"h2",
    }
}

/// A verifier that trusts `roots`.
fn verifier(roots: &Roots, provider: Arc<CryptoProvider>) -> Result<OwnCa, TlsError> {
    let mut store = RootCertStore::empty();
    let mut given = Vec::new();
    match roots {
        Roots::System => {
            let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(env::var_os);
            let unread = add_system_roots(&mut store, named);
            if store.is_empty() {
                return Err(unread.err().unwrap_or(TlsError::NoSystemRoots));
            }
        }
        Roots::File(path) => {
            given = certificates(path, "CA certificates")?;
            for certificate in &given {
                store
                    .add(certificate.clone())
                    .map_err(|source| TlsError::Root {
                        path: path.clone(),
                        source,
                    })?;
            }
        }
        Roots::Certificate(text) => {
            let certificate = CertificateDer::from_pem_slice(text.as_bytes())
                .map_err(|error| TlsError::Certificate(pem_text(&error)))?;
            let added = store.add(certificate.clone());
            added.map_err(|error| TlsError::Certificate(error.to_string()))?;
            given.push(certificate);
        }
    }
    let library = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider)
        .build()
        .map_err(|error| TlsError::Library(error.to_string()))?;
    Ok(OwnCa { library, given })
}

/// Adds the CAs that this machine trusts or, if `named` is set, those of the named file and folders. The file
/// is read here because the library would read it to its end, which a device does not have.
fn add_system_roots(
    store: &mut RootCertStore,
    named: [Option<OsString>; 2],
) -> Result<(), TlsError> {
    // Old stores contain certificates that no longer parse; the others are still usable.
    let [Some(file), folders] = &named else {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(());
    };
    let folders = folders.iter().flat_map(env::split_paths);
    for folder in folders.filter(|folder| !folder.as_os_str().is_empty()) {
        let found = rustls_native_certs::load_certs_from_paths(None, Some(&folder));
        store.add_parsable_certificates(found.certs);
    }
    let file = Path::new(file);
    let pem = read(file).map_err(in_file(file, "the machine's CA certificates"))?;
    store.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).flatten());
    Ok(())
}

impl Identity {
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
        let chain = certificates(&self.certificate, "the client certificate")?;
        let key = read(&self.key)
            .and_then(|pem| PrivateKeyDer::from_pem_slice(&pem))
            .map_err(in_file(&self.key, "the client certificate's private key"))?;
        Ok((chain, key))
    }
}

/// The certificates in a PEM file, at least one.
fn certificates(path: &Path, what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all = read(path)
        .and_then(|pem| CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>())
        .map_err(in_file(path, what))?;
    if all.is_empty() {
        Err(in_file(path, what)(pem::Error::NoItemsFound))
    } else {
        Ok(all)
    }
}

/// Reads a PEM file up to a maximum size, because the path may refer to an endless device.
fn read(path: &Path) -> Result<Vec<u8>, pem::Error> {
    /// About a hundred times the size of a machine's trusted certificates.
    const MAX_BYTES: u64 = 32 << 20;
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(pem::Error::Io)?;
    let mut within = file.take(MAX_BYTES + 1);
    within.read_to_end(&mut bytes).map_err(pem::Error::Io)?;
    if bytes.len() as u64 > MAX_BYTES {
        Err(pem::Error::Io(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {} MiB", MAX_BYTES >> 20),
        )))
    } else {
        Ok(bytes)
    }
}

fn in_file(path: &Path, what: &'static str) -> impl Fn(pem::Error) -> TlsError {
    move |source| TlsError::File {
        what,
        path: path.to_owned(),
        source,
    }
}

/// Describes what is wrong with a PEM file, without the library's own prefix.
fn pem_text(error: &pem::Error) -> String {
    match error {
        pem::Error::Io(error) => error.to_string(),
        pem::Error::NoItemsFound => "it contains none in PEM format".to_owned(),
        other => format!("it is not valid PEM: {other}"),
    }
}

#[cfg(test)]
mod tests;
