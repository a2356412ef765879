//! Messages with every kind of field, for the property tests.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::kitchen::{Colour, Leafs, OptionalLeafs, Sink};

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

pub(super) fn sink() -> impl Strategy<Value = Sink> {
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
