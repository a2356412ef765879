//! What other programs leave for this one in lines of JSON.

use rpcgauge_message::contract::Reply;
use rpcgauge_study::record::Record;

/// A line of `trials.jsonl`, which people and tools may have edited, and a subject's reply. What is
/// read can be written, and reads as the same again.
pub fn records(input: &[u8]) {
    if let Ok(record) = serde_json::from_slice::<Record>(input) {
        let text = serde_json::to_string(&record).expect("a record has a form");
        let again: Record = serde_json::from_str(&text).expect("what was written");
        assert_eq!(again, record);
    }
    match Reply::read(input) {
        Ok(reply) => {
            let again = Reply::parse(&reply.to_line()).expect("what was written");
            assert_eq!(again, reply);
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}
