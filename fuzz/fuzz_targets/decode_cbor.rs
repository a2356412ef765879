#![no_main]
//! See `rpcgauge_fuzz::decode_cbor`.

libfuzzer_sys::fuzz_target!(|input: &[u8]| rpcgauge_fuzz::decode_cbor(input));
