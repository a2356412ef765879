#![no_main]
//! See `rpcgauge_fuzz::decode_json`.

libfuzzer_sys::fuzz_target!(|input: &[u8]| rpcgauge_fuzz::decode_json(input));
