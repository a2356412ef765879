#![no_main]
//! See `rpcgauge_fuzz::records`.

libfuzzer_sys::fuzz_target!(|input: &[u8]| rpcgauge_fuzz::records(input));
