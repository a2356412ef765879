//! `report.json`: the findings themselves (docs/report-schema.md).

use rpcgauge_study::printable;
use serde::Deserialize;

use crate::error::ReportError;
use crate::findings::{Findings, SCHEMA};

/// Writes findings as JSON in one line: indented, timelines would make it several times as long.
///
/// # Errors
/// [`ReportError::Json`] where a histogram cannot be written.
pub fn render(findings: &Findings) -> Result<String, ReportError> {
    Ok(printable::json(serde_json::to_string(findings)?) + "\n")
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
