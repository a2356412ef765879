//! The messages of a Locust master.

/// Reads a message of a master.
pub fn locust(input: &[u8]) {
    // What is nested or announces many elements must not exhaust the stack or the memory.
    let is_message = rpcgauge_locust::is_of_master(input);
    let more = [input, b"\xc0"].concat();
    assert!(
        !is_message || rpcgauge_locust::is_of_master(&more),
        "a message ends where it says"
    );
}
