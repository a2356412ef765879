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
    let json = rows
        .iter()
        .find(|row| row.encoding == Encoding::Json)
        .and_then(|row| row.bytes.first().copied());
    // Writing to a String cannot fail.
    let _ = write!(text, "{:<18}", "encoding");
    for compression in COMPRESSIONS {
        let _ = write!(text, "{:>12}", compression.to_string());
    }
    let _ = writeln!(text, "{:>16}", "plain / JSON");
    for row in rows {
        let _ = write!(text, "{:<18}", row.encoding.to_string());
        for bytes in &row.bytes {
            let _ = write!(text, "{:>12}", units::count(*bytes as u64));
        }
        match (row.bytes.first(), json) {
            (Some(&plain), Some(json)) if json > 0 => {
                let _ = writeln!(text, "{:>16}", format!("{:.2}", plain as f64 / json as f64));
            }
            _ => text.push('\n'),
        }
    }
    text
}
