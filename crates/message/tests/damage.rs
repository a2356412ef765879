//! For every kind of field, any input leads to an error or a message, but never to a panic.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread;

use proptest::collection::vec;
use proptest::prelude::*;
use rpcgauge_message::{
    BrokenLimit, DecodeError, Encoding, Limits, Message, MessageType, Schema, Workload,
    WorkloadSpec, first_difference,
};

fn proto(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/proto")
        .join(path)
}

static TYPES: LazyLock<[(MessageType, &str); 2]> = LazyLock::new(|| {
    let files = [proto("shop/orders.proto"), proto("legacy.proto")];
    let schema = Schema::compile(&files, &[proto("")]).unwrap();
    [
        (
            schema.message_type("shop.Order").unwrap(),
            include_str!("samples/order.json"),
        ),
        (
            schema.message_type("legacy.Request").unwrap(),
            include_str!("samples/legacy.json"),
        ),
    ]
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_are_refused_or_read(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        keep in prop::option::of(any::<prop::sample::Index>()),
        twice in any::<bool>(),
    ) {
        for (message_type, sample) in TYPES.iter() {
            let message = message_type.from_json(sample).unwrap();
            for encoding in Encoding::ALL {
                let mut bytes = message.to_bytes(encoding).unwrap();
                for (at, byte) in &changes {
                    let at = at.index(bytes.len());
                    bytes[at] = *byte;
                }
                if let Some(keep) = keep {
                    bytes.truncate(keep.index(bytes.len()));
                }
                if twice {
                    bytes = bytes.repeat(2);
                }
                check(message_type, &bytes, encoding)?;
            }
        }
    }

    #[test]
    fn random_json_is_refused_or_read(text in json()) {
        for (message_type, _) in TYPES.iter() {
            check(message_type, text.as_bytes(), Encoding::Json)?;
            if let Err(error) = message_type.from_json(&text) {
                prop_assert_eq!(error.to_string().lines().count(), 1);
            }
        }
    }
}

/// Checks that a message that was read can be written in protobuf, and reads back unchanged.
fn check(
    message_type: &MessageType,
    bytes: &[u8],
    encoding: Encoding,
) -> Result<(), TestCaseError> {
    match message_type.decode(bytes, encoding, &Limits::DEFAULT) {
        Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1, "{}", error),
        Ok(message) => {
            // A damaged map entry may lack its value. The library then uses 0, which a closed enum may not
            // define, and reads the 0 that it wrote as an unknown field. So protobuf is read a second time, now
            // without the damage.
            let again = |message: Message| {
                let written = message.to_bytes(Encoding::Protobuf).unwrap();
                message_type
                    .decode(&written, Encoding::Protobuf, &Limits::DEFAULT)
                    .unwrap()
            };
            let message = if encoding == Encoding::Protobuf {
                again(message)
            } else {
                message
            };
            let written = message.to_bytes(Encoding::Protobuf).unwrap();
            let back = message_type
                .decode(&written, Encoding::Protobuf, &Limits::DEFAULT)
                .unwrap();
            prop_assert_eq!(first_difference(&message, &back), None);
            for encoding in Encoding::ALL {
                // Encoding fails for damaged payloads of an `Any` and for times that JSON cannot represent.
                if let Ok(bytes) = message.to_bytes(encoding) {
                    let back = message_type.decode(&bytes, encoding, &Limits::DEFAULT);
                    prop_assert!(back.is_ok(), "{} {:?}", encoding, back.err());
                }
            }
        }
    }
    Ok(())
}

/// JSON whose keys and values often fit the message.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "null",
            "true",
            "0",
            "-1",
            "1.5",
            "1e99",
            "1e999",
            "\"\"",
            "\"7\"",
            "\"x\"",
            "\"NaN\"",
            "\"3s\"",
            "\"2026-01-01T00:00:00Z\"",
            "\"STATE_OPEN\"",
            "\"AQI=\"",
            "\"type.googleapis.com/shop.Money\"",
            "\"type.googleapis.com/google.protobuf.Struct\"",
            "\"shop.Order\"",
        ])
        .prop_map(str::to_owned),
        any::<f64>().prop_map(|v| v.to_string()),
        any::<String>().prop_map(|v| format!("{v:?}")),
    ];
    let key = prop::sample::select(vec![
        "orderId",
        "order_id",
        "state",
        "items",
        "labels",
        "byShelf",
        "card",
        "cash",
        "free",
        "placedAt",
        "ttl",
        "details",
        "extra",
        "tags",
        "attachment",
        "visits",
        "thumbnail",
        "priority",
        "changed",
        "nothing",
        "values",
        "@type",
        "value",
        "sku",
        "parts",
        "price",
        "units",
        "1",
        "x",
        "id",
        "entry",
        "key",
        "[legacy.linked]",
        "size",
        "byName",
    ]);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            vec((key.clone(), inner), 0..5).prop_map(|entries| {
                let entries: Vec<String> =
                    entries.iter().map(|(k, v)| format!("{k:?}:{v}")).collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
}

/// The deepest message that the default limits allow must fit in the smallest common thread stack, even without
/// optimization.
#[test]
fn the_deepest_message_fits_the_stack() {
    let depth = Limits::DEFAULT.max_depth;
    let parts = format!(
        "{{\"items\":[{{{}}}]}}",
        "\"parts\":[{".repeat(depth - 2) + &"}]".repeat(depth - 2)
    );
    // Each list level is two messages: a `ListValue` and the `Value` in it.
    let lists = (depth - 2) / 2;
    let lists = format!("{{\"extra\":{}{}}}", "[".repeat(lists), "]".repeat(lists));
    for sample in [parts, lists] {
        let read = move || {
            let (order, _) = &TYPES[0];
            let message = order.from_json(&sample).unwrap();
            for encoding in Encoding::ALL {
                let bytes = message.to_bytes(encoding).unwrap();
                let back = order.decode(&bytes, encoding, &Limits::DEFAULT).unwrap();
                assert_eq!(first_difference(&message, &back), None);
            }
        };
        thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(read)
            .unwrap()
            .join()
            .unwrap();
    }
}

#[test]
fn payloads_inside_payloads_are_bounded_too() {
    let (order, _) = &TYPES[0];
    let nested = |levels: usize| {
        let open = r#"{"@type":"x/shop.Order","attachment":"#.repeat(levels);
        format!("{{\"attachment\":{open}null{}", "}".repeat(levels + 1))
    };
    let message = order.from_json(&nested(40)).unwrap();
    let bytes = message.to_bytes(Encoding::Cbor).unwrap();
    let back = order
        .decode(&bytes, Encoding::Cbor, &Limits::DEFAULT)
        .unwrap();
    assert_eq!(first_difference(&message, &back), None);
    let shallow = Limits {
        max_depth: 39,
        ..Limits::DEFAULT
    };
    let error = order.decode(&bytes, Encoding::Cbor, &shallow).unwrap_err();
    assert!(error.to_string().contains("--max-depth"), "{error}");
    let error = order.from_json(&nested(220)).unwrap_err();
    assert!(error.to_string().contains("100 levels"), "{error}");
}

#[test]
fn payloads_before_their_type_are_bounded_too() {
    let (order, _) = &TYPES[0];
    let nested = |levels: usize| {
        let open = r#"{"attachment":"#.repeat(levels + 1);
        format!(
            "{open}null{}}}",
            r#","@type":"x/shop.Order"}"#.repeat(levels)
        )
    };
    assert!(order.from_json(&nested(45)).is_ok());
    let error = order.from_json(&nested(220)).unwrap_err();
    assert!(error.to_string().contains("100 levels"), "{error}");
    let late = br#"{"attachment":{"currency":"USD","@type":"x/shop.Money"}}"#;
    let msgpack = b"\x81\xaaattachment\x82\xa8currency\xa3USD\xa5@type\xacx/shop.Money";
    let read = |bytes, encoding| order.decode(bytes, encoding, &Limits::DEFAULT).unwrap();
    let message = read(late, Encoding::Json);
    assert_eq!(
        first_difference(&message, &read(msgpack, Encoding::Msgpack)),
        None
    );
}

#[test]
fn unknown_fields_are_checked_in_every_message() {
    let schema = Schema::compile(&[proto("shop/orders.proto")], &[proto("")]).unwrap();
    let order = schema.message_type("shop.Order").unwrap();
    let read = |bytes: &[u8]| order.decode(bytes, Encoding::Protobuf, &Limits::DEFAULT);
    // Field 1000 as a varint, and field 1, a string, as a varint.
    let unknown = [0xc0, 0x3e, 1];
    let wrong = [0x08, 1];
    for _ in 0..3 {
        let message = read(&unknown).unwrap();
        assert_eq!(message.to_bytes(Encoding::Protobuf).unwrap(), unknown);
        let error = read(&wrong).unwrap_err().to_string();
        assert!(error.contains("wrong wire type: a varint"), "{error}");
        assert!(read(&[]).is_ok());
    }
}

#[test]
fn lists_of_nothing_are_bounded_in_memory() {
    let workload = Workload::new(&WorkloadSpec::Records { n: 1 }).unwrap();
    // Empty records: field 1, length 0.
    let bytes = [0x0a, 0].repeat(200_000);
    let limits = Limits {
        max_message_bytes: bytes.len(),
        ..Limits::DEFAULT
    };
    let error = workload
        .response_type()
        .decode(&bytes, Encoding::Protobuf, &limits)
        .unwrap_err();
    assert_eq!(
        error,
        DecodeError::Limit(BrokenLimit::Memory(32 * bytes.len()))
    );
    assert!(
        error
            .to_string()
            .ends_with("--max-message-bytes sets this limit"),
        "{error}"
    );
}
