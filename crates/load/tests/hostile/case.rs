//! A row of the tables in docs/hostile.md: a hostile server and the outcome of the calls to it.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rpcgauge_load::{Bodies, CallStyle, Codec, Hooks, Protocol, ResponseCheck, Trial};
use rpcgauge_trial::{Address, ConnectionUse, Ending, Fault, StreamForm, Streaming, TrialFigures};

use crate::support::memory;
use crate::support::{assert_sums_hold, failures, hooks, measure_with, prepared, run_with, trial};

/// Number of calls in a trial.
const CALLS: u64 = 4;

/// Deadline of calls that end for another reason, which must happen first.
const LONG: Duration = Duration::from_secs(20);

/// Deadline of calls that nothing else ends.
pub(crate) const SHORT: Duration = Duration::from_millis(150);

/// Time after which a trial is considered hung.
const HANGS: Duration = Duration::from_secs(180);

/// Maximum number of bytes that a trial may use, whatever the server does.
const MORE_BYTES: i64 = 2 << 20;

/// The protocol of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Http1,
    Grpc,
    /// HTTP/1.1 over TLS.
    Tls,
    WebSocket,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Over::Http1 => "HTTP/1.1",
            Over::Grpc => "gRPC",
            Over::Tls => "TLS",
            Over::WebSocket => "WebSocket",
        })
    }
}

/// The outcome of a case's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answered,
    /// All calls are answered, some of them after a retry.
    Retried,
    /// Every second call fails in this way, and the server is at fault. The others are answered.
    Half(&'static str),
    /// All calls fail, each in one of these ways.
    Fail(&'static [&'static str], Fault),
}

/// All calls fail, each in one of these ways, and the server is at fault.
pub(crate) const fn fail(kinds: &'static [&'static str]) -> Outcome {
    Outcome::Fail(kinds, Fault::Subject)
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Answered => f.write_str("answered"),
            Outcome::Retried => f.write_str("answered, some after a retry"),
            Outcome::Half(kind) => write!(f, "half answered, half `{kind}` (server)"),
            Outcome::Fail(kinds, fault) => {
                let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
                let fault = match fault {
                    Fault::User | Fault::Instrument => "client",
                    Fault::Subject => "server",
                    Fault::Machine => "machine",
                };
                write!(f, "{} ({fault})", kinds.join(" or "))
            }
        }
    }
}

/// Starts a server.
type Server = Box<dyn Fn() -> Address + Send>;

/// Creates the codec that reads the responses.
type MakeCodec = fn() -> Box<dyn Codec>;

/// Creates the check for responses that are not decoded.
type MakeCheck = fn() -> ResponseCheck<'static>;

/// A row of a table.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) over: Over,
    pub(crate) outcome: Outcome,
    /// Servers that do the same thing in different ways.
    servers: Vec<Server>,
    change: Box<dyn Fn(&mut Trial) + Send>,
    uses: &'static [ConnectionUse],
    request: usize,
    codec: Option<MakeCodec>,
    check: Option<MakeCheck>,
    more_bytes: i64,
    /// Words that the messages of the failures contain.
    says: &'static str,
}

impl Case {
    pub(crate) fn new(name: &'static str, over: Over, outcome: Outcome) -> Case {
        Case {
            name,
            over,
            outcome,
            servers: Vec::new(),
            change: Box::new(|_| ()),
            uses: &[ConnectionUse::Reuse, ConnectionUse::PerCall],
            request: 3,
            codec: None,
            check: None,
            more_bytes: MORE_BYTES,
            says: "",
        }
    }

    /// Adds a server.
    pub(crate) fn server(mut self, server: impl Fn() -> Address + Send + 'static) -> Case {
        self.servers.push(Box::new(server));
        self
    }

    /// Adds a change to the trial.
    pub(crate) fn with(mut self, change: impl Fn(&mut Trial) + Send + 'static) -> Case {
        let before = self.change;
        self.change = Box::new(move |trial| {
            before(trial);
            change(trial);
        });
        self
    }

    /// Makes the deadline the only thing that ends the calls.
    pub(crate) fn until_the_deadline(self) -> Case {
        self.with(|trial| trial.deadline = SHORT)
    }

    /// Makes all calls use persistent connections.
    pub(crate) fn kept(mut self) -> Case {
        self.uses = &[ConnectionUse::Reuse];
        self
    }

    /// Makes each call use its own connection.
    pub(crate) fn per_call(mut self) -> Case {
        self.uses = &[ConnectionUse::PerCall];
        self
    }

    /// Sets the size of each request's message, which the trial also stores.
    pub(crate) fn request(mut self, bytes: usize) -> Case {
        self.request = bytes;
        self.more_bytes += 3 * bytes as i64;
        self
    }

    /// Decodes the responses with this codec.
    pub(crate) fn codec(mut self, codec: MakeCodec) -> Case {
        self.codec = Some(codec);
        self
    }

    /// Does not decode the responses, but checks them in this way.
    pub(crate) fn checked(mut self, check: MakeCheck) -> Case {
        self.check = Some(check);
        self
    }

    /// Sets the maximum number of bytes that the trial may use.
    pub(crate) fn holding(mut self, bytes: i64) -> Case {
        self.more_bytes = bytes;
        self
    }

    /// Requires that the message of every failure contain these words.
    pub(crate) fn saying(mut self, words: &'static str) -> Case {
        self.says = words;
        self
    }

    /// Runs the trials, and fails if they hang.
    pub(crate) fn check(self) {
        let (name, over) = (self.name, self.over);
        println!("{name} ({over})");
        let (done, over_in_time) = mpsc::channel();
        let checking = thread::spawn(move || {
            self.check_trials();
            let _ = done.send(());
        });
        if over_in_time.recv_timeout(HANGS) == Err(mpsc::RecvTimeoutError::Timeout) {
            panic!("{name} ({over}): the trial hangs");
        }
        assert!(checking.join().is_ok(), "{name} ({over}): see above");
    }

    fn check_trials(&self) {
        assert!(!self.servers.is_empty(), "{}: no server", self.name);
        for (number, server) in self.servers.iter().enumerate() {
            for &connection_use in self.uses {
                let mut trial = self.trial(server());
                trial.connection_use = connection_use;
                let what = format!("{} #{number} {connection_use:?}", self.name);
                let (measurement, taken) = memory::taken(|| self.measure(&trial));
                self.judge(&measurement, &what, &trial);
                assert!(
                    taken.max_held <= self.more_bytes,
                    "{what}: {} bytes held, {} expected",
                    taken.max_held,
                    self.more_bytes
                );
            }
        }
    }

    fn trial(&self, address: Address) -> Trial {
        let mut trial = trial(address);
        trial.deadline = LONG;
        trial.patience = HANGS;
        trial.stop.calls = Some(CALLS);
        if self.over == Over::Grpc {
            trial.endpoint.protocol = Protocol::Http2;
            trial.request.style = CallStyle::Grpc { subtype: None };
            trial.request.headers.clear();
        }
        if self.over == Over::WebSocket {
            trial.request.style = CallStyle::WebSocket;
            trial.request.headers.clear();
            trial.streaming = Some(Streaming::of(StreamForm::Bidirectional));
        }
        (self.change)(&mut trial);
        trial
    }

    fn measure(&self, trial: &Trial) -> TrialFigures {
        let body = vec![b'x'; self.request];
        let result = match self.codec {
            None => {
                let hooks = Hooks {
                    checks: self.check.iter().map(|make| Some(make())).collect(),
                    ..hooks()
                };
                measure_with(trial, prepared(&[&body]), hooks, &AtomicBool::new(false))
            }
            Some(codec) => run_with(trial, Bodies::PerCall(&mut *codec())),
        };
        result.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    fn judge(&self, measurement: &TrialFigures, what: &str, trial: &Trial) {
        let started = trial.stop.calls.unwrap_or_default();
        assert_sums_hold(measurement);
        assert_eq!(measurement.ending, Ending::Complete, "{what}");
        let calls = &measurement.calls;
        let seen = format!(
            "{what}: {} answered, {} sent again, {:?}, {:?}",
            calls.answered,
            calls.retried,
            failures(measurement),
            measurement.error_samples
        );
        assert_eq!(calls.started, started, "{seen}");
        assert_eq!(calls.abandoned, 0, "{seen}");
        match self.outcome {
            Outcome::Answered => {
                assert_eq!((calls.answered, calls.retried), (started, 0), "{seen}")
            }
            Outcome::Retried => {
                assert_eq!(calls.answered, started, "{seen}");
                assert!(calls.answered_after_retry > 0, "{seen}");
            }
            Outcome::Half(kind) => {
                assert_eq!(calls.answered, started / 2, "{seen}");
                assert_eq!(
                    failures(measurement),
                    [(kind.to_owned(), started / 2)],
                    "{seen}"
                );
            }
            Outcome::Fail(kinds, fault) => {
                assert_eq!(calls.failed_total(), started, "{seen}");
                if kinds == ["deadline"] {
                    // Histograms are accurate to 0.1%.
                    let least = trial.deadline.as_nanos() as u64 / 100 * 99;
                    assert!(
                        measurement
                            .failed_latency
                            .as_ref()
                            .unwrap()
                            .unpack()
                            .counts()
                            .min()
                            >= least,
                        "{seen}"
                    );
                }
                for kind in calls.failed.keys() {
                    let name = kind.to_string();
                    assert!(kinds.contains(&name.as_str()), "{seen}");
                    assert_eq!(kind.fault(), fault, "{seen}");
                    let mut samples = measurement.error_samples.iter();
                    let sampled = samples.any(|s| s.kind == *kind && s.text.contains(self.says));
                    assert!(sampled, "no message with {:?}: {seen}", self.says);
                }
            }
        }
    }
}
