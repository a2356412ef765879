//! Dynamic messages with every kind of field: what is written reads back, and arbitrary input is read or
//! refused.

mod bounds;
mod strategies;

use std::sync::LazyLock;

use buffa::Message as _;
use proptest::collection::vec;
use proptest::prelude::*;

use self::kitchen::{Leafs, Sink};
use self::strategies::sink;
use crate::{DecodeError, Encoding, Limits, Message, MessageType, Schema, first_difference};

#[allow(missing_docs, unreachable_pub, clippy::all, dead_code, unused_imports)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/kitchen_sink/mod.rs"));
}
use generated::kitchen;

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::from_descriptor_set(include_bytes!(concat!(
        env!("OUT_DIR"),
        "/kitchen_sink.binpb"
    )))
    .unwrap()
});

fn sink_type() -> MessageType {
    SCHEMA.message_type("kitchen.Sink").unwrap()
}

fn read(bytes: &[u8], encoding: Encoding) -> Result<Message, DecodeError> {
    sink_type().decode(bytes, encoding, &Limits::DEFAULT)
}

/// Converts the message to a dynamic one.
fn dynamic(sink: &Sink) -> Message {
    let no_limits = Limits {
        max_message_bytes: usize::MAX,
        ..Limits::DEFAULT
    };
    sink_type()
        .decode(&sink.encode_to_vec(), Encoding::Protobuf, &no_limits)
        .unwrap()
}

fn bytes(sink: &Sink, encoding: Encoding) -> Vec<u8> {
    dynamic(sink).to_bytes(encoding).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read_back(sink in sink()) {
        let message = dynamic(&sink);
        for encoding in Encoding::ALL {
            let bytes = message.to_bytes(encoding).unwrap();
            let back = read(&bytes, encoding).unwrap();
            prop_assert_eq!(first_difference(&message, &back), None, "{}", encoding);
            prop_assert_eq!(&back.to_bytes(encoding).unwrap(), &bytes, "{}", encoding);
        }
    }

    #[test]
    fn damaged_bytes_are_read_or_refused(
        sink in sink(),
        at in any::<prop::sample::Index>(),
        flip in 0u8..=255,
        keep in any::<prop::sample::Index>(),
    ) {
        for encoding in Encoding::ALL {
            let mut bytes = bytes(&sink, encoding);
            if bytes.is_empty() {
                continue;
            }
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            if flip % 3 == 0 {
                bytes.truncate(keep.index(bytes.len()));
            }
            read_or_refused(&bytes, encoding)?;
        }
    }

    #[test]
    fn anything_can_arrive(bytes in vec(any::<u8>(), 0..200)) {
        for encoding in Encoding::ALL {
            read_or_refused(&bytes, encoding)?;
        }
    }
}

fn read_or_refused(bytes: &[u8], encoding: Encoding) -> Result<(), TestCaseError> {
    match read(bytes, encoding) {
        Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1, "{}", error),
        Ok(message) => {
            for encoding in Encoding::ALL {
                let written = message.to_bytes(encoding).unwrap();
                let back = read(&written, encoding);
                prop_assert!(back.is_ok(), "{}: {:?}", encoding, back);
            }
        }
    }
    Ok(())
}

/// Only protobuf's own JSON writes 64-bit integers as strings; MessagePack and CBOR also have a type for bytes.
#[test]
fn each_encoding_has_its_native_integers_and_bytes() {
    let leafs = Leafs {
        an_int64: -5,
        a_bytes: vec![0xff; 9],
        ..Leafs::default()
    };
    let sink = Sink {
        leafs: leafs.clone().into(),
        blobs: vec![vec![1, 2], vec![], vec![3]],
        by_bool: [(false, vec![4]), (true, vec![5])].into(),
        children: vec![Sink::default(), leafs.into_sink()],
        named_children: [(
            "a b".to_owned(),
            Sink {
                blobs: vec![vec![6], vec![7]],
                ..Sink::default()
            },
        )]
        .into(),
        ..Sink::default()
    };
    for (encoding, leafs) in [
        (Encoding::Json, r#""anInt64":-5,"aBytes":"////////////""#),
        (
            Encoding::ProtoJson,
            r#""anInt64":"-5","aBytes":"////////////""#,
        ),
    ] {
        let json = String::from_utf8(bytes(&sink, encoding)).unwrap();
        assert!(json.contains(leafs), "{encoding}: {json}");
    }
    for encoding in [Encoding::Msgpack, Encoding::Cbor] {
        let bytes = bytes(&sink, encoding);
        assert_eq!(
            bytes.windows(9).filter(|part| *part == [0xff; 9]).count(),
            2,
            "{encoding}"
        );
        let back = read(&bytes, encoding).unwrap();
        assert_eq!(first_difference(&dynamic(&sink), &back), None, "{encoding}");
    }
}

impl Leafs {
    fn into_sink(self) -> Sink {
        Sink {
            leafs: self.into(),
            ..Sink::default()
        }
    }
}

/// Java writes the largest float like this. Read as a double, the same digits are a different number.
#[test]
fn the_shortest_decimal_of_the_largest_float_is_one() {
    let json =
        r#"{"leafs":{"aFloat":3.4028235e38,"aDouble":3.4028235e38},"doubles":[-3.4028235e38]}"#;
    let read = read(json.as_bytes(), Encoding::Json).unwrap();
    let sink = Sink::decode_from_slice(&read.to_bytes(Encoding::Protobuf).unwrap()).unwrap();
    assert_eq!(sink.leafs.a_float, f32::MAX);
    assert_eq!(sink.leafs.a_double, 3.4028235e38);
    assert_eq!(sink.doubles, [-3.4028235e38]);
}

/// Forms that are never written here but may arrive.
#[test]
fn other_forms_are_accepted_and_damage_is_refused() {
    let json = |text: &'static str| (Encoding::Json, text.as_bytes());
    let taken = [
        json(r#"{"leafs":{"an_int32":"12","anInt64":5,"aUint64":1e3,"aDouble":"Infinity"}}"#),
        json(r#"{"leafs":{"aBytes":"-_8","aColour":1,"aBool":null,"aFloat":"1.5"}}"#),
        json(r#"{"optionalLeafs":{"text":"a"},"byBool":{"true":"AA=="},"child":null}"#),
        json(r#"{"colours":["COLOUR_RED",-5,77],"doubles":null}"#),
        json(r#"{"leafs":{"anInt64":1e18,"aUint64":9007199254740993.0}}"#),
        json(r#"{"leafs":{"aFloat":3.4028235e38,"aString":"nan","aDouble":"1e300"}}"#),
        json(r#"{"strings":["inf","1e400"],"doubles":["NaN","-Infinity"]}"#),
        // `{"leafs":{"anInt64":f64 2.0}}`, 5 as u64, a float from an integer
        (
            Encoding::Msgpack,
            b"\x81\xa5leafs\x81\xa7anInt64\xcb\x40\0\0\0\0\0\0\0".as_slice(),
        ),
        (
            Encoding::Msgpack,
            b"\x81\xa5leafs\x81\xa7anInt32\xcf\0\0\0\0\0\0\0\x05".as_slice(),
        ),
        (
            Encoding::Msgpack,
            b"\x81\xa5leafs\x81\xa7aDouble\x05".as_slice(),
        ),
        // indefinite map and list, half float
        (
            Encoding::Cbor,
            b"\xbf\x67doubles\x9f\xf9\x3c\x00\xff\xff".as_slice(),
        ),
    ];
    for (encoding, bytes) in taken {
        if let Err(error) = read(bytes, encoding) {
            panic!("{}: {error}", String::from_utf8_lossy(bytes));
        }
    }
    let refused = [
        json("null"),
        json("[]"),
        json(""),
        json("{"),
        json(r#"{"leafs":{"anInt32":2147483648}}"#),
        json(r#"{"leafs":{"anInt32":1.5}}"#),
        json(r#"{"leafs":{"aUint32":0.5}}"#),
        json(r#"{"leafs":{"anInt64":-1.25e0}}"#),
        json(r#"{"leafs":{"anInt64":9007199254740993.5}}"#),
        json(r#"{"leafs":{"anInt64":1e19}}"#),
        json(r#"{"leafs":{"anInt64":4503599627370496.3}}"#),
        json(r#"{"leafs":{"anInt64":"4503599627370496.3"}}"#),
        json(r#"{"leafs":{"anInt64":"9223372036854775808.0"}}"#),
        json(r#"{"leafs":{"anInt64":"1e99999999999999999999"}}"#),
        json(r#"{"leafs":{"anInt64":"15e-1"}}"#),
        // 2^53 + 2 as a double: adjacent doubles are 2 apart there.
        (
            Encoding::Msgpack,
            b"\x81\xa5leafs\x81\xa7anInt64\xcb\x43\x40\0\0\0\0\0\x01".as_slice(),
        ),
        json(r#"{"leafs":{"anInt32":" 1"}}"#),
        json(r#"{"leafs":{"aFloat":1e39}}"#),
        json(r#"{"leafs":{"aFloat":"1e39"}}"#),
        json(r#"{"leafs":{"aFloat":3.4028236e38}}"#),
        json(r#"{"leafs":{"aFloat":"nan"}}"#),
        json(r#"{"leafs":{"aDouble":"inf"}}"#),
        json(r#"{"leafs":{"aDouble":"1e400"}}"#),
        json(r#"{"doubles":["+infinity"]}"#),
        json(r#"{"leafs":{"anInt32":3.4028235e38}}"#),
        json(r#"{"leafs":{"aString":3.4028235e38}}"#),
        json(r#"{"leafs":{"aBool":"true"}}"#),
        json(r#"{"leafs":{"aBytes":"*"}}"#),
        json(r#"{"leafs":{"aString":1}}"#),
        json(r#"{"leafs":{"aColour":"RED"}}"#),
        json(r#"{"leafs":{"anInt32":1,"an_int32":1}}"#),
        json(r#"{"leafs":{}, "leafs":{}}"#),
        json(r#"{"byInt32":{"1.0":"a"}}"#),
        json(r#"{"byInt32":{"1":null}}"#),
        json(r#"{"strings":[null]}"#),
        json(r#"{"strings":"a"}"#),
        json(r#"{"nope":1}"#),
        json("{} {}"),
        (Encoding::Msgpack, b"\x80\x80".as_slice()),
        (
            Encoding::Msgpack,
            b"\x81\xa5leafs\x81\xa6aBytes\xa15".as_slice(),
        ),
        (
            Encoding::Msgpack,
            b"\x81\xa5leafs\x81\xa7aString\xa2\xff\xff".as_slice(),
        ),
        (Encoding::Cbor, b"\xa0\xa0".as_slice()),
        // The name of a field as bytes.
        (Encoding::Cbor, b"\xa1\x47doubles\x80".as_slice()),
        (Encoding::Msgpack, b"\x81\xc4\x07doubles\x90".as_slice()),
        (
            Encoding::Cbor,
            b"\xa1\x65leafs\xa1\x67aString\x62\xff\xff".as_slice(),
        ),
        (Encoding::Protobuf, b"\x0a\x01".as_slice()),
        (Encoding::Protobuf, b"\x08\x01".as_slice()),
        // A string that is not UTF-8, a varint of eleven bytes.
        (Encoding::Protobuf, b"\x0a\x04\x72\x02\xff\xff".as_slice()),
        (
            Encoding::Protobuf,
            b"\x0a\x0c\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01".as_slice(),
        ),
        (Encoding::Hybrid, b"\x0a\x01{".as_slice()),
        (Encoding::Hybrid, b"".as_slice()),
    ];
    for (encoding, bytes) in refused {
        let read = read(bytes, encoding);
        let error = read.expect_err(&String::from_utf8_lossy(bytes));
        assert!(matches!(error, DecodeError::Malformed { .. }), "{error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}
