#![no_main]
//! See `rpcgauge_fuzz::websocket`.

libfuzzer_sys::fuzz_target!(|input: &[u8]| rpcgauge_fuzz::websocket(input));
