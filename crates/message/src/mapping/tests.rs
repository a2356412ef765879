//! Generated and dynamic code have one mapping: the same bytes, and the same opinion of bytes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use self::kitchen::{Colour, Leafs, OptionalLeafs, Sink};
use crate::generated::{GeneratedType, mapped_message};
use crate::{Code, DecodeError, Encoding, Limits, MessageType, Schema, first_difference};

#[allow(missing_docs, unreachable_pub, clippy::all, dead_code, unused_imports)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/kitchen_sink/mod.rs"));
}
use generated::kitchen;
include!(concat!(env!("OUT_DIR"), "/kitchen_sink/mapping.rs"));

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::from_descriptor_set(include_bytes!(concat!(
        env!("OUT_DIR"),
        "/kitchen_sink.binpb"
    )))
    .unwrap()
});

fn dynamic() -> MessageType {
    SCHEMA.message_type("kitchen.Sink").unwrap()
}

fn generated() -> MessageType {
    dynamic().with_generated(GeneratedType::of::<Sink>())
}

fn colour() -> impl Strategy<Value = buffa::EnumValue<Colour>> {
    prop_oneof![Just(0), Just(1), Just(-5), any::<i32>()].prop_map(Into::into)
}

fn float() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<f32>(),
        Just(f32::NAN),
        Just(f32::INFINITY),
        Just(-0.0),
        Just(f32::MAX)
    ]
}

fn double() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        Just(f64::NAN),
        Just(f64::NEG_INFINITY),
        Just(-0.0),
        Just(f64::MIN)
    ]
}

fn leafs() -> impl Strategy<Value = Leafs> {
    let numbers = (
        double(),
        float(),
        any::<i32>(),
        any::<i64>(),
        any::<u32>(),
        any::<u64>(),
    );
    let others = (
        any::<bool>(),
        any::<String>(),
        vec(any::<u8>(), 0..40),
        colour(),
    );
    (numbers, others).prop_map(
        |((double, float, i32, i64, u32, u64), (bool, string, bytes, colour))| Leafs {
            a_double: double,
            a_float: float,
            an_int32: i32,
            an_int64: i64,
            a_uint32: u32,
            a_uint64: u64,
            a_sint32: i32.wrapping_neg(),
            a_sint64: i64.wrapping_neg(),
            a_fixed32: u32 >> 3,
            a_fixed64: u64 >> 3,
            a_sfixed32: i32 >> 3,
            a_sfixed64: i64 >> 3,
            a_bool: bool,
            a_string: string,
            a_bytes: bytes,
            a_colour: colour,
            ..Leafs::default()
        },
    )
}

fn optional_leafs() -> impl Strategy<Value = OptionalLeafs> {
    let first = (
        option::of(double()),
        option::of(any::<i64>()),
        option::of(any::<bool>()),
    );
    let second = (
        option::of(any::<String>()),
        option::of(vec(any::<u8>(), 0..5)),
        option::of(colour()),
    );
    (first, second).prop_map(
        |((double, i64, bool), (string, bytes, colour))| OptionalLeafs {
            a_double: double,
            an_int64: i64,
            a_bool: bool,
            a_string: string,
            a_bytes: bytes,
            a_colour: colour,
            ..OptionalLeafs::default()
        },
    )
}

fn flat_sink() -> impl Strategy<Value = Sink> {
    let messages = (option::of(leafs()), option::of(optional_leafs()));
    let lists = (
        vec(double(), 0..4),
        vec(any::<i64>(), 0..4),
        vec(any::<String>(), 0..4),
        vec(vec(any::<u8>(), 0..5), 0..3),
        vec(colour(), 0..4),
        vec(any::<u32>(), 0..4),
    );
    let maps = (
        btree_map(any::<i32>(), any::<String>(), 0..3),
        btree_map(any::<u64>(), double(), 0..3),
        btree_map(any::<bool>(), vec(any::<u8>(), 0..5), 0..3),
        btree_map(any::<i64>(), colour(), 0..3),
    );
    (messages, lists, maps).prop_map(|(messages, lists, maps)| Sink {
        leafs: messages.0.into(),
        optional_leafs: messages.1.into(),
        doubles: lists.0,
        sints: lists.1,
        strings: lists.2,
        blobs: lists.3,
        colours: lists.4,
        unpacked: lists.5,
        by_int32: maps.0,
        by_uint64: maps.1,
        by_bool: maps.2,
        by_sint64: maps.3,
        ..Sink::default()
    })
}

fn sink() -> impl Strategy<Value = Sink> {
    flat_sink().prop_recursive(3, 12, 3, |inner| {
        let children = (option::of(inner.clone()), vec(inner.clone(), 0..3));
        let named = btree_map(any::<String>(), inner, 0..3);
        (flat_sink(), children, named).prop_map(|(sink, (child, children), named)| Sink {
            child: child.into(),
            children,
            named_children: named,
            ..sink
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn both_kinds_of_code_have_the_same_bytes_and_read_them_back(sink in sink()) {
        let protobuf = buffa::Message::encode_to_vec(&sink);
        for encoding in Encoding::ALL {
            let mut bytes = Vec::new();
            crate::format::encode_generated(&sink, encoding, &mut bytes).unwrap();
            let limits = Limits::DEFAULT;
            let dynamic_message =
                dynamic().decode(&protobuf, Encoding::Protobuf, &limits).unwrap();
            prop_assert_eq!(dynamic_message.code(), Code::Dynamic);
            prop_assert_eq!(&dynamic_message.to_bytes(encoding).unwrap(), &bytes, "{}", encoding);
            for message_type in [generated(), dynamic()] {
                let back = message_type.decode(&bytes, encoding, &limits).unwrap();
                prop_assert_eq!(back.code(), message_type.code());
                prop_assert_eq!(first_difference(&dynamic_message, &back), None, "{}", encoding);
                prop_assert_eq!(&back.to_bytes(encoding).unwrap(), &bytes);
            }
        }
    }

    #[test]
    fn both_kinds_of_code_have_the_same_opinion_of_damaged_bytes(
        sink in sink(),
        at in any::<prop::sample::Index>(),
        flip in 0u8..=255,
        keep in any::<prop::sample::Index>(),
    ) {
        for encoding in Encoding::ALL {
            let mut bytes = Vec::new();
            crate::format::encode_generated(&sink, encoding, &mut bytes).unwrap();
            if bytes.is_empty() {
                continue;
            }
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            if flip % 3 == 0 {
                bytes.truncate(keep.index(bytes.len()));
            }
            agree(&bytes, encoding)?;
        }
    }

    #[test]
    fn anything_can_arrive(bytes in vec(any::<u8>(), 0..200)) {
        for encoding in Encoding::ALL {
            agree(&bytes, encoding)?;
        }
    }
}

fn agree(bytes: &[u8], encoding: Encoding) -> Result<(), TestCaseError> {
    let mut read = [generated(), dynamic()].map(|t| t.decode(bytes, encoding, &Limits::DEFAULT));
    match &mut read {
        [Ok(generated), Ok(dynamic)] => {
            prop_assert_eq!(
                first_difference(dynamic, generated),
                None,
                "{} {:?}",
                encoding,
                bytes
            );
        }
        [Err(generated), Err(dynamic)] => prop_assert_eq!(generated, dynamic),
        [generated, dynamic] => {
            let text = format!("{encoding}: {generated:?} and {dynamic:?}\n{bytes:02x?}");
            return Err(TestCaseError::fail(text));
        }
    }
    Ok(())
}

/// Bytes that are written nowhere here, but may arrive.
#[test]
fn both_kinds_of_code_take_the_same_forms() {
    let json = |text: &'static str| (Encoding::Json, text.as_bytes());
    let taken = [
        json(r#"{"leafs":{"an_int32":"12","anInt64":5,"aUint64":1e3,"aDouble":"Infinity"}}"#),
        json(r#"{"leafs":{"aBytes":"-_8","aColour":1,"aBool":null,"aFloat":"1.5"}}"#),
        json(r#"{"optionalLeafs":{"text":"a"},"byBool":{"true":"AA=="},"child":null}"#),
        json(r#"{"colours":["COLOUR_RED",-5,77],"doubles":null}"#),
        // {"leafs":{"anInt64":f64 2.0}}, 5 as u64, a float from an integer
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
        agree(bytes, encoding).unwrap();
        if let Err(error) = dynamic().decode(bytes, encoding, &Limits::DEFAULT) {
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
        json(r#"{"leafs":{"anInt64":9007199254740993.0}}"#),
        json(r#"{"leafs":{"anInt64":4503599627370496.3}}"#),
        json(r#"{"leafs":{"anInt64":"4503599627370496.3"}}"#),
        json(r#"{"leafs":{"anInt64":"9223372036854775808.0"}}"#),
        json(r#"{"leafs":{"anInt64":"1e99999999999999999999"}}"#),
        json(r#"{"leafs":{"anInt64":"1."}}"#),
        json(r#"{"leafs":{"anInt64":"15e-1"}}"#),
        // 2^53 + 2 as a float, whose neighbour is as far away.
        (
            Encoding::Msgpack,
            b"\x81\xa5leafs\x81\xa7anInt64\xcb\x43\x40\0\0\0\0\0\x01".as_slice(),
        ),
        json(r#"{"leafs":{"anInt32":"+1"}}"#),
        json(r#"{"leafs":{"anInt32":" 1"}}"#),
        json(r#"{"leafs":{"aDouble":"inf"}}"#),
        json(r#"{"leafs":{"aDouble":"1e999"}}"#),
        json(r#"{"leafs":{"aFloat":1e39}}"#),
        json(r#"{"leafs":{"aBool":"true"}}"#),
        json(r#"{"leafs":{"aBytes":"*"}}"#),
        json(r#"{"leafs":{"aString":1}}"#),
        json(r#"{"leafs":{"aColour":"RED"}}"#),
        json(r#"{"leafs":{"anInt32":1,"an_int32":1}}"#),
        json(r#"{"leafs":{}, "leafs":{}}"#),
        json(r#"{"byInt32":{"1":"a","1":"b"}}"#),
        json(r#"{"byInt32":{"1.0":"a"}}"#),
        json(r#"{"byInt32":{"1":null}}"#),
        json(r#"{"strings":[null]}"#),
        json(r#"{"strings":"a"}"#),
        json(r#"{"nope":1}"#),
        json("{} {}"),
        (Encoding::Msgpack, b"\x80\x80".as_slice()),
        (
            Encoding::Msgpack,
            b"\x81\xa5leafs\x81\xa7anInt32\xa15".as_slice(),
        ),
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
        agree(bytes, encoding).unwrap();
        let error = dynamic()
            .decode(bytes, encoding, &Limits::DEFAULT)
            .unwrap_err();
        assert!(matches!(error, DecodeError::Malformed { .. }), "{error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}

#[test]
fn integers_are_read_digit_by_digit() {
    for (written, number) in [
        ("\"9007199254740993.0\"", 9_007_199_254_740_993),
        ("\"9.223372036854775807e18\"", i64::MAX),
        ("\"-9223372036854775808.000\"", i64::MIN),
        ("\"150e-1\"", 15),
        ("\"0.0e5\"", 0),
        ("-0.0", 0),
        ("1e15", 1_000_000_000_000_000),
        ("562949953421312.0", 562_949_953_421_312),
    ] {
        let bytes = format!(r#"{{"leafs":{{"anInt64":{written}}}}}"#);
        agree(bytes.as_bytes(), Encoding::Json).unwrap();
        let read = dynamic()
            .decode(bytes.as_bytes(), Encoding::Json, &Limits::DEFAULT)
            .unwrap();
        let leafs = Leafs {
            an_int64: number,
            ..Leafs::default()
        };
        let sink = Sink {
            leafs: leafs.into(),
            ..Sink::default()
        };
        let wanted = buffa::Message::encode_to_vec(&sink);
        let wanted = dynamic()
            .decode(&wanted, Encoding::Protobuf, &Limits::DEFAULT)
            .unwrap();
        assert_eq!(
            read.to_bytes(Encoding::Cbor).unwrap(),
            wanted.to_bytes(Encoding::Cbor).unwrap(),
            "{written}"
        );
    }
}

#[test]
fn nesting_is_bounded_in_every_encoding() {
    let nested = |levels: usize| {
        (1..levels).fold(Sink::default(), |inner, _| Sink {
            children: vec![inner],
            by_int32: BTreeMap::from([(1, String::new())]),
            ..Sink::default()
        })
    };
    for encoding in Encoding::ALL {
        for message_type in [generated(), dynamic()] {
            for (levels, fits) in [(20, true), (21, false)] {
                let mut bytes = Vec::new();
                crate::format::encode_generated(&nested(levels), encoding, &mut bytes).unwrap();
                let limits = Limits {
                    max_depth: 20,
                    ..Limits::DEFAULT
                };
                let read = message_type.decode(&bytes, encoding, &limits);
                let broken = DecodeError::Limit(crate::BrokenLimit::Depth(20));
                match fits {
                    true => assert!(read.is_ok(), "{encoding} {levels}: {read:?}"),
                    false => assert_eq!(read.err(), Some(broken), "{encoding} {levels}"),
                }
            }
        }
    }
}

#[test]
fn hostile_nesting_ends_early() {
    let deep = 200_000;
    let json = r#"{"child":"#.repeat(deep);
    let msgpack = b"\x81\xa5child".repeat(deep);
    let cbor = b"\xa1\x65child".repeat(deep);
    let lists = [b"\x81\xa7strings".to_vec(), b"\x91".repeat(deep)].concat();
    let groups = b"\x0b".repeat(deep);
    for (encoding, bytes) in [
        (Encoding::Json, json.as_bytes()),
        (Encoding::Msgpack, &msgpack),
        (Encoding::Cbor, &cbor),
        (Encoding::Msgpack, &lists),
        (Encoding::Protobuf, &groups),
    ] {
        assert!(
            generated()
                .decode(bytes, encoding, &Limits::DEFAULT)
                .is_err()
        );
    }
}

#[test]
fn the_size_is_bounded_in_every_encoding() {
    let limits = Limits {
        max_message_bytes: 10,
        ..Limits::DEFAULT
    };
    for encoding in Encoding::ALL {
        let error = generated()
            .decode(&[b' '; 11], encoding, &limits)
            .unwrap_err();
        assert_eq!(
            error,
            DecodeError::Limit(crate::BrokenLimit::MessageBytes(10))
        );
    }
}

#[test]
fn memory_is_bounded_in_every_mapped_encoding() {
    let parent = || Sink {
        child: Sink::default().into(),
        ..Sink::default()
    };
    let list = Sink {
        children: (0..20_000).map(|_| parent()).collect(),
        ..Sink::default()
    };
    let map = Sink {
        named_children: (0..20_000).map(|n| (n.to_string(), parent())).collect(),
        ..Sink::default()
    };
    let cases = [
        (Encoding::Json, &list),
        (Encoding::JsonProtoNames, &list),
        (Encoding::Hybrid, &list),
        (Encoding::Msgpack, &list),
        (Encoding::Cbor, &list),
        // In JSON the keys of a map are long enough to pay for what they name.
        (Encoding::Msgpack, &map),
        (Encoding::Cbor, &map),
    ];
    for (encoding, sink) in cases {
        let mut bytes = Vec::new();
        crate::format::encode_generated(sink, encoding, &mut bytes).unwrap();
        let tight = Limits {
            max_message_bytes: bytes.len(),
            ..Limits::DEFAULT
        };
        let broken = crate::BrokenLimit::Memory(32 * bytes.len());
        for message_type in [generated(), dynamic()] {
            let read = message_type.decode(&bytes, encoding, &tight);
            assert_eq!(read.err(), Some(DecodeError::Limit(broken)), "{encoding}");
            let read = message_type.decode(&bytes, encoding, &Limits::DEFAULT);
            assert!(read.is_ok(), "{encoding}: {:?}", read.err());
        }
    }
}

#[test]
fn a_small_message_is_not_refused_for_its_memory() {
    let sink = (0..10).fold(Sink::default(), |inner, _| Sink {
        children: vec![inner],
        ..Sink::default()
    });
    for encoding in Encoding::ALL {
        let mut bytes = Vec::new();
        crate::format::encode_generated(&sink, encoding, &mut bytes).unwrap();
        let limits = Limits {
            max_message_bytes: bytes.len(),
            ..Limits::DEFAULT
        };
        for message_type in [generated(), dynamic()] {
            let read = message_type.decode(&bytes, encoding, &limits);
            assert!(read.is_ok(), "{encoding}: {:?}", read.err());
        }
    }
}
