#![no_main]
//! See `rpcgauge_fuzz::reflection`.

libfuzzer_sys::fuzz_target!(|input: &[u8]| rpcgauge_fuzz::reflection(input));
