//! The limits on depth, size and memory.

use super::*;

#[test]
fn nesting_is_bounded_in_every_encoding() {
    let nested = |levels: usize| {
        (1..levels).fold(Sink::default(), |inner, _| Sink {
            children: vec![inner],
            ..Sink::default()
        })
    };
    for encoding in Encoding::ALL {
        for (levels, fits) in [(20, true), (21, false)] {
            let bytes = bytes(&nested(levels), encoding);
            let limits = Limits {
                max_depth: 20,
                ..Limits::DEFAULT
            };
            let read = sink_type().decode(&bytes, encoding, &limits);
            let broken = DecodeError::Limit(crate::BrokenLimit::Depth(20));
            if fits {
                assert!(read.is_ok(), "{encoding} {levels}: {read:?}")
            } else {
                assert_eq!(read.err(), Some(broken), "{encoding} {levels}")
            }
        }
    }
}

#[test]
fn hostile_nesting_is_refused_early() {
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
        assert!(read(bytes, encoding).is_err());
    }
}

#[test]
fn the_size_is_bounded_in_every_encoding() {
    let limits = Limits {
        max_message_bytes: 10,
        ..Limits::DEFAULT
    };
    for encoding in Encoding::ALL {
        let error = sink_type()
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
        // In JSON, a map's keys make the message large enough to be allowed the memory of its values.
        (Encoding::Msgpack, &map),
        (Encoding::Cbor, &map),
    ];
    for (encoding, sink) in cases {
        let bytes = bytes(sink, encoding);
        let tight = Limits {
            max_message_bytes: bytes.len(),
            ..Limits::DEFAULT
        };
        let broken = crate::BrokenLimit::Memory(32 * bytes.len());
        let tightly = sink_type().decode(&bytes, encoding, &tight);
        assert_eq!(
            tightly.err(),
            Some(DecodeError::Limit(broken)),
            "{encoding}"
        );
        assert!(read(&bytes, encoding).is_ok(), "{encoding}");
    }
}

#[test]
fn a_small_message_is_not_refused_for_its_memory() {
    let sink = (0..10).fold(Sink::default(), |inner, _| Sink {
        children: vec![inner],
        ..Sink::default()
    });
    for encoding in Encoding::ALL {
        let bytes = bytes(&sink, encoding);
        let limits = Limits {
            max_message_bytes: bytes.len(),
            ..Limits::DEFAULT
        };
        let read = sink_type().decode(&bytes, encoding, &limits);
        assert!(read.is_ok(), "{encoding}: {:?}", read.err());
    }
}
