//! Finds a live service: resolves its name once and prepares TLS.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_study::settings::{LiveCall, LiveService};
use rpcgauge_study::system::sentence;
use rpcgauge_study::url;
use rpcgauge_trial::{Address, MAX_SOCKET_PATH_BYTES, abstract_name};

use super::LiveError;

/// Finds the addresses that connections are opened to: all that the plan divides them among, or the first that accepts
/// one. Each must accept a connection now.
pub(super) fn addresses(live: &LiveCall) -> Result<(Address, Vec<Address>), LiveError> {
    let Some((first, more)) = live.service.addresses.split_first() else {
        return Ok((address(live)?, Vec::new()));
    };
    let within = Duration::from_millis(live.options.deadline_ms);
    for address in &live.service.addresses {
        TcpStream::connect_timeout(address, within)
            .map_err(|source| refused(&live.service, *address, &source))?;
    }
    let more = more.iter().copied().map(Address::Tcp);
    Ok((Address::Tcp(*first), more.collect()))
}

/// All addresses of the service's name, sorted and without duplicates, so that two runs call them alike; empty if it has
/// no name.
///
/// # Errors
/// A one-line [`LiveError`] if the name has no address.
pub fn look_up(service: &LiveService) -> Result<Vec<SocketAddr>, LiveError> {
    let url::Address::Tcp { host, port } = &service.url.address else {
        return Ok(Vec::new());
    };
    let found = (host.as_str(), *port).to_socket_addrs();
    let found: BTreeSet<SocketAddr> = found.map_err(|source| no_address(host, &source))?.collect();
    Ok(found.into_iter().collect())
}

fn no_address(host: &str, source: &io::Error) -> LiveError {
    LiveError::Wrong(format!(
        "the name \"{host}\" has no address: {source}; check the name, or give an IP address"
    ))
}

fn refused(service: &LiveService, address: SocketAddr, source: &io::Error) -> LiveError {
    LiveError::Wrong(format!(
        "cannot connect to {} at {address}: {}; is the service running there?",
        service.url,
        sentence(source)
    ))
}

/// Finds the address that accepts connections. A name such as `localhost` may have several addresses, and the
/// service may listen at only one of them.
fn address(live: &LiveCall) -> Result<Address, LiveError> {
    let service = &live.service;
    let within = Duration::from_millis(live.options.deadline_ms);
    let host = match &service.url.address {
        url::Address::Tcp { host, .. } => host,
        url::Address::ChosenPort { .. } => {
            return Err(LiveError::of(service, "has no port yet"));
        }
        url::Address::Unix { path } => {
            return match load::connect_unix(path, within) {
                Ok(_) => Ok(Address::Unix(path.clone())),
                Err(source) => Err(LiveError::Wrong(format!(
                    "cannot connect to {}: {}",
                    service.url,
                    no_socket(path, &source)
                ))),
            };
        }
    };
    let mut first_refusal = None;
    for address in look_up(service)? {
        match TcpStream::connect_timeout(&address, within) {
            Ok(_) => return Ok(Address::Tcp(address)),
            Err(source) => {
                first_refusal.get_or_insert((address, source));
            }
        }
    }
    Err(match first_refusal {
        Some((address, source)) => refused(service, address, &source),
        None => no_address(host, &io::ErrorKind::NotFound.into()),
    })
}

/// Why no service can be reached at a socket path, and what to do.
fn no_socket(path: &Path, error: &io::Error) -> String {
    let length = path.as_os_str().len();
    if length > MAX_SOCKET_PATH_BYTES {
        return format!(
            "the path is {length} bytes long, but the system allows {MAX_SOCKET_PATH_BYTES}; use a shorter \
             one, for example a symbolic link or a relative path"
        );
    }
    let is_other = |file: fs::Metadata| !file.file_type().is_socket();
    if abstract_name(path).is_none() && fs::metadata(path).is_ok_and(is_other) {
        return "this is not a socket; give the path that the service listens on".to_owned();
    }
    format!("{}; is the service running there?", sentence(error))
}

/// The TLS settings of a live service; `None` if it is called without TLS. Certificate files are read here,
/// once, because a file may be a pipe, which can be read only once and may block.
///
/// # Errors
/// [`LiveError::Tls`] names the file and describes what is wrong with it.
pub fn tls(service: &LiveService) -> Result<Option<load::Tls>, LiveError> {
    let Some(choice) = &service.tls else {
        return Ok(None);
    };
    let host = match &service.url.address {
        url::Address::Tcp { host, .. } | url::Address::ChosenPort { host } => host.clone(),
        url::Address::Unix { .. } => host_of(&service.url.authority),
    };
    let tls = load::Tls::new(load::TlsSettings {
        roots: match &choice.ca {
            Some(file) => load::Roots::File(file.clone()),
            None => load::Roots::System,
        },
        identity: choice
            .cert
            .clone()
            .zip(choice.key.clone())
            .map(|(certificate, key)| load::Identity { certificate, key }),
        server_name: choice.server_name.clone().unwrap_or(host),
        insecure: choice.insecure,
        allow_missing_alpn: choice.allow_missing_alpn,
        resumption: true,
    })?;
    Ok(Some(tls))
}

/// The host of an authority, without the port and the brackets of an IPv6 address.
fn host_of(authority: &str) -> String {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    };
    host.trim_matches(['[', ']']).to_owned()
}
