//! What the table of settings promises to those that go through it.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::settings::{Arrivals, Protocol, Schedule};

/// The settings of a call and of a codec, which together have every setting but a workload's size.
fn skeletons() -> [Settings; 3] {
    let callee = Callee::reference(WorkloadSpec::Hello {});
    let call = Settings::new(callee, Protocol::Rest);
    let (mut by_client, mut codec) = (call.clone(), call.clone());
    (Key::Client.row().set)(&mut by_client, &Value::Stack("go/grpc".to_owned()));
    (Key::Codec.row().set)(&mut codec, &Value::Stack("go/json".to_owned()));
    [call, by_client, codec]
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
        Values::Time { least_ms } => vec![Value::Time(*least_ms), Value::Time(7_000)],
    }
}

#[test]
fn the_rows_are_in_the_order_of_their_keys() {
    for (place, row) in SETTINGS.iter().enumerate() {
        assert_eq!(row.key as usize, place, "{}", row.word);
        assert_eq!(Key::from_word(row.word), Some(row.key));
    }
}

#[test]
fn what_is_put_into_settings_is_found_there_and_said() {
    let sizes = [Key::N, Key::Scale];
    for row in SETTINGS.iter().filter(|row| !sizes.contains(&row.key)) {
        for value in values(row) {
            let skeletons = skeletons().into_iter().map(|mut settings| {
                if row.key == Key::Arrivals {
                    (Key::Rate.row().set)(&mut settings, &Value::Rate(1.0));
                }
                (row.set)(&mut settings, &value);
                settings
            });
            let found: Vec<Settings> = skeletons
                .filter(|settings| row.value(settings) == Some(value.clone()))
                .collect();
            assert!(!found.is_empty(), "{} = {value}", row.word);
        }
    }
}

/// So that what is read, named, written and compared by the table is all of the settings.
#[test]
fn every_field_of_settings_has_a_row() {
    let fields = |settings: &Settings| -> BTreeMap<String, serde_json::Value> {
        serde_json::from_value(serde_json::to_value(settings).unwrap()).unwrap()
    };
    let mut without: BTreeSet<String> = skeletons().iter().flat_map(fields).map(|f| f.0).collect();
    for row in &SETTINGS {
        for (mut settings, value) in skeletons().into_iter().flat_map(|one| {
            values(row)
                .into_iter()
                .map(move |value| (one.clone(), value))
        }) {
            let before = fields(&settings);
            (row.set)(&mut settings, &value);
            let after = fields(&settings);
            without.retain(|field| before.get(field) == after.get(field));
        }
    }
    // The message is chosen under [workload].
    assert_eq!(without, BTreeSet::from(["workload".to_owned()]));
}

#[test]
fn every_row_says_something_of_some_settings() {
    for row in &SETTINGS {
        let said = values(row).into_iter().any(|value| {
            skeletons().into_iter().any(|mut settings| {
                if row.key == Key::ResponseCompression {
                    settings.request_compression = Compression::ZSTD;
                }
                if row.key == Key::Arrivals {
                    (Key::Rate.row().set)(&mut settings, &Value::Rate(1.0));
                }
                (row.set)(&mut settings, &value);
                !row.words(&settings).is_empty()
            })
        });
        // A size is said with its workload.
        let is_size = matches!(row.key, Key::N | Key::Scale);
        assert_eq!(said, !is_size, "{}", row.word);
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
    codec.response_compression = Compression::ZSTD;
    codec.request_compression = Compression::ZSTD;
    insta::assert_snapshot!(codec.how(), @"json, zstd");
}
