use proptest::prelude::*;

use super::*;

const ALL: [Compression; 5] = [
    Compression::None,
    Compression::GZIP,
    Compression::Gzip { level: 1 },
    Compression::ZSTD,
    Compression::Zstd { level: 19 },
];

fn compressed(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Compressor::new(compression)
        .unwrap()
        .compress(bytes, &mut out)
        .unwrap();
    out
}

fn decompressed(
    compression: Compression,
    limits: Limits,
    bytes: &[u8],
) -> Result<Vec<u8>, DecodeError> {
    let mut out = vec![7; 3];
    Decompressor::new(compression, limits)
        .unwrap()
        .decompress(bytes, &mut out)
        .map(|()| out)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_was_compressed_comes_back(
        messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..3000), 1..4),
        repeated in 1usize..40,
    ) {
        for compression in ALL {
            let mut compressor = Compressor::new(compression).unwrap();
            let mut decompressor = Decompressor::new(compression, Limits::DEFAULT).unwrap();
            let (mut packed, mut unpacked) = (Vec::new(), Vec::new());
            for message in &messages {
                let message = message.repeat(repeated);
                packed.clear();
                compressor.compress(&message, &mut packed).unwrap();
                decompressor.decompress(&packed, &mut unpacked).unwrap();
                prop_assert_eq!(&unpacked, &message);
            }
        }
    }

    #[test]
    fn damage_is_an_error_or_the_same_bytes_and_never_a_panic(
        message in proptest::collection::vec(0u8..4, 0..2000),
        at in any::<prop::sample::Index>(),
        flip in 1u8..=255,
    ) {
        for compression in [Compression::GZIP, Compression::ZSTD] {
            let mut packed = compressed(compression, &message);
            let at = at.index(packed.len());
            packed[at] ^= flip;
            // Changing the time, name or flags in the header need not change the data.
            if let Ok(unpacked) = decompressed(compression, Limits::DEFAULT, &packed) {
                prop_assert_eq!(unpacked, message.clone());
            }
        }
    }

    #[test]
    fn anything_can_arrive(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let mut gzip = vec![0x1f, 0x8b, 8];
        gzip.extend_from_slice(&bytes);
        let mut zstd = vec![0x28, 0xb5, 0x2f, 0xfd];
        zstd.extend_from_slice(&bytes);
        for input in [&bytes, &gzip, &zstd] {
            for compression in [Compression::GZIP, Compression::ZSTD] {
                let _ = decompressed(compression, Limits::DEFAULT, input);
            }
        }
    }
}

#[test]
fn whatever_is_cut_off_is_missed() {
    let message: Vec<u8> = (0..5000u32).flat_map(|i| (i * i).to_le_bytes()).collect();
    for compression in [Compression::GZIP, Compression::ZSTD] {
        let packed = compressed(compression, &message);
        let mut cuts: Vec<usize> = (0..packed.len()).step_by(97).collect();
        cuts.extend(packed.len().saturating_sub(12)..packed.len());
        for cut in cuts {
            let error = decompressed(compression, Limits::DEFAULT, &packed[..cut]).unwrap_err();
            assert!(
                matches!(error, DecodeError::Compressed { .. }),
                "{compression} {cut}: {error}"
            );
        }
        let mut longer = packed.clone();
        longer.push(0);
        assert!(
            decompressed(compression, Limits::DEFAULT, &longer).is_err(),
            "{compression}"
        );
    }
}

#[test]
fn members_and_frames_may_follow_each_other() {
    for compression in [Compression::GZIP, Compression::ZSTD] {
        let both = [
            compressed(compression, b"one, "),
            compressed(compression, b"two"),
        ]
        .concat();
        assert_eq!(
            decompressed(compression, Limits::DEFAULT, &both).unwrap(),
            b"one, two"
        );
    }
}

#[test]
fn a_gzip_header_may_have_every_optional_part() {
    let plain = compressed(Compression::GZIP, b"data");
    let mut full = vec![0x1f, 0x8b, 8, 0b1_1110, 1, 2, 3, 4, 0, 3];
    full.extend_from_slice(&[3, 0, b'x', b'y', b'z']);
    full.extend_from_slice(b"name\0comment\0");
    let mut of_header = flate2::Crc::new();
    of_header.update(&full);
    let at = full.len();
    full.extend_from_slice(&of_header.sum().to_le_bytes()[..2]);
    full.extend_from_slice(&plain[10..]);
    let read = |full: &[u8]| decompressed(Compression::GZIP, Limits::DEFAULT, full);
    assert_eq!(read(&full).unwrap(), b"data");
    full[at] ^= 1;
    let error = read(&full).unwrap_err().to_string();
    assert!(error.contains("the header's checksum"), "{error}");
    full[at] ^= 1;
    full[3] |= 0x80;
    assert!(read(&full).is_err());
}

#[test]
fn bombs_are_stopped_at_the_limit() {
    let bomb = vec![0u8; 40 << 20];
    for compression in [Compression::GZIP, Compression::ZSTD] {
        let packed = compressed(compression, &bomb);
        let limits = Limits {
            max_inflation: usize::MAX,
            ..Limits::DEFAULT
        };
        let mut out = Vec::new();
        let mut decompressor = Decompressor::new(compression, limits).unwrap();
        let error = decompressor.decompress(&packed, &mut out).unwrap_err();
        assert_eq!(
            error,
            DecodeError::Limit(BrokenLimit::MessageBytes(16 << 20))
        );
        assert!(out.capacity() <= (16 << 20) + 1, "{}", out.capacity());
        assert!(error.to_string().contains("--max-message-bytes"));

        let limits = Limits {
            max_inflation: 100,
            ..Limits::DEFAULT
        };
        let error = decompressed(compression, limits, &packed).unwrap_err();
        assert_eq!(error, DecodeError::Limit(BrokenLimit::Inflation(100)));
        assert!(error.to_string().contains("--max-inflation"));
    }
}

#[test]
fn a_message_of_exactly_the_limit_passes() {
    let message: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
    for compression in ALL {
        let packed = compressed(compression, &message);
        let limits = Limits {
            max_message_bytes: message.len(),
            ..Limits::DEFAULT
        };
        assert_eq!(
            decompressed(compression, limits, &packed).unwrap(),
            message,
            "{compression}"
        );
        let limits = Limits {
            max_message_bytes: message.len() - 1,
            ..Limits::DEFAULT
        };
        assert_eq!(
            decompressed(compression, limits, &packed),
            Err(DecodeError::Limit(BrokenLimit::MessageBytes(
                message.len() - 1
            ))),
            "{compression}"
        );
    }
}

#[test]
fn little_data_may_grow_far() {
    let message = vec![b'a'; INFLATION_FREE_BYTES];
    let limits = Limits {
        max_inflation: 2,
        ..Limits::DEFAULT
    };
    let packed = compressed(Compression::GZIP, &message);
    assert_eq!(
        decompressed(Compression::GZIP, limits, &packed).unwrap(),
        message
    );
}

#[test]
fn a_kept_buffer_is_not_allocated_again() {
    let message: Vec<u8> = (0..200_000u32).map(|i| (i % 97) as u8).collect();
    for compression in ALL {
        let mut compressor = Compressor::new(compression).unwrap();
        let mut decompressor = Decompressor::new(compression, Limits::DEFAULT).unwrap();
        let (mut packed, mut unpacked) = (Vec::new(), Vec::new());
        compressor.compress(&message, &mut packed).unwrap();
        decompressor.decompress(&packed, &mut unpacked).unwrap();
        let before = (packed.as_ptr(), unpacked.as_ptr());
        packed.clear();
        compressor.compress(&message, &mut packed).unwrap();
        decompressor.decompress(&packed, &mut unpacked).unwrap();
        assert_eq!(
            (packed.as_ptr(), unpacked.as_ptr()),
            before,
            "{compression}"
        );
    }
}

#[test]
fn levels_that_do_not_exist_are_refused() {
    for compression in [
        Compression::Gzip { level: 10 },
        Compression::Zstd { level: 40 },
    ] {
        assert!(Compressor::new(compression).is_err());
    }
}

#[test]
fn compressed_bytes_are_appended() {
    for compression in ALL {
        let mut compressor = Compressor::new(compression).unwrap();
        let mut packed = b"prefix".to_vec();
        compressor.compress(b"message", &mut packed).unwrap();
        assert_eq!(&packed[..6], b"prefix", "{compression}");
        assert_eq!(
            decompressed(compression, Limits::DEFAULT, &packed[6..]).unwrap(),
            b"message",
            "{compression}"
        );
    }
}

#[test]
fn without_any_bound_a_message_comes_back() {
    let message = b"as large as it likes".repeat(10_000);
    let unbounded = Limits {
        max_message_bytes: usize::MAX,
        max_inflation: usize::MAX,
        ..Limits::DEFAULT
    };
    for compression in ALL {
        let packed = compressed(compression, &message);
        assert_eq!(
            decompressed(compression, unbounded, &packed),
            Ok(message.clone()),
            "{compression}"
        );
    }
}
