//! `report.json`: the findings themselves (docs/report-schema.md).

use rpcgauge_study::printable;
use serde::Serialize;
use serde_json::Value;

use crate::error::ReportError;
use crate::findings::Findings;
use crate::words;

/// Renders findings as one line of JSON, since indentation would make timelines several times as long. Each
/// comparison, claim and crossing also has its sentence, which is not part of the findings.
///
/// # Errors
/// [`ReportError::Json`] if the findings cannot be serialized.
pub fn render(findings: &Findings) -> Result<String, ReportError> {
    let mut value = object(findings)?;
    let margin = findings.study.margin;
    let comparisons = findings.comparisons.iter();
    let comparisons = comparisons.map(|comparison| words::comparison(comparison, margin));
    add_sentences(&mut value["comparisons"], comparisons);
    add_sentences(
        &mut value["claims"],
        findings.claims.iter().map(words::claim),
    );
    let sweeps = value.get_mut("sweeps").and_then(Value::as_array_mut);
    let sweeps = sweeps.into_iter().flatten();
    for (entry, sweep) in sweeps.zip(&findings.sweeps) {
        let sentences = sweep
            .crossings
            .iter()
            .map(|one| words::crossing(findings, sweep, one));
        add_sentences(&mut entry["crossings"], sentences);
    }
    Ok(printable::json(value.to_string()) + "\n")
}

fn add_sentences(list: &mut Value, sentences: impl Iterator<Item = String>) {
    for (entry, sentence) in list.as_array_mut().into_iter().flatten().zip(sentences) {
        entry["sentence"] = Value::from(sentence);
    }
}

/// A value as one line of JSON.
pub(crate) fn line(value: &impl Serialize) -> Result<String, ReportError> {
    Ok(printable::json(object(value)?.to_string()) + "\n")
}

/// A value as indented JSON with a final newline.
pub(crate) fn pretty(value: &impl Serialize) -> Result<String, ReportError> {
    let text = serde_json::to_string_pretty(&object(value)?)?;
    Ok(printable::json(text) + "\n")
}

/// A value without its null fields, since a figure that could not be measured must be absent.
fn object(value: &impl Serialize) -> Result<Value, ReportError> {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|_, field| !field.is_null());
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(value)?;
    strip(&mut value);
    Ok(value)
}
