//! `report.json`: the findings themselves (docs/report-schema.md).

use rpcgauge_study::printable;
use serde::Deserialize;
use serde_json::Value;

use crate::error::ReportError;
use crate::findings::{Findings, SCHEMA};
use crate::words;

/// Writes findings as JSON in one line: indented, timelines would make it several times as long. Each
/// comparison and claim has its sentence beside it, which is no part of the findings.
///
/// # Errors
/// [`ReportError::Json`] where a histogram cannot be written.
pub fn render(findings: &Findings) -> Result<String, ReportError> {
    let mut value = serde_json::to_value(findings)?;
    let margin = findings.study.margin;
    let comparisons = findings.comparisons.iter();
    let comparisons = comparisons.map(|comparison| words::comparison(comparison, margin));
    add_sentences(&mut value["comparisons"], comparisons);
    add_sentences(
        &mut value["claims"],
        findings.claims.iter().map(words::claim),
    );
    Ok(printable::json(value.to_string()) + "\n")
}

fn add_sentences(list: &mut Value, sentences: impl Iterator<Item = String>) {
    for (entry, sentence) in list.as_array_mut().into_iter().flatten().zip(sentences) {
        entry["sentence"] = Value::from(sentence);
    }
}

/// Reads findings back.
///
/// # Errors
/// [`ReportError::NewerSchema`] for findings of a newer program, [`ReportError::Json`] for what are
/// no findings.
pub fn parse(text: &str) -> Result<Findings, ReportError> {
    #[derive(Deserialize)]
    struct Version {
        schema: u32,
    }
    let Version { schema } = serde_json::from_str(text)?;
    if schema > SCHEMA {
        return Err(ReportError::NewerSchema {
            found: schema,
            known: SCHEMA,
        });
    }
    Ok(serde_json::from_str(text)?)
}
