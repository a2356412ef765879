//! The URL of a live service.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rpcgauge_message::nearest::Nearest;
use serde::{Deserialize, Serialize};

use crate::error::FormError;
use crate::words::{Named as _, words};

/// The target of calls: `grpc://host:port/package.Service/Method`, `http://host:port/path?query` or, for a WebSocket,
/// `ws://host:port/path?query`; `grpcs`, `https` and `wss` over TLS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Url {
    /// The URL's scheme.
    pub scheme: Scheme,
    /// Host, and port if the URL has one, as sent to the server (RFC 9110, section 7.2).
    pub authority: String,
    /// Where the service listens.
    pub address: Address,
    /// Path and query; for gRPC `/package.Service/Method`, or `/` if the URL names no method.
    pub path: String,
}

/// The scheme of a target's URL: the protocol, and whether it runs over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// gRPC over HTTP/2 with prior knowledge.
    Grpc,
    /// gRPC over HTTP/2 over TLS.
    Grpcs,
    /// HTTP.
    Http,
    /// HTTP over TLS.
    Https,
    /// A WebSocket (RFC 6455).
    Ws,
    /// A WebSocket over TLS.
    Wss,
}

/// Where a target listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "transport", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Address {
    /// A host and a TCP port.
    Tcp {
        /// A name or an IP address; IPv6 without brackets.
        host: String,
        /// Its port.
        port: u16,
    },
    /// A host, and a TCP port that is chosen when the service is started, written as `{port}`.
    ChosenPort {
        /// A name or an IP address; IPv6 without brackets.
        host: String,
    },
    /// A Unix domain socket.
    Unix {
        /// Its path, or `@` and the name of an abstract socket.
        path: PathBuf,
    },
}

/// Stands for the chosen port in a target and in the command that starts its service.
pub const PORT: &str = "{port}";

words!(Scheme, "scheme": "grpc" => Grpc, "grpcs" => Grpcs, "http" => Http, "https" => Https,
    "ws" => Ws, "wss" => Wss);

impl Scheme {
    fn of(name: &str) -> Result<Self, String> {
        Self::from_name(name).ok_or_else(|| {
            let hint = Nearest::or_known(name, Self::NAMES.iter().map(|(known, _)| *known));
            format!("there is no scheme \"{name}\"{hint}")
        })
    }

    /// Whether the protocol is gRPC.
    pub fn is_grpc(self) -> bool {
        matches!(self, Self::Grpc | Self::Grpcs)
    }

    /// Whether the protocol runs over TLS.
    pub fn is_tls(self) -> bool {
        matches!(self, Self::Grpcs | Self::Https | Self::Wss)
    }

    /// The port of a URL that does not name one; `None` for gRPC without TLS, which has no default port.
    fn default_port(self) -> Option<u16> {
        match self {
            Self::Grpc => None,
            Self::Http | Self::Ws => Some(80),
            Self::Grpcs | Self::Https | Self::Wss => Some(443),
        }
    }
}

impl Url {
    /// Returns the URL with a Unix domain socket as its address. Its host and port are still sent to the server.
    #[must_use]
    pub fn over_unix_socket(mut self, path: &Path) -> Self {
        let path = path.to_owned();
        self.address = Address::Unix { path };
        self
    }

    /// Returns the URL with its chosen port; a URL that names its port or a socket is returned as it is.
    #[must_use]
    pub fn at_port(mut self, port: u16) -> Self {
        if let Address::ChosenPort { host } = self.address {
            self.authority = self.authority.replace(PORT, &port.to_string());
            self.address = Address::Tcp { host, port };
        }
        self
    }

    /// Returns the URL without its query, which may contain a secret.
    #[must_use]
    pub fn without_query(mut self) -> Self {
        if let Some((path, _)) = self.path.split_once('?') {
            self.path = path.to_owned();
        }
        self
    }

    /// Returns the URL with a gRPC method as its path, or `None` if `given` is not a method. `given` may omit the
    /// leading `/`, and may have `.` in place of the last one.
    pub fn with_method(mut self, given: &str) -> Option<Self> {
        let name = given.strip_prefix('/').unwrap_or(given);
        let (service, method) = name.split_once('/').or_else(|| name.rsplit_once('.'))?;
        let plain = |part: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            !part.is_empty() && part.chars().all(is_plain)
        };
        if !plain(service) || !plain(method) {
            return None;
        }
        self.path = format!("/{service}/{method}");
        Some(self)
    }

    /// Returns the URL with another path and query.
    ///
    /// # Errors
    /// What is wrong with the path, in one line.
    pub fn with_path(self, path: &str) -> Result<Self, String> {
        if !path.starts_with('/') {
            return Err(format!(
                "\"{path}\" is not a path: write it like /orders; every call goes to the host of the target"
            ));
        }
        let url = format!("{}://{}{path}", self.scheme.as_str(), self.authority);
        let url: Self = url
            .parse()
            .map_err(|error: FormError| format!("\"{path}\" is not a path: {}", error.what()))?;
        Ok(Self {
            address: self.address,
            ..url
        })
    }

    /// The full name of the gRPC method, `package.Service/Method`, if the URL names one.
    pub fn method(&self) -> Option<&str> {
        let name = self.path.strip_prefix('/')?;
        (self.scheme.is_grpc() && name.contains('/')).then_some(name)
    }
}

impl FromStr for Url {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let wrong = |what: String| FormError {
            text: without_user(text),
            kind: "a target",
            what,
            example: "grpc://localhost:50051/shop.Orders/Get or http://localhost:8080/orders",
        };
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| wrong("it has no scheme".to_owned()))?;
        let scheme = Scheme::of(scheme).map_err(wrong)?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            let what = "it contains a user name; give credentials in the header 'authorization: …'";
            return Err(wrong(what.to_owned()));
        }
        // `Uri` does not allow braces. The port in their place is not used.
        let host = authority.strip_suffix(PORT);
        let numbered = host.filter(|host| host.ends_with(':')).map(|host| {
            let path = &rest[authority.len()..];
            format!("{}://{host}1{path}", scheme.as_str())
        });
        let uri = numbered.as_deref().unwrap_or(text).parse::<http::Uri>();
        let uri = uri.map_err(|e| wrong(e.to_string()))?;
        let written = authority;
        let authority = uri.authority().filter(|at| !at.host().is_empty());
        let authority = authority.ok_or_else(|| wrong("it has no host".to_owned()))?;
        let port = port(authority, scheme).map_err(wrong)?;
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        // `Display` writes the slash that a URL with a query but no path leaves out (RFC 9112, section 3.2.1).
        let path = uri.path_and_query().map(ToString::to_string);
        let path = path.unwrap_or_else(|| "/".to_owned());
        check_path(scheme, &path).map_err(wrong)?;
        Ok(Self {
            scheme,
            authority: written.to_owned(),
            address: match numbered {
                Some(_) => Address::ChosenPort { host },
                None => Address::Tcp { host, port },
            },
            path,
        })
    }
}

/// Returns a URL with everything before an `@` elided, so that an error does not show a password.
fn without_user(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    match rest.rsplit_once('@') {
        Some((_, rest)) => format!("{scheme}…@{rest}"),
        None => text.to_owned(),
    }
}

fn port(authority: &http::uri::Authority, scheme: Scheme) -> Result<u16, String> {
    // `Authority::port` treats an invalid port like a missing one.
    let given = authority.as_str().strip_prefix(authority.host());
    match given.and_then(|given| given.strip_prefix(':')) {
        Some(port) => match port.parse() {
            Ok(port) if port > 0 => Ok(port),
            // The text is not shown: it may be the beginning of a password that contains a slash.
            _ => Err("its port is not a number from 1 to 65535".to_owned()),
        },
        None => scheme
            .default_port()
            .ok_or_else(|| "it has no port".to_owned()),
    }
}

/// Checks that a gRPC path is `/` or `/Service/Method`; any other path was probably meant for HTTP.
fn check_path(scheme: Scheme, path: &str) -> Result<(), String> {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts.as_slice() {
        _ if !scheme.is_grpc() => Ok(()),
        [""] => Ok(()),
        [service, method] if !service.is_empty() && !method.is_empty() && !path.contains('?') => {
            Ok(())
        }
        _ => Err(format!(
            "\"{path}\" names no gRPC method (/package.Service/Method)"
        )),
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme.as_str();
        write!(f, "{scheme}://{}{}", self.authority, self.path)?;
        match &self.address {
            Address::Tcp { .. } | Address::ChosenPort { .. } => Ok(()),
            Address::Unix { path } => write!(f, " over {}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp {
            host: host.to_owned(),
            port,
        }
    }

    #[test]
    fn a_url_names_scheme_address_and_path() {
        let table = [
            (
                "grpc://localhost:50051/shop.Orders/Get",
                Scheme::Grpc,
                tcp("localhost", 50051),
                "/shop.Orders/Get",
            ),
            ("grpc://10.0.0.1:1", Scheme::Grpc, tcp("10.0.0.1", 1), "/"),
            (
                "grpcs://api.example",
                Scheme::Grpcs,
                tcp("api.example", 443),
                "/",
            ),
            (
                "http://[::1]/a?b=c&d",
                Scheme::Http,
                tcp("::1", 80),
                "/a?b=c&d",
            ),
            ("https://x:8443/", Scheme::Https, tcp("x", 8443), "/"),
            ("ws://x/chat", Scheme::Ws, tcp("x", 80), "/chat"),
            ("wss://x/chat", Scheme::Wss, tcp("x", 443), "/chat"),
        ];
        for (text, scheme, address, path) in table {
            let target: Url = text.parse().unwrap();
            let got = (target.scheme, target.address.clone(), target.path.as_str());
            assert_eq!(got, (scheme, address, path), "{text}");
            assert_eq!(
                target.to_string().trim_end_matches('/'),
                text.trim_end_matches('/')
            );
        }
    }

    #[test]
    fn a_port_can_be_chosen_later() {
        let target: Url = "http://[::1]:{port}/a?b={port}".parse().unwrap();
        let host = "::1".to_owned();
        assert_eq!(target.address, Address::ChosenPort { host });
        assert_eq!(target.to_string(), "http://[::1]:{port}/a?b={port}");
        let target = target.at_port(8080);
        assert_eq!(target.address, tcp("::1", 8080));
        assert_eq!(target.authority, "[::1]:8080");
        assert_eq!(target.clone().at_port(1), target);
    }

    #[test]
    fn a_query_can_be_left_out() {
        let shown = |text: &str| text.parse::<Url>().unwrap().without_query().to_string();
        assert_eq!(shown("http://h/a?key=1"), "http://h/a");
        assert_eq!(shown("http://h/a"), "http://h/a");
        assert_eq!(shown("http://h?key=1"), "http://h/");
    }

    #[test]
    fn a_query_without_a_path_gets_its_slash() {
        let target: Url = "http://h:1?x=1".parse().unwrap();
        assert_eq!(target.path, "/?x=1");
        assert_eq!(target.to_string(), "http://h:1/?x=1");
    }

    #[test]
    fn a_grpc_url_may_name_its_method() {
        let method = |text: &str| text.parse::<Url>().unwrap().method().map(str::to_owned);
        assert_eq!(method("grpc://h:1/a.B/C").as_deref(), Some("a.B/C"));
        assert_eq!(method("grpc://h:1/"), None);
        assert_eq!(method("http://h/a/b"), None);
    }

    #[test]
    fn a_unix_socket_keeps_what_the_server_is_told() {
        let target: Url = "http://localhost/x".parse().unwrap();
        let target = target.over_unix_socket(Path::new("/run/x.sock"));
        assert_eq!(target.authority, "localhost");
        assert_eq!(target.to_string(), "http://localhost/x over /run/x.sock");
    }

    #[test]
    fn what_is_no_target_says_why() {
        let why = |text: &str| {
            let error = text.parse::<Url>().unwrap_err().to_string();
            error.split("; write it like").next().unwrap().to_owned()
        };
        insta::assert_snapshot!(why("localhost:50051"), @r#""localhost:50051" is not a target: it has no scheme"#);
        insta::assert_snapshot!(why("grcp://localhost:1"), @r#""grcp://localhost:1" is not a target: there is no scheme "grcp"; did you mean "grpc" or "grpcs"?"#);
        insta::assert_snapshot!(why("tcp://localhost:1"), @r#""tcp://localhost:1" is not a target: there is no scheme "tcp"; expected one of grpc, grpcs, http, https, ws, wss"#);
        insta::assert_snapshot!(why("grpc://localhost/a.B/C"), @r#""grpc://localhost/a.B/C" is not a target: it has no port"#);
        insta::assert_snapshot!(why("grpc://localhost:1/a.B"), @r#""grpc://localhost:1/a.B" is not a target: "/a.B" names no gRPC method (/package.Service/Method)"#);
        insta::assert_snapshot!(why("http://u:p@h/"), @r#""http://…@h/" is not a target: it contains a user name; give credentials in the header 'authorization: …'"#);
        insta::assert_snapshot!(why("u:p@h:1/x"), @r#""…@h:1/x" is not a target: it has no scheme"#);
        insta::assert_snapshot!(why("ftp://u:p@h/"), @r#""ftp://…@h/" is not a target: there is no scheme "ftp"; expected one of grpc, grpcs, http, https, ws, wss"#);
        insta::assert_snapshot!(why("http://:80/"), @r#""http://:80/" is not a target: it has no host"#);
        insta::assert_snapshot!(why("http://h:99999/"), @r#""http://h:99999/" is not a target: its port is not a number from 1 to 65535"#);
        insta::assert_snapshot!(why("http://u:pass/word@h/"), @r#""http://…@h/" is not a target: its port is not a number from 1 to 65535"#);
        insta::assert_snapshot!(why("http://a b/"), @r#""http://a b/" is not a target: invalid uri character"#);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "(grpc|http|https|ws)://[ -~]{0,30}") {
            let _ = text.parse::<Url>();
        }
    }
}
