//! The messages between a master and a worker.
//!
//! A master does not check messages: a field that is missing or has another type ends its only listener. Every field that
//! it reads is therefore always sent. It adds the numbers of a report to its own, so a report contains only what is new.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rmpv::Value;
use rmpv::decode::read_value_with_max_depth;

use crate::report::{Calls, Figures, Report};

/// The states of a worker that a master shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    Running,
    Stopping,
}

/// A message of a worker.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ToMaster<'a> {
    /// The worker has joined, or is ready for another load.
    ClientReady,
    Heartbeat {
        state: State,
        /// CPU time of this process, percent of a core.
        cpu: f64,
    },
    /// The number of users is about to change.
    Spawning,
    /// These users are there.
    SpawningComplete(&'a Users),
    Stats(&'a Report, &'a Users),
    /// For the package rpcgauge-locust.
    Figures(&'a Figures),
    /// No user is left.
    ClientStopped,
    /// The worker leaves.
    Quit,
}

/// A message of a master.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FromMaster {
    /// The worker was accepted.
    Ack,
    Heartbeat,
    /// There should be these users, in total.
    Spawn {
        sent_at: f64,
        users: Users,
    },
    Stop,
    Quit,
    Reconnect,
    /// The package rpcgauge-locust collects the figures of a load, which began this long ago.
    Collect {
        format: u64,
        run: String,
        began_before: Duration,
    },
    /// The package waits for the last figures.
    CollectLast,
    /// Any other type. Locust's own workers ignore unknown types, too.
    Other,
}

/// The users of a worker by the class of the master's locustfile.
pub(crate) type Users = BTreeMap<String, u32>;

/// The version of a worker that fits every master. A master warns of other versions than its own.
const ANY_VERSION: i64 = -1;

/// The version of the messages that the package rpcgauge-locust exchanges with workers.
pub(crate) const FORMAT: u64 = 1;

/// How deeply the values of a message may be nested. A master nests options in a map in the message.
const MAX_DEPTH: usize = 32;

impl State {
    fn as_str(self) -> &'static str {
        match self {
            State::Ready => "ready",
            State::Running => "running",
            State::Stopping => "stopping",
        }
    }
}

impl ToMaster<'_> {
    /// The bytes of the message from the worker with the name `worker`.
    pub(crate) fn to_bytes(&self, worker: &str) -> Vec<u8> {
        let (of, data) = match self {
            ToMaster::ClientReady => ("client_ready", ANY_VERSION.into()),
            ToMaster::Heartbeat { state, cpu } => (
                "heartbeat",
                map([
                    ("state", state.as_str().into()),
                    ("current_cpu_usage", (*cpu).into()),
                ]),
            ),
            ToMaster::Spawning => ("spawning", Value::Nil),
            ToMaster::SpawningComplete(users) => ("spawning_complete", map(counts(users))),
            ToMaster::Stats(report, users) => {
                let entry = entry(report, &report.calls.name, &report.calls.method);
                let has_calls = report.calls.succeeded + report.calls.failures() > 0;
                let stats = [
                    (
                        "stats",
                        Value::Array(has_calls.then_some(entry).into_iter().collect()),
                    ),
                    ("stats_total", self::entry(report, "Aggregated", "")),
                    ("errors", errors(report)),
                ];
                ("stats", map(stats.into_iter().chain(counts(users))))
            }
            ToMaster::Figures(figures) => ("rpcgauge_figures", to_collect(figures)),
            ToMaster::ClientStopped => ("client_stopped", Value::Nil),
            ToMaster::Quit => ("quit", Value::Nil),
        };
        let mut bytes = Vec::new();
        let message = Value::Array(vec![of.into(), data, worker.into()]);
        rmpv::encode::write_value(&mut bytes, &message).expect("writing to memory succeeds");
        bytes
    }
}

impl FromMaster {
    /// Reads a message; `None` if it is not a message of a master.
    pub(crate) fn parse(bytes: &[u8]) -> Option<FromMaster> {
        let message = read_value_with_max_depth(&mut &*bytes, MAX_DEPTH).ok()?;
        let [of, data, _] = message.as_array()?.as_slice() else {
            return None;
        };
        Some(match of.as_str()? {
            "ack" => FromMaster::Ack,
            "heartbeat" => FromMaster::Heartbeat,
            "spawn" => FromMaster::Spawn {
                sent_at: field(data, "timestamp")?.as_f64()?,
                users: users(field(data, "user_classes_count")?)?,
            },
            "stop" => FromMaster::Stop,
            "quit" => FromMaster::Quit,
            "reconnect" => FromMaster::Reconnect,
            "rpcgauge_collect" => FromMaster::Collect {
                format: field(data, "format")?.as_u64()?,
                run: field(data, "run")?.as_str()?.to_owned(),
                began_before: Duration::try_from_secs_f64(field(data, "elapsed")?.as_f64()?)
                    .ok()?,
            },
            "rpcgauge_collect_last" => FromMaster::CollectLast,
            _ => FromMaster::Other,
        })
    }
}

fn field<'v>(data: &'v Value, name: &str) -> Option<&'v Value> {
    let mut fields = data.as_map()?.iter();
    fields.find_map(|(key, value)| (key.as_str() == Some(name)).then_some(value))
}

fn users(counts: &Value) -> Option<Users> {
    let count = |(class, count): &(Value, Value)| {
        let count = u32::try_from(count.as_u64()?).ok()?;
        Some((class.as_str()?.to_owned(), count))
    };
    counts.as_map()?.iter().map(count).collect()
}

fn map<'k>(fields: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let fields = fields.into_iter();
    Value::Map(fields.map(|(key, value)| (key.into(), value)).collect())
}

fn counts(users: &Users) -> [(&'static str, Value); 2] {
    let all = users.values().map(|count| u64::from(*count)).sum::<u64>();
    let by_class = users
        .iter()
        .map(|(class, count)| (&**class, (*count).into()));
    [
        ("user_classes_count", map(by_class)),
        ("user_count", all.into()),
    ]
}

fn to_collect(figures: &Figures) -> Value {
    let files = figures.files.iter();
    map([
        ("format", FORMAT.into()),
        ("run", (*figures.run).into()),
        (
            "files",
            map(files.map(|(name, text)| (*name, (**text).into()))),
        ),
        ("name", (*figures.name).into()),
        ("text", (*figures.text).into()),
        ("ended", figures.ended.into()),
    ])
}

/// The calls of a report as an entry of the master's table.
fn entry(report: &Report, name: &str, method: &str) -> Value {
    let calls = &report.calls;
    let failures = calls.failures();
    let all = calls.succeeded + failures;
    let second = seconds(report.until).floor() as u64;
    let in_second = |count: u64| {
        let counted = (count > 0).then(|| (second.into(), count.into()));
        Value::Map(counted.into_iter().collect())
    };
    let times = &calls.times;
    let total: f64 = times
        .iter()
        .map(|(ns, count)| ms(*ns) * *count as f64)
        .sum();
    let extreme = |found: Option<u64>| found.map_or(Value::Nil, |ns| ms(ns).into());
    map([
        ("name", name.into()),
        ("method", method.into()),
        ("start_time", seconds(report.began).into()),
        (
            "last_request_timestamp",
            match all {
                0 => Value::Nil,
                _ => seconds(report.until).into(),
            },
        ),
        ("num_requests", all.into()),
        ("num_none_requests", 0.into()),
        ("num_failures", failures.into()),
        ("total_response_time", total.into()),
        (
            "min_response_time",
            extreme(times.iter().map(|(ns, _)| *ns).min()),
        ),
        (
            "max_response_time",
            extreme(times.iter().map(|(ns, _)| *ns).max().or(Some(0))),
        ),
        ("total_content_length", calls.content_bytes.into()),
        ("response_times", response_times(calls)),
        ("num_reqs_per_sec", in_second(all)),
        ("num_fail_per_sec", in_second(failures)),
    ])
}

/// The response times in ms, rounded to two significant digits, because a master keeps every distinct time. It does not
/// round them itself. Locust's own workers round to two digits as well, and to whole milliseconds.
fn response_times(calls: &Calls) -> Value {
    let mut rounded: BTreeMap<u64, u64> = BTreeMap::new();
    for (ns, count) in &calls.times {
        *rounded.entry(two_digits(*ns)).or_default() += count;
    }
    let times = rounded.into_iter();
    Value::Map(
        times
            .map(|(ns, count)| (ms(ns).into(), count.into()))
            .collect(),
    )
}

fn errors(report: &Report) -> Value {
    let calls = &report.calls;
    let error = |(reason, count): (&String, &u64)| {
        // The master adds up errors with the same key, whichever worker they are from.
        let key = format!("{}.{}.{reason}", calls.method, calls.name);
        let error = map([
            ("name", (*calls.name).into()),
            ("method", (*calls.method).into()),
            ("error", (**reason).into()),
            ("occurrences", (*count).into()),
            ("first_seen", seconds(report.until).into()),
            ("last_seen", seconds(report.until).into()),
        ]);
        (key.into(), error)
    };
    Value::Map(calls.failed.iter().map(error).collect())
}

fn two_digits(ns: u64) -> u64 {
    let digits = ns.checked_ilog10().unwrap_or(0);
    let unit = 10u64.pow(digits.saturating_sub(1));
    ns.saturating_add(unit / 2) / unit * unit
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn seconds(time: SystemTime) -> f64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(of: &str, data: Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        let message = Value::Array(vec![of.into(), data, "w".into()]);
        rmpv::encode::write_value(&mut bytes, &message).unwrap();
        bytes
    }

    #[test]
    fn a_master_says_how_many_users_there_are() {
        let data = map([
            ("timestamp", 7.5.into()),
            (
                "user_classes_count",
                map([("A", 3.into()), ("B", 0.into())]),
            ),
            ("host", Value::Nil),
        ]);
        let users = Users::from([("A".to_owned(), 3), ("B".to_owned(), 0)]);
        let spawn = FromMaster::Spawn {
            sent_at: 7.5,
            users,
        };
        assert_eq!(FromMaster::parse(&message("spawn", data)), Some(spawn));
        let data = map([
            ("format", 1.into()),
            ("run", "orders".into()),
            ("elapsed", 2.5.into()),
        ]);
        let collect = FromMaster::Collect {
            format: FORMAT,
            run: "orders".to_owned(),
            began_before: Duration::from_millis(2_500),
        };
        let parsed = FromMaster::parse(&message("rpcgauge_collect", data));
        assert_eq!(parsed, Some(collect));
        let other = FromMaster::parse(&message("update_user_class", Value::Nil));
        assert_eq!(other, Some(FromMaster::Other));
    }

    #[test]
    fn what_is_not_a_message_is_refused() {
        let negative = map([
            ("timestamp", 1.5.into()),
            ("user_classes_count", map([("A", (-1).into())])),
        ]);
        for bytes in [
            vec![],
            vec![0xc1],
            b"hello".to_vec(),
            // Nested arrays, and one with four billion elements.
            vec![0x91; 100_000],
            vec![0xdd, 0xff, 0xff, 0xff, 0xff],
            message("spawn", Value::Nil),
            message("spawn", negative),
        ] {
            assert_eq!(FromMaster::parse(&bytes), None, "{:?}", bytes.first());
        }
    }

    #[test]
    fn a_report_has_what_a_master_adds_up() {
        let report = Report {
            began: UNIX_EPOCH,
            until: UNIX_EPOCH + Duration::from_millis(2_500),
            calls: Calls {
                method: "GRPC".to_owned(),
                name: "/a.B/C".to_owned(),
                succeeded: 3,
                failed: BTreeMap::from([("deadline".to_owned(), 2)]),
                times: vec![(456_789, 3), (10_000_000, 2)],
                content_bytes: 30,
            },
        };
        let users = Users::from([("A".to_owned(), 4)]);
        let bytes = ToMaster::Stats(&report, &users).to_bytes("w1");
        let value = rmpv::decode::read_value(&mut &*bytes).unwrap();
        let [of, data, worker] = value.as_array().unwrap().as_slice() else {
            panic!("{value}");
        };
        assert_eq!((of.as_str(), worker.as_str()), (Some("stats"), Some("w1")));
        assert_eq!(field(data, "user_count"), Some(&4.into()));
        let entry = &field(data, "stats").unwrap().as_array().unwrap()[0];
        let of = |name| field(entry, name).unwrap().to_string();
        let found = ["num_requests", "num_failures", "total_response_time"].map(of);
        assert_eq!(found, ["5", "2", "21.370367"]);
        let found = ["response_times", "num_reqs_per_sec", "num_fail_per_sec"].map(of);
        assert_eq!(found, ["{0.46: 3, 10: 2}", "{2: 5}", "{2: 2}"]);
        let errors = field(data, "errors").unwrap().as_map().unwrap();
        assert_eq!(field(&errors[0].1, "occurrences"), Some(&2.into()));
        let total = field(data, "stats_total").unwrap();
        assert_eq!(field(total, "name"), Some(&"Aggregated".into()));
    }

    proptest! {
        #[test]
        fn times_are_rounded_by_at_most_five_percent(ns in 1u64..1 << 50) {
            let rounded = two_digits(ns);
            prop_assert!((rounded as f64 / ns as f64 - 1.0).abs() <= 0.05, "{} {}", ns, rounded);
        }

        #[test]
        fn no_bytes_of_a_master_are_fatal(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            FromMaster::parse(&bytes);
        }
    }
}
