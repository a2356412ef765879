#![no_main]
//! See `rpcgauge_fuzz::decompress`.

libfuzzer_sys::fuzz_target!(|input: &[u8]| rpcgauge_fuzz::decompress(input));
