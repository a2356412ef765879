#![no_main]
//! See `rpcgauge_fuzz::text`.

libfuzzer_sys::fuzz_target!(|input: &[u8]| rpcgauge_fuzz::text(input));
