//! The `records` workload: rows of the bird strikes data set.

use std::sync::LazyLock;

use super::{
    BadRequest, Requests, Workload, WorkloadError, check_items, generated, generated_request,
};
use crate::generated::workloads::records::{Record, RecordsReply, RecordsRequest};
use crate::message::Message;

/// The data set, described in studies/data/README.md.
pub const CSV: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../studies/data/birdstrikes.csv"
));

/// `records`: the request is a row count, and the response contains that many rows from the start of the file.
pub(super) fn records(n: u32) -> Result<Workload, WorkloadError> {
    check_items("records", n, rows().len() as u32)?;
    let n = n as i32;
    let request = generated(RecordsRequest {
        count: n,
        ..RecordsRequest::default()
    });
    let response = first_rows(n as usize);
    Ok(Workload::built_in::<RecordsRequest, RecordsReply>(
        "/records.RecordService/GetRecords",
        "/records",
        Requests::Same(request),
        move |request| {
            let count = generated_request::<RecordsRequest>(request)?.count;
            if count == n {
                return Ok(response.clone());
            }
            match usize::try_from(count) {
                Ok(count) if count <= rows().len() => Ok(first_rows(count)),
                _ => Err(BadRequest(format!(
                    "count is {count}, but the data has {} rows",
                    rows().len()
                ))),
            }
        },
    ))
}

fn first_rows(count: usize) -> Message {
    let records = rows()[..count].to_vec();
    generated(RecordsReply {
        records,
        ..RecordsReply::default()
    })
}

/// All rows of the file, parsed once. Its columns must be in the order of [`Record`]'s fields.
fn rows() -> &'static [Record] {
    static ROWS: LazyLock<Vec<Record>> = LazyLock::new(|| {
        let (_names, rows) = CSV.split_once('\n').expect("a line of names");
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(rows.as_bytes());
        let rows: Result<_, _> = reader.into_deserialize().collect();
        rows.expect("rows of strings and integers")
    });
    &ROWS
}
