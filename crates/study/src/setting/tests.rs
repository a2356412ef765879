//! What the table of settings promises to those that go through it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::mem::discriminant;

use super::*;
use crate::settings::{Arrivals, Operation, Protocol, Sample, Schedule};

/// The settings of a call and of a codec, which together have every setting but a workload's size.
fn skeletons() -> [Settings; 3] {
    let target = Target::reference(WorkloadSpec::Hello {});
    let call = Settings::new(target, Protocol::Rest);
    let (mut by_client, mut codec) = (call.clone(), call.clone());
    set(Key::Client, &mut by_client, &Value::stack("go/grpc"));
    codec.target = Target::Codec {
        codec: "go/json".to_owned(),
        operation: Operation::Encode,
        sample: Sample::Response,
        workload: WorkloadSpec::Hello {},
    };
    [call, by_client, codec]
}

/// Puts a value into settings that have the setting.
fn set(key: Key, settings: &mut Settings, value: &Value) {
    let set = (key.row().set)(settings, value);
    assert_eq!(set, Ok(()), "{} = {value}", key.row().name);
}

/// Settings with a value, where they have the setting; arrivals at a rate.
fn with(row: &Setting, value: &Value, mut settings: Settings) -> Option<Settings> {
    if row.key == Key::Arrivals {
        (Key::Rate.row().set)(&mut settings, &Value::Rate(1.0)).ok()?;
    }
    (row.set)(&mut settings, value).ok()?;
    Some(settings)
}

/// Some values of a setting, all of them where it has words.
fn values(row: &Setting) -> Vec<Value> {
    match &row.values {
        Values::Stack => vec![Value::Stack("python/http".to_owned())],
        Values::Words { all, .. } => all().into_iter().map(Value::Word).collect(),
        Values::Compression => vec![Value::Compression(Compression::GZIP)],
        Values::Whole(bounds) => [0, 7]
            .map(|more| Value::Whole(bounds.start() + more))
            .to_vec(),
        Values::Rate => vec![Value::Rate(2.5)],
        Values::Time { min_ms } => vec![Value::Time(*min_ms), Value::Time(7_000)],
        Values::Plain => vec![Value::Plain("g1".to_owned())],
        Values::Size => vec![Value::Size(256 << 20)],
        Values::Link => ["loopback", "wlan"]
            .map(|name| Value::Link(crate::link::named(name).unwrap()))
            .to_vec(),
        Values::Flag => vec![Value::Flag(true)],
    }
}

#[test]
fn a_row_is_found_by_its_word() {
    for row in &SETTINGS {
        assert_eq!(Key::from_name(row.name), Some(row.key));
    }
}

#[test]
fn a_value_of_another_kind_is_refused_and_changes_nothing() {
    let kinds = SETTINGS.each_ref().map(|row| values(row).swap_remove(0));
    for row in &SETTINGS {
        let own = values(row);
        let is_own = |kind: &Value| {
            own.iter()
                .any(|value| discriminant(value) == discriminant(kind))
        };
        for kind in kinds.iter().filter(|kind| !is_own(kind)) {
            for before in skeletons() {
                let mut after = before.clone();
                let is_size = matches!(row.key, Key::N | Key::Scale);
                assert_eq!(
                    (row.set)(&mut after, kind).is_ok(),
                    is_size,
                    "{} = {kind}",
                    row.name
                );
                assert_eq!(after, before, "{} = {kind}", row.name);
            }
        }
    }
}

#[test]
fn what_is_put_into_settings_is_found_there_and_said() {
    let sizes = [Key::N, Key::Scale];
    for row in SETTINGS.iter().filter(|row| !sizes.contains(&row.key)) {
        for value in values(row) {
            let skeletons = skeletons().into_iter();
            let found: Vec<Settings> = skeletons
                .filter_map(|settings| with(row, &value, settings))
                .filter(|settings| row.value(settings) == Some(value.clone()))
                .collect();
            assert!(!found.is_empty(), "{} = {value}", row.name);
        }
    }
}

/// Every field of settings with its value. The patterns name all of them, so that a new field has to be
/// added here.
fn fields(settings: &Settings) -> BTreeMap<&'static str, String> {
    let Settings {
        target,
        protocol,
        http,
        encoding,
        request_compression,
        response_compression,
        threads,
        transport,
        tls,
        connection,
        connections,
        link,
        schedule,
        stop,
        deadline_ms,
        cold_calls,
        runtime,
    } = settings;
    let mut fields: Vec<(&'static str, &dyn Debug)> = vec![
        ("protocol", protocol),
        ("http", http),
        ("encoding", encoding),
        ("request_compression", request_compression),
        ("response_compression", response_compression),
        ("threads", threads),
        ("transport", transport),
        ("tls", tls),
        ("connection", connection),
        ("connections", connections),
        ("link", link),
        ("schedule", schedule),
        ("stop", stop),
        ("deadline_ms", deadline_ms),
        ("cold_calls", cold_calls),
        ("runtime", runtime),
    ];
    match target {
        Target::Subject {
            server,
            client,
            workload,
        } => fields.extend([
            ("server", server as &dyn Debug),
            ("client", client),
            ("workload", workload),
        ]),
        Target::Codec {
            codec,
            operation,
            sample,
            workload,
        } => fields.extend([
            ("codec", codec as &dyn Debug),
            ("operation", operation),
            ("sample", sample),
            ("workload", workload),
        ]),
        Target::Live { service } => fields.push(("service", service)),
    }
    let said = |(field, value)| (field, format!("{value:?}"));
    fields.into_iter().map(said).collect()
}

/// So that what is read, named, written and compared by the table is all of the settings.
#[test]
fn every_field_of_settings_has_a_row() {
    let mut without: BTreeSet<&str> = skeletons().iter().flat_map(fields).map(|f| f.0).collect();
    for row in &SETTINGS {
        for value in values(row) {
            for settings in skeletons() {
                let before = fields(&settings);
                let after = with(row, &value, settings).map_or(before.clone(), |s| fields(&s));
                without.retain(|field| before.get(field) == after.get(field));
            }
        }
    }
    // The message is chosen under [workload].
    assert_eq!(without, BTreeSet::from(["workload"]));
}

#[test]
fn every_row_says_something_of_some_settings() {
    for row in &SETTINGS {
        let said = values(row).into_iter().any(|value| {
            skeletons().into_iter().any(|mut settings| {
                if row.key == Key::ResponseCompression {
                    settings.request_compression = Compression::ZSTD;
                }
                let settings = with(row, &value, settings);
                settings.is_some_and(|settings| !row.words(&settings).is_empty())
            })
        });
        // A size is said with its workload.
        let is_size = matches!(row.key, Key::N | Key::Scale);
        assert_eq!(said, !is_size, "{}", row.name);
    }
}

#[test]
fn it_is_said_in_one_line_how_is_called() {
    let [call, mut by_client, mut codec] = skeletons();
    insta::assert_snapshot!(call.how(), @"REST on HTTP/1.1, json, TCP connection kept, one call after the other");
    by_client.schedule = Schedule::Rate {
        per_second: 100.0,
        arrivals: Arrivals::Constant,
    };
    by_client.request_compression = Compression::GZIP;
    insta::assert_snapshot!(by_client.how(), @"REST on HTTP/1.1, json, request gzip, response none, TCP connection kept, 100 calls/s, evenly spaced");
    let wlan = crate::link::named("wlan").unwrap();
    set(Key::Link, &mut by_client, &Value::Link(wlan));
    insta::assert_snapshot!(by_client.how(), @"REST on HTTP/1.1, json, request gzip, response none, TCP connection kept, link wlan, 100 calls/s, evenly spaced");
    codec.response_compression = Compression::ZSTD;
    codec.request_compression = Compression::ZSTD;
    insta::assert_snapshot!(codec.how(), @"json, zstd");
}
