#![no_main]
//! See `rpcgauge_fuzz::hpack_encode`.

libfuzzer_sys::fuzz_target!(|input: &[u8]| rpcgauge_fuzz::hpack_encode(input));
