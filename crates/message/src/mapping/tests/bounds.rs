//! The limits of what is read: depth, size and memory.

use std::collections::BTreeMap;

use super::*;

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
fn a_map_takes_the_memory_of_its_trees_nodes() {
    let list = Sink {
        children: (0..20_000)
            .map(|_| Sink {
                by_bool: BTreeMap::from([(true, Vec::new())]),
                ..Sink::default()
            })
            .collect(),
        ..Sink::default()
    };
    let mut bytes = Vec::new();
    crate::format::encode_generated(&list, Encoding::Msgpack, &mut bytes).unwrap();
    // What the messages themselves take, and a node with room for eleven entries in each.
    let messages = 20_000 * size_of::<Sink>();
    let nodes = 20_000 * 11 * size_of::<(bool, Vec<u8>)>();
    for (memory, fits) in [(messages + nodes, true), (messages + nodes / 2, false)] {
        let limits = Limits {
            max_message_bytes: memory.div_ceil(crate::limits::MEMORY_FOR_A_BYTE),
            ..Limits::DEFAULT
        };
        assert!(bytes.len() < limits.max_message_bytes);
        let read = generated().decode(&bytes, Encoding::Msgpack, &limits);
        assert_eq!(read.is_ok(), fits, "{:?}", read.err());
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
