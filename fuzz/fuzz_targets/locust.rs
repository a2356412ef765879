#![no_main]
//! See `rpcgauge_fuzz::locust`.

libfuzzer_sys::fuzz_target!(|input: &[u8]| rpcgauge_fuzz::locust(input));
