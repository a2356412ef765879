//! `rpcgauge size`: prints the encoded sizes of a sample; runs nothing.

use std::fmt::Write as _;

use rpcgauge_message::{Codec, Compression, Encoding, Message, MessageType, SizeRow};
use rpcgauge_report::units;
use serde::Serialize;

use crate::args::SizeArgs;
use crate::exit::{Failure, Outcome, print_json, print_plain};
use crate::inputs;

/// The columns of the table.
const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::GZIP, Compression::ZSTD];

pub(crate) fn run(args: SizeArgs) -> Outcome {
    let limits = inputs::limits(&args.limits)?;
    let message_type = message_type(&args)?;
    let text = inputs::text(&args.sample)?;
    let message = message_type
        .from_json(&text)
        .map_err(|error| Failure::input(error.in_file(&inputs::name(&args.sample))))?;
    for encoding in Encoding::ALL {
        Codec::check_limits(&message, encoding, Compression::None, limits).map_err(|limit| {
            let sample = inputs::name(&args.sample);
            Failure::input(format!("{sample}: as {encoding}, {limit}"))
        })?;
    }
    let rows = rpcgauge_message::sizes(&message, &COMPRESSIONS).map_err(Failure::input)?;
    if args.json {
        print_json(&Sizes::new(&message, &rows))
    } else {
        print_plain(&table(&message, &rows))
    }
}

fn message_type(args: &SizeArgs) -> Result<MessageType, Failure> {
    let schema = inputs::schema(&args.schema)?;
    if let Some(name) = &args.message {
        return schema.message_type(name).map_err(Failure::input);
    }
    // clap requires --message or --method.
    let method = schema
        .method(args.method.as_deref().unwrap_or_default())
        .map_err(Failure::input)?;
    Ok(if args.response {
        method.response
    } else {
        method.request
    })
}

/// The output of `--json`.
#[derive(Serialize)]
struct Sizes {
    message: String,
    sizes: Vec<Size>,
}

#[derive(Serialize)]
struct Size {
    encoding: String,
    compression: String,
    bytes: usize,
}

impl Sizes {
    fn new(message: &Message, rows: &[SizeRow]) -> Self {
        let size = |row: &SizeRow, compression: &Compression, bytes: &usize| Size {
            encoding: row.encoding.to_string(),
            compression: compression.to_string(),
            bytes: *bytes,
        };
        let sizes = rows.iter().flat_map(|row| {
            let all = COMPRESSIONS.iter().zip(&row.bytes);
            all.map(move |(compression, bytes)| size(row, compression, bytes))
        });
        Self {
            message: message.type_name().to_owned(),
            sizes: sizes.collect(),
        }
    }
}

fn table(message: &Message, rows: &[SizeRow]) -> String {
    let mut text = format!(
        "{}: bytes on the wire, without framing\n\n",
        message.type_name()
    );
    let json = rows.iter().find(|row| row.encoding == Encoding::Json);
    // Writing to a String cannot fail.
    let _ = write!(text, "{:<18}", "encoding");
    for compression in COMPRESSIONS {
        let _ = write!(text, "{:>10}", compression.to_string());
    }
    let [plain, gzip] = RATIOS.map(|compression| format!("{compression} / JSON"));
    let _ = writeln!(text, "{plain:>13}{gzip:>13}  fields");
    for row in rows {
        let _ = write!(text, "{:<18}", row.encoding.to_string());
        for bytes in &row.bytes {
            let _ = write!(text, "{:>10}", units::count(*bytes as u64));
        }
        for compression in RATIOS {
            let of = |row: &SizeRow| {
                let place = COMPRESSIONS.iter().position(|one| *one == compression)?;
                row.bytes.get(place).copied()
            };
            let ratio = match (of(row), json.and_then(of)) {
                (Some(bytes), Some(json)) if json > 0 => {
                    format!("{:.2}", bytes as f64 / json as f64)
                }
                _ => String::new(),
            };
            let _ = write!(text, "{ratio:>13}");
        }
        let _ = writeln!(text, "  {}", fields(row.encoding));
    }
    text
}

/// The compressions for which sizes are also related to JSON's.
const RATIOS: [Compression; 2] = [Compression::None, Compression::GZIP];

/// How an encoding writes a field: what the sizes differ in.
fn fields(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Protobuf => "numbers, binary values",
        Encoding::Json => "lowerCamelCase names",
        Encoding::JsonProtoNames => "names as in the .proto",
        Encoding::ProtoJson => "json, int64 as strings",
        Encoding::Msgpack | Encoding::Cbor => "names, binary values",
        Encoding::Hybrid => "json in a string",
    }
}
