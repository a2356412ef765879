//! Pushes the metrics by Prometheus remote write, on its own thread.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rpcgauge_load::{Fetch, FetchError, Roots, Tls, TlsSettings, without_values};
use rpcgauge_study::FormError;
use rpcgauge_study::system::sentence;
use rpcgauge_study::url::{Address, Scheme, Url};

use super::Metrics;
use super::remote_write::Sent;
use crate::exit::Failure;
use crate::screen::Screen;

/// The time between two pushes.
const EVERY: Duration = Duration::from_secs(5);

/// The time limit of a push. At the end, the report waits at most this long for the last one.
const LIMIT: Duration = Duration::from_secs(5);

/// How much of a response that refuses a push is shown, in characters.
const SHOWN_CHARS: usize = 200;

/// Where to push metrics.
#[derive(Debug)]
pub(crate) struct Push {
    /// The URL without its query, which may contain a secret.
    url: String,
    /// The addresses of its host. The server may listen at only one of them.
    addresses: Vec<SocketAddr>,
    /// A push, without its body.
    request: Fetch,
}

impl Push {
    /// Prepares pushes to a URL with these header fields. Resolves the host's name once.
    pub(crate) fn to(given: &str, headers: &[(String, String)]) -> Result<Self, Failure> {
        let parsed: Result<Url, FormError> = given.parse();
        let url = parsed.map_err(|error| {
            Failure::input(format!(
                "--metrics-push: the URL is not valid: {}; write it like \
                 http://localhost:9090/api/v1/write",
                error.what()
            ))
        })?;
        let shown = url.clone().without_query().to_string();
        let wrong = |what: String| Failure::input(format!("--metrics-push {shown}: {what}"));
        let (Scheme::Http | Scheme::Https, Address::Tcp { host, port }) =
            (url.scheme, &url.address)
        else {
            return Err(wrong("write http[s]://HOST:PORT/PATH".to_owned()));
        };
        let addresses = (host.as_str(), *port).to_socket_addrs().map_err(|error| {
            wrong(format!(
                "the name \"{host}\" has no address: {error}; check the name, or give an IP address"
            ))
        })?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        let Some(first) = addresses.first() else {
            return Err(wrong(format!("the name \"{host}\" has no address")));
        };
        let tls = url.scheme.is_tls().then(|| {
            Tls::new(TlsSettings {
                roots: Roots::System,
                identity: None,
                server_name: host.clone(),
                insecure: false,
                allow_missing_alpn: false,
                resumption: true,
            })
        });
        let own = [
            ("content-type", "application/x-protobuf"),
            ("content-encoding", "snappy"),
            ("x-prometheus-remote-write-version", "0.1.0"),
            (
                "user-agent",
                concat!("rpcgauge/", env!("CARGO_PKG_VERSION")),
            ),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let request = Fetch {
            authority: Some(url.authority.clone()),
            tls: tls.transpose().map_err(|error| wrong(error.to_string()))?,
            method: "POST".to_owned(),
            headers: [&own[..], headers].concat(),
            ..Fetch::get(*first, &url.path)
        };
        request
            .head()
            .map_err(|error| Failure::input(format!("--metrics-push-header: {error}")))?;
        Ok(Self {
            url: shown,
            addresses,
            request,
        })
    }

    /// Starts pushing `metrics`, until [`Pushing::finish`].
    pub(crate) fn start(self, metrics: Metrics, screen: Screen) -> Result<Pushing, Failure> {
        let (end, ended) = channel();
        let (outcomes, received) = channel();
        let pushing = Pushing {
            url: self.url.clone(),
            screen: screen.clone(),
            end,
            outcomes: received,
        };
        let pusher = Pusher {
            push: self,
            sent: Sent::nothing(epoch_ms()),
            labels: labels(),
            metrics,
        };
        let thread = thread::Builder::new().name("push".to_owned());
        thread
            .spawn(move || pusher.run(&ended, &outcomes, &screen))
            .map_err(|error| Failure::cannot(format!("cannot start a thread: {error}")))?;
        Ok(pushing)
    }
}

/// The labels that a scrape would add, with which the pushes of several programs have different series.
fn labels() -> [(&'static str, String); 2] {
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy();
    [
        ("job", "rpcgauge".to_owned()),
        ("instance", format!("{host}:{}", std::process::id())),
    ]
}

fn epoch_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX))
}

/// Pushes on another thread.
pub(crate) struct Pushing {
    url: String,
    screen: Screen,
    /// Dropped for the last push.
    end: Sender<Infallible>,
    /// Whether each push arrived.
    outcomes: Receiver<bool>,
}

impl Pushing {
    /// Pushes once more, and shows how many pushes failed, if any.
    pub(crate) fn finish(self) {
        drop(self.end);
        let until = Instant::now() + LIMIT;
        let mut outcomes = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.outcomes.recv_timeout(left) {
                Ok(has_arrived) => outcomes.push(has_arrived),
                Err(RecvTimeoutError::Disconnected) => break,
                // The thread ends with the program.
                Err(RecvTimeoutError::Timeout) => {
                    outcomes.push(false);
                    break;
                }
            }
        }
        let failed = outcomes.iter().filter(|has_arrived| !**has_arrived).count();
        if failed > 0 {
            let last = match outcomes.last() {
                Some(true) => "; the last one arrived, with the totals of the load",
                _ => ", including the last one, so the receiver's totals are incomplete",
            };
            self.screen.line(&format!(
                "warning: --metrics-push {}: {failed} of {} pushes failed{last}",
                self.url,
                outcomes.len()
            ));
        }
    }
}

struct Pusher {
    push: Push,
    metrics: Metrics,
    labels: [(&'static str, String); 2],
    sent: Sent,
}

impl Pusher {
    fn run(mut self, ended: &Receiver<Infallible>, outcomes: &Sender<bool>, screen: &Screen) {
        let (mut is_last, mut has_failed) = (false, false);
        let mut ms = epoch_ms();
        loop {
            // Two samples of a series must not have the same time, even if the clock is set back.
            ms = epoch_ms().max(ms + 1);
            let pushed = self.push(ms);
            if let Err(why) = &pushed
                && !has_failed
            {
                has_failed = true;
                screen.line(&format!(
                    "warning: --metrics-push {}: {}; the load is not affected, and each push carries the \
                     totals so far",
                    self.push.url, why.what
                ));
            }
            // After the time limit of the last push, nobody receives this.
            let _ = outcomes.send(pushed.is_ok());
            if is_last {
                return;
            }
            is_last = ended.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout);
        }
    }

    fn push(&mut self, ms: i64) -> Result<(), NotPushed> {
        let gap = i64::try_from(EVERY.as_millis()).unwrap_or(i64::MAX);
        let text = self.metrics.text();
        let request = self.sent.request(&text, &self.labels, ms, gap);
        let pushed = match request.compressed() {
            Ok(body) => self.push.send(body),
            Err(error) => Err(NotPushed::surely(error.to_string())),
        };
        if pushed
            .as_ref()
            .err()
            .is_none_or(|failed| failed.may_have_arrived)
        {
            self.sent.add(request, ms);
        }
        pushed
    }
}

/// Why a push failed.
struct NotPushed {
    what: String,
    /// Whether the receiver may have stored it nevertheless.
    may_have_arrived: bool,
}

impl NotPushed {
    fn surely(what: String) -> Self {
        Self {
            what,
            may_have_arrived: false,
        }
    }

    fn perhaps(what: String) -> Self {
        Self {
            what,
            may_have_arrived: true,
        }
    }
}

impl Push {
    /// Sends a body to the first address that accepts a connection. Otherwise returns the reason.
    fn send(&mut self, body: Vec<u8>) -> Result<(), NotPushed> {
        self.request.body = body;
        let mut failure = NotPushed::surely(String::new());
        for address in &self.addresses {
            self.request.address = *address;
            match self.request.send(LIMIT) {
                Ok(fetched) if (200..300).contains(&fetched.status) => return Ok(()),
                Ok(fetched) => {
                    return Err(NotPushed::perhaps(
                        self.refusal(fetched.status, &fetched.body),
                    ));
                }
                Err(FetchError::Connection(error)) => {
                    let what = sentence(&error);
                    failure = match error.kind() {
                        ErrorKind::ConnectionRefused => {
                            NotPushed::surely(format!("{what}; check that the receiver is running"))
                        }
                        ErrorKind::AddrNotAvailable
                        | ErrorKind::HostUnreachable
                        | ErrorKind::NetworkUnreachable => NotPushed::surely(what),
                        _ => return Err(NotPushed::perhaps(what)),
                    };
                }
                Err(error) => return Err(NotPushed::perhaps(error.to_string())),
            }
        }
        Err(failure)
    }

    /// A response's status and the first line of its body.
    fn refusal(&self, status: u16, body: &[u8]) -> String {
        let body = String::from_utf8_lossy(body);
        let said = body.trim().lines().next().unwrap_or_default();
        let said = without_values(said, &self.request.headers);
        let said: String = said.chars().take(SHOWN_CHARS).collect();
        let separator = if said.is_empty() { "" } else { ": " };
        format!("refused with status {status}{separator}{said}")
    }
}
