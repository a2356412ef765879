//! What the table of settings promises to those that go through it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::mem::discriminant;

use rpcgauge_message::Encoding;

use super::*;
use crate::settings::{
    Arrivals, CallOptions, CodecWork, LiveCall, Protocol, Schedule, SubjectCall,
};

/// The settings of a call and of a codec, which together have every setting but a workload's size.
fn skeletons() -> [Settings; 3] {
    let hello = || WorkloadSpec::Hello {};
    let call = Settings::new(SubjectCall::new(hello(), Protocol::Rest));
    let mut by_client = call.clone();
    set(Key::Client, &mut by_client, &Value::stack("go/grpc"));
    let codec = CodecWork::new("go/json", hello(), Encoding::Json);
    [call, by_client, Settings::new(codec)]
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
            let all = skeletons().into_iter();
            let put = all.filter_map(|settings| with(row, &value, settings));
            let put: Vec<Settings> = put.collect();
            assert!(!put.is_empty(), "{} = {value}", row.name);
            for settings in put {
                let found = row.value(&settings);
                assert_eq!(found.as_ref(), Some(&value), "{}", row.name);
            }
        }
    }
}

#[test]
fn a_codec_takes_the_place_of_what_it_does_not_have() {
    let [call, _, codec] = skeletons();
    let lacks = |settings: &Settings, row: &Setting| {
        let value = values(row).swap_remove(0);
        with(row, &value, settings.clone()).is_none()
    };
    for row in &SETTINGS {
        let of_calls = Key::Codec.row().overrides.contains(&row.key);
        assert_eq!(of_calls, lacks(&codec, row), "{}", row.name);
        let of_codecs = Key::Server.row().overrides.contains(&row.key);
        // The engine has no style either.
        let lacked = lacks(&call, row) && row.key != Key::Style;
        assert_eq!(of_codecs, lacked, "{}", row.name);
    }
}

/// Every field of settings with its value. The patterns name all of them, so that a new field has to be
/// added here.
fn fields(settings: &Settings) -> BTreeMap<&'static str, String> {
    let Settings { target, stop } = settings;
    let mut fields: Vec<(&'static str, &dyn Debug)> = vec![("stop", stop)];
    match target {
        Target::Call(call) => {
            let SubjectCall {
                server,
                client,
                workload,
                wire,
                options,
                threads,
                transport,
                tls,
                link,
                cold_calls,
                runtime,
            } = &**call;
            fields.extend([
                ("server", server as &dyn Debug),
                ("client", client),
                ("workload", workload),
                ("wire", wire),
                ("threads", threads),
                ("transport", transport),
                ("tls", tls),
                ("link", link),
                ("cold_calls", cold_calls),
                ("runtime", runtime),
            ]);
            fields.extend(of_options(options));
        }
        Target::Codec(work) => {
            let CodecWork {
                codec,
                operation,
                sample,
                workload,
                encoding,
                compression,
                runtime,
            } = &**work;
            fields.extend([
                ("codec", codec as &dyn Debug),
                ("operation", operation),
                ("sample", sample),
                ("workload", workload),
                ("encoding", encoding),
                ("compression", compression),
                ("runtime", runtime),
            ]);
        }
        Target::Live(live) => {
            let LiveCall {
                service,
                wire,
                options,
            } = &**live;
            fields.extend([("service", service as &dyn Debug), ("wire", wire)]);
            fields.extend(of_options(options));
        }
    }
    let said = |(field, value)| (field, format!("{value:?}"));
    fields.into_iter().map(said).collect()
}

fn of_options(options: &CallOptions) -> [(&'static str, &dyn Debug); 6] {
    let CallOptions {
        request_compression,
        response_compression,
        connection,
        connections,
        schedule,
        deadline_ms,
    } = options;
    [
        ("request_compression", request_compression),
        ("response_compression", response_compression),
        ("connection", connection),
        ("connections", connections),
        ("schedule", schedule),
        ("deadline_ms", deadline_ms),
    ]
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
                let zstd = Value::Compression(Compression::ZSTD);
                if row.key == Key::ResponseCompression
                    && let Some(other) =
                        with(Key::RequestCompression.row(), &zstd, settings.clone())
                {
                    settings = other;
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
    let rate = Schedule::Rate {
        per_second: 100.0,
        arrivals: Arrivals::Constant,
    };
    let Target::Call(client) = &mut by_client.target else {
        panic!("it calls")
    };
    client.options.schedule = rate;
    client.options.request_compression = Compression::GZIP;
    insta::assert_snapshot!(by_client.how(), @"REST on HTTP/1.1, json, request gzip, response none, TCP connection kept, 100 calls/s, evenly spaced");
    let wlan = crate::link::named("wlan").unwrap();
    set(Key::Link, &mut by_client, &Value::Link(wlan));
    insta::assert_snapshot!(by_client.how(), @"REST on HTTP/1.1, json, request gzip, response none, TCP connection kept, link wlan, 100 calls/s, evenly spaced");
    let zstd = Value::Compression(Compression::ZSTD);
    set(Key::Compression, &mut codec, &zstd);
    insta::assert_snapshot!(codec.how(), @"json, zstd");
}
