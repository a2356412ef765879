//! The report's files in a run's directory. Each is written completely or not at all.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::error::ReportError;
use crate::findings::Findings;
use crate::gate::Gate;
use crate::{csv, html, json, markdown};

/// The findings, for programs.
pub const JSON: &str = "report.json";
/// The page, for people.
pub const HTML: &str = "report.html";
/// The verdicts and tables, for a pull request.
pub const MARKDOWN: &str = "report.md";
/// One row per trial.
pub const CSV: &str = "trials.csv";

/// Writes the four files of a report into `directory` and returns their paths.
///
/// Each file is written under a temporary name and then renamed, so that a reader never sees a partial file. All
/// four are rendered before the first is written. A file that cannot be written does not prevent the others.
///
/// # Errors
/// [`ReportError::Write`] for the first file that cannot be written, or the error from rendering a file.
pub fn write_all(directory: &Path, findings: &Findings) -> Result<Vec<PathBuf>, ReportError> {
    let texts = [
        json::render(findings)?,
        html::render(findings),
        markdown::render(findings),
        csv::render(findings),
    ];
    write_texts(directory, texts)
}

/// The outcome of a gate, for programs.
pub const GATE_JSON: &str = "gate.json";
/// The outcome of a gate, for a pull request.
pub const GATE_MARKDOWN: &str = "gate.md";
/// The outcome of a gate, as a page.
pub const GATE_HTML: &str = "gate.html";

/// Writes the outcome of a gate beside the report.
///
/// # Errors
/// See [`write_all`].
pub fn write_gate(directory: &Path, gate: &Gate, findings: &Findings) -> Result<(), ReportError> {
    let document = gate.document(findings);
    let texts = [
        (GATE_JSON, gate.to_json()?),
        (GATE_MARKDOWN, document.markdown()),
        (GATE_HTML, document.html()),
    ];
    for (name, text) in texts {
        let path = directory.join(name);
        write(directory, &path, &text).map_err(|source| ReportError::Write { path, source })?;
    }
    Ok(())
}

/// Writes the four texts of a report: JSON, the page, Markdown and CSV.
pub(crate) fn write_texts(
    directory: &Path,
    texts: [String; 4],
) -> Result<Vec<PathBuf>, ReportError> {
    let files = [JSON, HTML, MARKDOWN, CSV].into_iter().zip(texts);
    let files: Vec<(&str, String)> = files.collect();
    let written: Vec<Result<PathBuf, ReportError>> = files
        .into_iter()
        .map(|(name, text)| {
            let path = directory.join(name);
            match write(directory, &path, &text) {
                Ok(()) => Ok(path),
                Err(source) => Err(ReportError::Write { path, source }),
            }
        })
        .collect();
    written.into_iter().collect()
}

fn write(directory: &Path, path: &Path, text: &str) -> io::Result<()> {
    // Opened here instead of by tempfile, whose errors also name the temporary file.
    let open = |temporary: &Path| {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(temporary)
    };
    let mut file = tempfile::Builder::new()
        .prefix(".report-")
        .make_in(directory, open)?;
    // Written to the inner file, since the wrapper's errors name the temporary file.
    file.as_file_mut().write_all(text.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::fixture;

    #[test]
    fn a_file_that_cannot_be_written_does_not_prevent_the_others() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join(super::JSON)).unwrap();
        let findings = fixture::findings(&fixture::live());
        let problem = super::write_all(place.path(), &findings).unwrap_err();
        assert!(problem.to_string().contains(super::JSON), "{problem}");
        for name in [super::HTML, super::MARKDOWN, super::CSV] {
            assert!(place.path().join(name).is_file(), "{name}");
        }
    }
}
