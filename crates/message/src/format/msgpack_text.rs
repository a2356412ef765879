//! Whether the strings of MessagePack are UTF-8.
//!
//! The library gives one that is not to readers of bytes as if it were bytes, and does not tell
//! them which it was. So a message with fields for bytes is looked through once it is read.

/// What follows a marker, and is no value of its own.
enum Data<'a> {
    Text(&'a [u8]),
    Other,
}

/// Whether every string in these bytes is UTF-8. They have been read as values before; what is none
/// ends the search.
pub(crate) fn is_utf8(mut bytes: &[u8]) -> bool {
    while let Some((data, rest)) = next(bytes) {
        match data {
            Data::Text(text) if str::from_utf8(text).is_err() => return false,
            Data::Text(_) | Data::Other => bytes = rest,
        }
    }
    true
}

/// Takes a marker with its data (the MessagePack specification, "Formats"). What a list or a map
/// holds follows as values of their own.
fn next(bytes: &[u8]) -> Option<(Data<'_>, &[u8])> {
    let (&marker, rest) = bytes.split_first()?;
    let skip = |count: usize| Some((Data::Other, rest.get(count..)?));
    match marker {
        // fixstr, str 8, str 16, str 32
        0xa0..=0xbf => text(rest, usize::from(marker & 0x1f)),
        0xd9..=0xdb => length(rest, 1 << (marker - 0xd9)).and_then(|(n, rest)| text(rest, n)),
        // bin 8, bin 16, bin 32
        0xc4..=0xc6 => {
            let (length, rest) = length(rest, 1 << (marker - 0xc4))?;
            Some((Data::Other, rest.get(length..)?))
        }
        // ext 8, ext 16, ext 32: a type before the data
        0xc7..=0xc9 => {
            let (length, rest) = length(rest, 1 << (marker - 0xc7))?;
            Some((Data::Other, rest.get(length.checked_add(1)?..)?))
        }
        // fixext 1, 2, 4, 8, 16
        0xd4..=0xd8 => skip(1 + (1 << (marker - 0xd4))),
        // float 32, float 64
        0xca | 0xcb => skip(4 << (marker - 0xca)),
        // uint 8 to 64, int 8 to 64
        0xcc..=0xcf => skip(1 << (marker - 0xcc)),
        0xd0..=0xd3 => skip(1 << (marker - 0xd0)),
        // array 16, array 32; map 16, map 32
        0xdc | 0xdd => skip(2 << (marker - 0xdc)),
        0xde | 0xdf => skip(2 << (marker - 0xde)),
        // fixint, fixmap, fixarray, nil, false, true
        0x00..=0x9f | 0xc0..=0xc3 | 0xe0..=0xff => skip(0),
    }
}

/// A length of so many bytes, and what follows it.
fn length(bytes: &[u8], width: usize) -> Option<(usize, &[u8])> {
    let (digits, rest) = bytes.split_at_checked(width)?;
    let length = digits
        .iter()
        .fold(0, |length, digit| length << 8 | usize::from(*digit));
    Some((length, rest))
}

fn text(bytes: &[u8], length: usize) -> Option<(Data<'_>, &[u8])> {
    let (text, rest) = bytes.split_at_checked(length)?;
    Some((Data::Text(text), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::is_utf8;

    /// A value in each form, none of them a string.
    const OTHERS: [&[u8]; 20] = [
        b"\x07",
        b"\xff",
        b"\xc0",
        b"\xc3",
        b"\x90",
        b"\x80",
        b"\xcc\xff",
        b"\xcd\xff\xff",
        b"\xd2\xff\xff\xff\xff",
        b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xca\xff\xff\xff\xff",
        b"\xcb\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xc4\x02\xff\xff",
        b"\xc5\0\x02\xff\xff",
        b"\xc6\0\0\0\x02\xff\xff",
        b"\xc7\x01\xff\xff",
        b"\xd4\xff\xff",
        b"\xd8\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xdc\0\0",
        b"\xdf\0\0\0\0",
    ];

    #[test]
    fn a_string_is_found_behind_any_value() {
        let (good, bad): ([&[u8]; 4], [&[u8]; 4]) = (
            [
                b"\xa2\xc3\xa4",
                b"\xd9\x02\xc3\xa4",
                b"\xda\0\x02\xc3\xa4",
                b"\xdb\0\0\0\x02\xc3\xa4",
            ],
            [
                b"\xa2\xc3\xff",
                b"\xd9\x02\xc3\xff",
                b"\xda\0\x02\xc3\xff",
                b"\xdb\0\0\0\x02\xc3\xff",
            ],
        );
        for other in OTHERS {
            for (good, bad) in good.into_iter().zip(bad) {
                assert!(
                    is_utf8(&[other, good, other].concat()),
                    "{other:x?} {good:x?}"
                );
                assert!(
                    !is_utf8(&[other, bad, other].concat()),
                    "{other:x?} {bad:x?}"
                );
                assert!(
                    !is_utf8(&[good, other, bad].concat()),
                    "{other:x?} {bad:x?}"
                );
            }
        }
    }

    #[test]
    fn what_is_cut_off_is_no_string() {
        for cut in [
            &b"\xa2\xff"[..],
            b"\xd9",
            b"\xc6\xff\xff\xff\xff",
            b"\xc9\xff\xff\xff\xff",
        ] {
            assert!(is_utf8(cut), "{cut:x?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_text(values: Vec<(String, Vec<u8>, i64, f32, bool)>) {
            prop_assert!(is_utf8(&rmp_serde::to_vec(&values).unwrap()));
        }

        #[test]
        fn any_bytes_have_an_end(bytes: Vec<u8>) {
            let _ = is_utf8(&bytes);
        }
    }
}
