#![no_main]
//! See `rpcgauge_fuzz::http1_head`.

libfuzzer_sys::fuzz_target!(|input: &[u8]| rpcgauge_fuzz::http1_head(input));
