#![no_main]
//! See `rpcgauge_fuzz::grpc_text`.

libfuzzer_sys::fuzz_target!(|input: &[u8]| rpcgauge_fuzz::grpc_text(input));
