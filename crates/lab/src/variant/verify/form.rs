//! Checks the form of JSON output. JSON parsers accept several forms: a message can be correct and still have,
//! for example, a number where the encoding requires a string. It would then be measured under the wrong
//! encoding's name.

use rpcgauge_message::{Encoding, Message};
use serde_json::Value;

/// Returns where the bytes of a correct message deviate from the encoding's form, or `None` if nowhere.
/// Deviations are a field under another name, and a number as text or the reverse. Writing fields with default
/// values is allowed.
pub(super) fn other_form(encoding: Encoding, right: &Message, written: &[u8]) -> Option<String> {
    if !encoding.is_json() {
        return None;
    }
    let wanted = right.to_bytes(encoding).ok()?;
    if wanted == written {
        return None;
    }
    // Messages nested deeper than serde_json's limit are not compared.
    let wanted: Value = serde_json::from_slice(&wanted).ok()?;
    let written: Value = serde_json::from_slice(written).ok()?;
    let (path, what) = difference(&wanted, &written)?;
    Some(format!("${path}: as {encoding}, {what}"))
}

/// The path to the first difference, and a description of it.
fn difference(wanted: &Value, written: &Value) -> Option<(String, String)> {
    match (wanted, written) {
        (Value::Object(wanted), Value::Object(written)) => {
            wanted
                .iter()
                .find_map(|(name, wanted)| match written.get(name) {
                    None => Some((String::new(), format!("it has no \"{name}\""))),
                    Some(written) => difference(wanted, written)
                        .map(|(path, what)| (format!(".{name}{path}"), what)),
                })
        }
        (Value::Array(wanted), Value::Array(written)) => {
            let mut pairs = wanted.iter().zip(written).enumerate();
            pairs.find_map(|(index, (wanted, written))| {
                difference(wanted, written).map(|(path, what)| (format!("[{index}]{path}"), what))
            })
        }
        _ if kind(wanted) == kind(written) => None,
        _ => {
            let what = format!("expected {}, got {}", kind(wanted), kind(written));
            Some((String::new(), what))
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_message::{Workload, WorkloadSpec};

    use super::*;

    #[test]
    fn another_form_of_a_right_message_is_found() {
        let echo = Workload::new(&WorkloadSpec::Echo { n: 1 })
            .unwrap()
            .expected(0);
        let records = Workload::new(&WorkloadSpec::Records { n: 2 })
            .unwrap()
            .expected(0);
        let form = |asked, message: &Message, written| {
            other_form(asked, message, &message.to_bytes(written).unwrap())
        };
        use Encoding::{Json, JsonProtoNames, ProtoJson, Protobuf};
        for encoding in [Json, JsonProtoNames, ProtoJson, Protobuf] {
            assert_eq!(form(encoding, &echo, encoding), None);
            assert_eq!(form(encoding, &records, encoding), None);
        }
        let found = |asked, message, written| form(asked, message, written).unwrap();
        assert_eq!(
            found(ProtoJson, &echo, Json),
            "$.longData: as protojson, expected text, got a number"
        );
        assert_eq!(
            found(Json, &echo, ProtoJson),
            "$.longData: as json, expected a number, got text"
        );
        assert_eq!(
            found(JsonProtoNames, &records, Json),
            "$.records[0]: as json-proto-names, it has no \"aircraft_airline_operator\""
        );
    }

    #[test]
    fn default_values_may_be_written() {
        let hello = Workload::new(&WorkloadSpec::Hello {}).unwrap().expected(0);
        let written = br#"{"more": null, "message": "Hello, name_0."}"#;
        assert_eq!(other_form(Encoding::Json, &hello, written), None);
    }
}
