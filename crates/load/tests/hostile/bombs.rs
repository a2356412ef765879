//! Responses that expand when they are decompressed.

use rpcgauge_load::{Checked, Codec, CodecError, ResponseCheck, ToCheck};
use rpcgauge_message::{Compression, Compressor, Decompressor, Limits};
use rpcgauge_trial::FailureKind;

use super::case::{Case, Over, fail};
use super::server::*;

/// Decompressed size of a bomb, bytes.
const SIZE: usize = 32 << 20;

/// Maximum size of a message, bytes.
const MAX: usize = 1 << 20;

fn bomb(compression: Compression) -> Vec<u8> {
    let mut out = Vec::new();
    let mut compressor = Compressor::new(compression).expect("a compressor");
    let compressed = compressor.compress(&vec![0; SIZE], &mut out);
    compressed.expect("memory");
    assert!(out.len() < SIZE / 500, "{} bytes", out.len());
    out
}

/// A codec that decompresses within limits and does not decode.
struct Bounded(Decompressor);

impl Bounded {
    fn codec(compression: Compression) -> Box<dyn Codec> {
        let limits = Limits {
            max_message_bytes: MAX,
            ..Limits::DEFAULT
        };
        let decompressor = Decompressor::new(compression, limits);
        Box::new(Bounded(decompressor.expect("a decompressor")))
    }
}

impl Codec for Bounded {
    fn encode(&mut self, _: u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend(b"hello");
        Ok(())
    }

    fn decompress(&mut self, carried: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        let done = self.0.decompress(carried, out);
        done.map_err(|error| CodecError(error.to_string()))
    }

    fn decode(&mut self, _: &[u8]) -> Result<(), CodecError> {
        Ok(())
    }

    fn verify(&mut self, _: u64, _: u64) -> Result<(), CodecError> {
        Ok(())
    }
}

/// A case whose response is produced by `compressed` with this compression.
fn case(
    name: &'static str,
    over: Over,
    compression: Compression,
    compressed: fn(Compression) -> Vec<u8>,
) -> Case {
    let coding = compression.coding();
    let case = Case::new(name, over, fail(&["decompress"]))
        .with(move |trial| trial.expect.encoding = Some(coding.to_owned()));
    match over {
        Over::Grpc => case.server(move || {
            let mut message = message(&compressed(compression));
            message[0] = 1;
            responds(move |id| {
                let head = headers(id, 0, &[OK, GRPC, ("grpc-encoding", coding)]);
                let parts = message.chunks(16_384).flat_map(|part| data(id, 0, part));
                let end = trailers(id, &[("grpc-status", "0")]);
                head.into_iter().chain(parts).chain(end).collect()
            })()
        }),
        Over::Http1 | Over::Tls | Over::WebSocket => case.server(move || {
            let body = compressed(compression);
            let head = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-encoding: {coding}\r\n\
                 content-length: {}\r\n\r\n",
                body.len()
            );
            says([head.as_bytes(), &body].concat())()
        }),
    }
}

/// Compressed data with its last bytes missing.
fn cut(compression: Compression) -> Vec<u8> {
    let mut out = Vec::new();
    let mut compressor = Compressor::new(compression).expect("a compressor");
    compressor.compress(b"hello", &mut out).expect("memory");
    out.truncate(out.len() - 3);
    out
}

fn garbage(_: Compression) -> Vec<u8> {
    b"this is not compressed".to_vec()
}

/// Checks responses without decoding them, as `rpcgauge load` does.
fn check(compression: Compression) -> ResponseCheck<'static> {
    let (mut bounded, mut plain) = (Bounded::codec(compression), Vec::new());
    let check = move |response: ToCheck<'_>| {
        let result = bounded.decompress(response.carried, &mut plain);
        result.map_err(|error| (FailureKind::Decompress, error))
    };
    ResponseCheck {
        of: Checked::Compressed,
        check: Box::new(check),
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let (gzip, zstd) = (Compression::GZIP, Compression::ZSTD);
    vec![
        case("gzip bomb", Over::Http1, gzip, bomb).codec(|| Bounded::codec(Compression::GZIP)),
        case("zstd bomb", Over::Grpc, zstd, bomb).codec(|| Bounded::codec(Compression::ZSTD)),
        case("zstd bomb in a load", Over::Http1, zstd, bomb).checked(|| check(Compression::ZSTD)),
        case("gzip bomb in a load", Over::Grpc, gzip, bomb).checked(|| check(Compression::GZIP)),
        case("gzip that ends early in a load", Over::Http1, gzip, cut)
            .checked(|| check(Compression::GZIP)),
        case("not zstd in a load", Over::Grpc, zstd, garbage).checked(|| check(Compression::ZSTD)),
    ]
}
