//! Properties that code relies on when it iterates over the settings table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::mem::discriminant;

use rpcgauge_message::Encoding;

use super::*;
use crate::settings::{Arrivals, CodecWork, Protocol, Schedule, SubjectCall};

/// The settings of calls and of a codec, which together have every setting except a workload's size.
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

/// The settings with a value, if they have the setting. What the value depends on is set first.
fn with(row: &Setting, value: &Value, mut settings: Settings) -> Option<Settings> {
    let grpc = (Key::Protocol, Value::Word("grpc"));
    let first = match (row.key, value) {
        (Key::Arrivals, _) => vec![(Key::Rate, Value::Rate(1.0))],
        (Key::Stream, Value::Word("client" | "server" | "bidirectional")) => vec![grpc],
        (Key::Messages | Key::InTurn, _) => {
            vec![grpc, (Key::Stream, Value::Word("bidirectional"))]
        }
        _ => Vec::new(),
    };
    for (key, value) in first {
        (key.row().set)(&mut settings, &value).ok()?;
    }
    (row.set)(&mut settings, value).ok()?;
    Some(settings)
}

/// Some values of a setting; all of them if they are words.
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
        assert_eq!(of_calls, lacks(&codec, row), "{} in OF_CALLS", row.name);
        let of_codecs = Key::Server.row().overrides.contains(&row.key);
        // The engine has no style either.
        let lacked = lacks(&call, row) && row.key != Key::Style;
        assert_eq!(of_codecs, lacked, "{} in OF_CODECS", row.name);
    }
}

/// Every field of settings with its `Debug` output, so that new fields are included.
fn fields(settings: &Settings) -> BTreeMap<String, String> {
    let mut fields = fields_of(settings);
    fields.extend(match &settings.target {
        Target::Call(call) => fields_of(call),
        Target::Codec(work) => fields_of(work),
        Target::Live(live) => fields_of(live),
    });
    let options = settings.target.options();
    fields.extend(options.map(fields_of).unwrap_or_default());
    // Their own fields are included instead.
    fields.retain(|name, _| !["target", "options"].contains(&name.as_str()));
    fields
}

/// The fields of one struct, each of which begins a line that is indented by one step.
fn fields_of(of: &impl Debug) -> BTreeMap<String, String> {
    let text = format!("{of:#?}");
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    let mut name = "";
    for line in text.lines().skip(1) {
        let own = line
            .strip_prefix("    ")
            .filter(|own| !own.starts_with(' '));
        name = own
            .and_then(|own| own.split_once(": "))
            .map_or(name, |(name, _)| name);
        *fields.entry(name.to_owned()).or_default() += line;
    }
    fields
}

/// The table is used to read, name, write and compare settings, so it must cover all of them.
#[test]
fn every_field_of_settings_has_a_row() {
    let mut without: BTreeSet<String> = skeletons().iter().flat_map(fields).map(|f| f.0).collect();
    for row in &SETTINGS {
        for value in values(row) {
            for settings in skeletons() {
                let before = fields(&settings);
                let after = with(row, &value, settings).map_or(before.clone(), |s| fields(&s));
                without.retain(|field| before.get(field) == after.get(field));
            }
        }
    }
    // The message is chosen under [workload], and the pairs decide what is compared with streams.
    let chosen = BTreeSet::from(["workload", "beside_streams"].map(str::to_owned));
    assert_eq!(without, chosen, "no row of setting/table.rs sets these");
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
        // A size is described with its workload.
        let is_size = matches!(row.key, Key::N | Key::Scale);
        assert_eq!(said, !is_size, "{}", row.name);
    }
}

#[test]
fn it_is_said_in_one_line_how_is_called() {
    let [call, mut by_client, mut codec] = skeletons();
    insta::assert_snapshot!(call.how(), @"REST on HTTP/1.1, json, TCP connection reused, one call at a time");
    let rate = Schedule::Rate {
        per_second: 100.0,
        arrivals: Arrivals::Constant,
    };
    let Target::Call(client) = &mut by_client.target else {
        panic!("it calls")
    };
    client.options.schedule = rate;
    client.options.request_compression = Compression::GZIP;
    insta::assert_snapshot!(by_client.how(), @"REST on HTTP/1.1, json, request gzip, response none, TCP connection reused, 100 calls/s, evenly spaced");
    let wlan = crate::link::named("wlan").unwrap();
    set(Key::Link, &mut by_client, &Value::Link(wlan));
    insta::assert_snapshot!(by_client.how(), @"REST on HTTP/1.1, json, request gzip, response none, TCP connection reused, link wlan, 100 calls/s, evenly spaced");
    let zstd = Value::Compression(Compression::ZSTD);
    set(Key::Compression, &mut codec, &zstd);
    insta::assert_snapshot!(codec.how(), @"json, zstd");
}
