//! Compressed messages: limits, damage, and a comparison with another reader.

use std::io::Read;

use rpcgauge_message::{BrokenLimit, Compression, Compressor, DecodeError, Decompressor, Limits};

use crate::meter;
use crate::script::Args;

/// Decompresses arbitrary bytes as gzip or zstd. The first byte selects the format and whether the limits are
/// small.
///
/// Checks that the output is within the limits, that a decompressor that has seen damage yields the same
/// result, and that compressing and decompressing the output restores it. For gzip, also compares with flate2's
/// reader.
pub fn decompress(input: &[u8]) {
    let mut args = Args(input);
    let choice = args.u8();
    let compression = [Compression::GZIP, Compression::ZSTD][usize::from(choice % 2)];
    let limits = match choice / 2 % 2 {
        0 => Limits {
            max_message_bytes: 1 << 20,
            ..Limits::DEFAULT
        },
        _ => Limits {
            max_message_bytes: 90_000,
            max_inflation: 20,
            ..Limits::DEFAULT
        },
    };
    let bytes = args.rest();
    let mut fresh = Decompressor::new(compression, limits).expect("a decompressor");
    let mut out = Vec::new();
    meter::reset();
    let result = meter::metered(|| fresh.decompress(bytes, &mut out));
    // The output plus one byte, the error's text, and what zlib-rs allocates for each decompressor (a 32 KiB
    // window). zstd's memory is invisible to this allocator.
    let most = limits.max_message_bytes + (64 << 10);
    assert!(meter::peak() <= most as u64, "{} held", meter::peak());

    let mut used_out = Vec::new();
    let used = fresh.decompress(bytes, &mut used_out);
    assert_eq!(used, result, "a used decompressor gives the same result");
    match result {
        Ok(()) => {
            assert_eq!(used_out, out);
            assert!(out.len() <= limits.max_message_bytes);
            check_again(compression, limits, &out);
            check_gzip(compression, bytes, Some(&out));
        }
        Err(DecodeError::Limit(BrokenLimit::MessageBytes(_) | BrokenLimit::Inflation(_))) => {
            assert!(out.len() <= limits.max_message_bytes + 1);
        }
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            check_gzip(compression, bytes, None);
        }
    }
}

/// Checks that compressing and decompressing the output restores it.
fn check_again(compression: Compression, limits: Limits, message: &[u8]) {
    let mut compressed = Vec::new();
    Compressor::new(compression)
        .and_then(|mut c| c.compress(message, &mut compressed))
        .expect("anything can be compressed");
    let mut out = Vec::new();
    let again = Decompressor::new(compression, limits)
        .and_then(|mut d| d.decompress(&compressed, &mut out));
    // Small limits reject data that compresses too well.
    match again {
        Ok(()) => assert_eq!(out, message),
        Err(DecodeError::Limit(BrokenLimit::Inflation(_))) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Checks that flate2's reader yields the same output, and accepts nothing that we refuse.
fn check_gzip(compression: Compression, bytes: &[u8], expected: Option<&[u8]>) {
    if compression != Compression::GZIP {
        return;
    }
    let mut out = Vec::new();
    let theirs = flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut out);
    match expected {
        Some(expected) => {
            theirs.expect("flate2 reads it");
            assert_eq!(out, expected);
        }
        None => assert!(theirs.is_err() || bytes.is_empty(), "flate2 reads it"),
    }
}
