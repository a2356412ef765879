//! The workload `records`: rows of the bird strikes data file.

use std::sync::LazyLock;

use super::{AnswerError, Calls, WorkloadError, check_items, not_generated};
use crate::generated::workloads::records::{Record, RecordsReply, RecordsRequest};
use crate::message::{Message, MessageType};

/// The data, with its note in the same folder: studies/data/README.md.
pub const CSV: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../studies/data/birdstrikes.csv"
));

/// Columns of a row; fields of a [`Record`], in the same order.
const COLUMNS: usize = 14;

/// `records`: a count, and so many rows from the first on.
pub(super) struct Records {
    request_type: MessageType,
    response_type: MessageType,
    n: i32,
    request: Message,
    answer: Message,
}

impl Records {
    pub(super) fn new(n: u32) -> Result<Self, WorkloadError> {
        check_items("records", n, rows().len() as u32)?;
        let n = n as i32;
        Ok(Self {
            request_type: MessageType::generated::<RecordsRequest>(),
            response_type: MessageType::generated::<RecordsReply>(),
            n,
            request: Message::generated(RecordsRequest {
                count: n,
                ..RecordsRequest::default()
            }),
            answer: first_rows(n as usize),
        })
    }
}

impl Calls for Records {
    fn method_path(&self) -> &str {
        "/records.RecordService/GetRecords"
    }

    fn rest_path(&self) -> &str {
        "/records"
    }

    fn request_type(&self) -> &MessageType {
        &self.request_type
    }

    fn response_type(&self) -> &MessageType {
        &self.response_type
    }

    fn request(&self, _call: u64) -> Message {
        self.request.clone()
    }

    fn request_varies(&self) -> bool {
        false
    }

    fn answer(&self, request: &Message) -> Result<Message, AnswerError> {
        let request: &RecordsRequest = request.downcast().ok_or_else(|| not_generated(request))?;
        if request.count == self.n {
            return Ok(self.answer.clone());
        }
        match usize::try_from(request.count) {
            Ok(count) if count <= rows().len() => Ok(first_rows(count)),
            _ => Err(AnswerError(format!(
                "count is {}, and the data has {} rows",
                request.count,
                rows().len()
            ))),
        }
    }
}

fn first_rows(count: usize) -> Message {
    let records = rows()[..count].to_vec();
    Message::generated(RecordsReply {
        records,
        ..RecordsReply::default()
    })
}

/// All rows of the file, read once.
fn rows() -> &'static [Record] {
    static ROWS: LazyLock<Vec<Record>> = LazyLock::new(|| {
        CSV.lines()
            .skip(1)
            .map(|line| parse_row(line).unwrap_or_else(|| panic!("a row of the data: {line}")))
            .collect()
    });
    &ROWS
}

/// One row. The file has no quoted cells.
fn parse_row(line: &str) -> Option<Record> {
    let cells: Vec<&str> = line.split(',').collect();
    let cells: [&str; COLUMNS] = cells.try_into().ok()?;
    let text = |cell: &str| (!cell.is_empty()).then(|| cell.to_owned());
    // An empty cell is nothing; a cell that is no number makes the row unreadable.
    let number = |cell: &str| match cell {
        "" => Some(None),
        digits => digits.parse::<i32>().ok().map(Some),
    };
    let [
        airport,
        aircraft,
        damage,
        date,
        operator,
        state,
        phase,
        size,
        species,
        time,
        rest @ ..,
    ] = cells;
    let [other, repair, total, speed] = rest;
    Some(Record {
        airport_name: text(airport),
        aircraft_make_model: text(aircraft),
        effect_amount_of_damage: text(damage),
        flight_date: text(date),
        aircraft_airline_operator: text(operator),
        origin_state: text(state),
        phase_of_flight: text(phase),
        wildlife_size: text(size),
        wildlife_species: text(species),
        time_of_day: text(time),
        cost_other: number(other)?,
        cost_repair: number(repair)?,
        cost_total: number(total)?,
        speed_ias_in_knots: number(speed)?,
        ..Record::default()
    })
}
