//! The `rpcgauge` program.
fn main() {}
