//! Writes the response of `records` with the field names of the .proto file. The structs are declared a second
//! time, as in an application that keeps those names.

use serde::{Serialize, Serializer};

use super::GeneratedMessage;
use super::workloads::records::{Record, RecordsReply};

#[derive(Serialize)]
#[serde(remote = "RecordsReply")]
struct Reply {
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "rows")]
    records: Vec<Record>,
}

macro_rules! row {
    ($($field:ident: $kind:ty,)*) => {
        #[derive(Serialize)]
        #[serde(remote = "Record")]
        struct Row {
            $(#[serde(skip_serializing_if = "Option::is_none")] $field: Option<$kind>,)*
        }
    };
}

row! {
    airport_name: String,
    aircraft_make_model: String,
    effect_amount_of_damage: String,
    flight_date: String,
    aircraft_airline_operator: String,
    origin_state: String,
    phase_of_flight: String,
    wildlife_size: String,
    wildlife_species: String,
    time_of_day: String,
    cost_other: i32,
    cost_repair: i32,
    cost_total: i32,
    speed_ias_in_knots: i32,
}

fn rows<S: Serializer>(records: &[Record], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct One<'a>(#[serde(with = "Row")] &'a Record);
    serializer.collect_seq(records.iter().map(One))
}

impl GeneratedMessage for RecordsReply {
    fn by_proto_names(&self) -> impl Serialize {
        #[derive(Serialize)]
        struct Whole<'a>(#[serde(with = "Reply")] &'a RecordsReply);
        Whole(self)
    }
}
