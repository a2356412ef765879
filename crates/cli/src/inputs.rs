//! What several commands take from files: a schema, a sample, a method of the user's own.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rpcgauge_message::contract;
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{MessageType, Schema};
use serde_json::Value;

use crate::args::{LimitArgs, SchemaArgs};
use crate::exit::Failure;

/// Largest sample file that is read, in bytes: far above any message limit.
const MAX_SAMPLE_BYTES: u64 = 256 << 20;

/// Compiles the .proto files, or reads the descriptor set.
pub(crate) fn schema(args: &SchemaArgs) -> Result<Schema, Failure> {
    if let Some(path) = &args.descriptor_set {
        let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
        return Schema::from_descriptor_set(&bytes)
            .map_err(|error| Failure::input(format!("{}: {error}", path.display())));
    }
    if args.proto.is_empty() {
        return Err(Failure::input(
            "no message description: give --proto FILE or --descriptor-set FILE",
        ));
    }
    Schema::compile(&args.proto, &args.include).map_err(Failure::input)
}

/// Reads a sample's text; `-` is standard input.
pub(crate) fn sample_text(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_SAMPLE_BYTES).read_to_string(&mut text)
    } else {
        fs::File::open(path).and_then(|file| file.take(MAX_SAMPLE_BYTES).read_to_string(&mut text))
    };
    match read {
        Ok(read) if read as u64 == MAX_SAMPLE_BYTES => Err(Failure::input(format!(
            "{}: larger than {MAX_SAMPLE_BYTES} bytes; give a smaller sample",
            path.display()
        ))),
        Ok(_) => Ok(text),
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// Reads a sample and proves that it is one of `message`.
fn sample(path: &Path, message: &MessageType) -> Result<Value, Failure> {
    let text = sample_text(path)?;
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::input(format!("{}: {error}", path.display()))
    };
    message.from_json(&text).map_err(|error| wrong(&error))?;
    serde_json::from_str(&text).map_err(|error| wrong(&error))
}

/// A user's own method with its samples, complete in itself.
pub(crate) fn own_workload(
    schema: &SchemaArgs,
    method: &str,
    request: &Path,
    response: &Path,
) -> Result<OwnWorkload, Failure> {
    let schema = self::schema(schema)?;
    let found = schema.method(method).map_err(Failure::input)?;
    Ok(OwnWorkload {
        descriptor_set: STANDARD.encode(schema.descriptor_set()),
        method: found.name.clone(),
        request: sample(request, &found.request)?,
        response: sample(response, &found.response)?,
    })
}

impl From<&LimitArgs> for contract::Limits {
    fn from(args: &LimitArgs) -> Self {
        Self {
            max_message_bytes: args.max_message_bytes,
            max_depth: args.max_depth,
            max_inflation: args.max_inflation,
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format!("cannot read {}: {error}", path.display()))
}
