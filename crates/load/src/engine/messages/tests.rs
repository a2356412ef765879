//! Tests of codecs' messages.

use super::*;
use crate::engine::tests::{trial, unused};

#[test]
fn a_released_body_has_its_memory_reused() {
    let mut memory = Vec::with_capacity(100_000);
    memory.extend_from_slice(&[1; 70_000]);
    let address = memory.as_ptr();
    let body = Bytes::from(memory);
    let held = body.slice(10..20);
    assert_eq!(
        reclaimed(body.clone()).capacity(),
        0,
        "it has another holder"
    );
    drop((held, body.clone()));
    let again = reclaimed(body);
    assert_eq!((again.len(), again.as_ptr()), (0, address));
    assert!(again.capacity() >= 70_000);
}

/// Messages that use a codec, for gRPC or HTTP.
fn messages(codec: &mut dyn Codec, grpc: bool) -> Messages<'_, 'static> {
    let mut trial = trial(unused());
    if grpc {
        trial.request.style = CallStyle::Grpc { subtype: None };
    }
    Messages::new(Bodies::PerCall(codec), Vec::new(), &trial).unwrap()
}

fn call(number: u64) -> Call {
    let mut call = Call::default();
    call.number = number;
    call
}

/// Encodes with a function. Its compression replaces earlier output, which a codec must not do.
struct Custom<E> {
    encode: E,
    compresses: bool,
}

impl<E: FnMut(u64, &mut Vec<u8>)> Codec for Custom<E> {
    fn encode(&mut self, call: u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
        (self.encode)(call, out);
        Ok(())
    }

    fn compresses(&self) -> bool {
        self.compresses
    }

    fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        *out = plain.to_vec();
        Ok(())
    }

    fn decompress(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), CodecError> {
        Ok(())
    }

    fn decode(&mut self, _: &[u8]) -> Result<(), CodecError> {
        Ok(())
    }

    fn verify(&mut self, _: u64, _: u64) -> Result<(), CodecError> {
        Ok(())
    }
}

#[test]
fn each_message_is_made_behind_the_room_for_its_prefix() {
    for (grpc, prefix) in [(true, &[0, 0, 0, 0, 9][..]), (false, &[])] {
        let mut codec = Custom {
            encode: |call, out: &mut Vec<u8>| out.extend(format!("message {call}").bytes()),
            compresses: false,
        };
        let mut messages = messages(&mut codec, grpc);
        for number in 0..3 {
            let mut call = call(number);
            let outgoing = messages.request(&mut call).unwrap();
            let message = format!("message {number}");
            assert_eq!(outgoing.body, [prefix, message.as_bytes()].concat());
            assert_eq!((outgoing.plain, outgoing.carried), (9, 9));
        }
    }
}

#[test]
fn a_codec_that_replaces_its_output_is_refused() {
    for message in ["", "short", "longer than the prefix"] {
        for compresses in [false, true] {
            let mut codec = Custom {
                encode: |_, out: &mut Vec<u8>| {
                    out.clear();
                    out.extend(message.bytes());
                },
                compresses,
            };
            let mut messages = messages(&mut codec, true);
            let refused = messages.request(&mut call(0)).unwrap_err();
            assert_eq!(
                refused.0,
                "the codec overwrote earlier output: it must only append"
            );
        }
    }
}
