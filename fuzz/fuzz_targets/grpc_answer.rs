#![no_main]
//! See `rpcgauge_fuzz::grpc_answer`.

libfuzzer_sys::fuzz_target!(|input: &[u8]| rpcgauge_fuzz::grpc_answer(input));
