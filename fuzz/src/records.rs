//! JSON lines that other programs write for this one.

use rpcgauge_contract::{Answer, Record as CallRecord, Reply};
use rpcgauge_study::record::{Concurrency, Record, WorkerRecord};

/// Reads a line of `trials.jsonl`, which people and tools may have edited, a worker's record, a subject's reply, and a
/// client's answer and records. Checks that what was read can be written, and reads back unchanged.
pub fn records(input: &[u8]) {
    if let Ok(record) = serde_json::from_slice::<Record>(input) {
        let text = serde_json::to_string(&record).expect("a record can be written");
        let again: Record = serde_json::from_str(&text).expect("what was written");
        assert_eq!(again, record);
    }
    if let Ok(record) = serde_json::from_slice::<WorkerRecord>(input) {
        let text = serde_json::to_string(&record).expect("a record can be written");
        let again: WorkerRecord = serde_json::from_str(&text).expect("what was written");
        assert_eq!(again, record);
        // No numbers are fatal, even if they contradict each other.
        let mut figures = record.figures.clone();
        let later_ns = record.began_ns;
        let _ = figures.merge(record.figures, Concurrency::Processes { later_ns });
    }
    match Reply::read(input) {
        Ok(reply) => {
            let again = Reply::parse(&reply.to_line()).expect("what was written");
            assert_eq!(again, reply);
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
    if let Ok(line) = std::str::from_utf8(input) {
        match Answer::parse(line) {
            Ok(answer) => assert_eq!(Answer::parse(&answer.to_line()), Ok(answer)),
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }
    if let Ok(records) = CallRecord::read_all(input) {
        let again: Vec<u8> = records.iter().flat_map(CallRecord::to_bytes).collect();
        assert_eq!(again, input);
    }
}
