//! Writes a study from command-line options. The text is parsed and resolved like a study file, and
//! `--print-study` prints it.

use std::path::{Path, PathBuf};

use rpcgauge_study::StudyError;
use rpcgauge_study::file::StudyFile;
use rpcgauge_study::resolve::ResolveContext;
use rpcgauge_study::resolve::inputs::Resolved;
use toml::Value;

use crate::exit::Failure;

/// The text of a study that is being written.
#[derive(Debug, Default)]
pub(crate) struct StudyText {
    text: String,
    /// The header of a table that has no keys yet.
    head: String,
}

/// Keys whose names differ from their options, with the option's name; empty if the key has no
/// option. A dotted key is that of the second target.
const OPTIONS: [(&str, &str); 26] = [
    ("service.data", "--vs-data"),
    ("service.rows", "--vs-rows"),
    ("service.proto", "--vs-proto"),
    ("service.http-method", "--vs-request-method"),
    ("command", "--call"),
    ("question", ""),
    ("server", "--stack"),
    ("protocol", ""),
    ("encoding", ""),
    ("compression", ""),
    ("transport", ""),
    ("metric", ""),
    ("headline", ""),
    ("target", ""),
    ("form", "--stream"),
    ("headers", "-H"),
    ("http-method", "-X"),
    ("time", "--duration"),
    ("connection", "--connect-per-call"),
    ("warm-up", "--warmup"),
    ("objectives", "--slo"),
    ("arrivals", "--poisson"),
    ("scale", "--size-sweep"),
    ("capacity", "--find-capacity"),
    ("name", ""),
    ("of", ""),
];

/// Converts a number to a TOML integer. No option accepts a value that does not fit.
pub(crate) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn shown(key: &str, path: &Path) -> Result<String, Failure> {
    let shown = path.to_str().ok_or_else(|| {
        Failure::input(format!(
            "--{key}: a study can contain only UTF-8 names, and {path:?} is not UTF-8; rename the file"
        ))
    });
    shown.map(str::to_owned)
}

impl StudyText {
    /// Creates a study that begins with its question.
    pub(crate) fn new(question: &str) -> Self {
        let mut text = Self::default();
        text.key("question", question);
        text
    }

    /// Begins a table, such as `[service]` or `[[variants]]`. A table without keys is omitted.
    pub(crate) fn table(&mut self, head: &str) {
        self.head = format!("\n{head}\n");
    }

    pub(crate) fn key(&mut self, key: &str, value: impl Into<Value>) {
        self.text += &std::mem::take(&mut self.head);
        self.text += &format!("{key} = {}\n", value.into());
    }

    /// Writes a key, or nothing if `value` is `None`.
    pub(crate) fn optional(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.key(key, value);
        }
    }

    /// Writes a list, or nothing if it is empty.
    pub(crate) fn list<T: Into<Value>>(&mut self, key: &str, values: impl IntoIterator<Item = T>) {
        let values: Vec<Value> = values.into_iter().map(Into::into).collect();
        if !values.is_empty() {
            self.key(key, values);
        }
    }

    /// Writes a path, or nothing if it is `None`.
    pub(crate) fn path(&mut self, key: &str, path: Option<&Path>) -> Result<(), Failure> {
        self.optional(key, path.map(|path| shown(key, path)).transpose()?);
        Ok(())
    }

    /// Writes a list of paths, or nothing if it is empty.
    pub(crate) fn paths(&mut self, key: &str, paths: &[PathBuf]) -> Result<(), Failure> {
        let shown: Result<Vec<String>, Failure> =
            paths.iter().map(|path| shown(key, path)).collect();
        self.list(key, shown?);
        Ok(())
    }

    /// The text of the study file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Parses and resolves the study under a name.
    pub(crate) fn resolve(
        &self,
        name: &str,
        context: &ResolveContext<'_>,
    ) -> Result<Resolved, StudyError> {
        StudyFile::parse(&self.text, &format!("{name}.toml"))
            .and_then(|study| study.resolve_with_inputs(context))
    }

    /// Converts an error of [`Self::resolve`] into one that names the responsible option.
    pub(crate) fn failure(&self, error: &StudyError) -> Failure {
        Failure::input(self.of_option(error))
    }

    /// The error's message with the option's name in place of line and column.
    fn of_option(&self, error: &StudyError) -> String {
        let message = &error.message;
        let Some(place) = error.position else {
            return message.clone();
        };
        let line = self.text.lines().nth(place.line - 1).unwrap_or_default();
        let before: String = line.chars().take(place.column - 1).collect();
        // In an inline table or list, the key is the last one before the error's position.
        let key = before.rsplit_once(" = ").map_or("", |(keys, _)| keys);
        let dotted = key.rsplit([' ', '{']).next().unwrap_or_default();
        let key = dotted.rsplit('.').next().unwrap_or_default();
        let known = |name: &str| OPTIONS.iter().find(|(known, _)| *known == name);
        let known = known(dotted).or_else(|| known(key));
        let is_ramp = key == "rate" && line.contains('"');
        let option = match known {
            _ if is_ramp => "--ramp".to_owned(),
            Some((_, option)) => (*option).to_owned(),
            None if key.is_empty() => String::new(),
            None => format!("--{key}"),
        };
        let message = match message.split_once("\": ") {
            Some((variant, rest)) if variant.starts_with("variant \"") => rest,
            _ => message,
        };
        if option.is_empty() {
            message.to_owned()
        } else {
            let own = format!("\"{key}\" ");
            format!(
                "{option}: {}",
                message.strip_prefix(&own).unwrap_or(message)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    /// The message for an error at the value of the last key.
    fn shown(keys: &[(&str, &str)]) -> String {
        let mut text = StudyText::new("Is it?");
        for (key, value) in keys {
            text.key(key, *value);
        }
        let line = text.text().lines().count();
        let column = keys.last().map_or(0, |(key, _)| key.len()) + 4;
        text.of_option(&StudyError {
            file: "my.toml".to_owned(),
            position: Some(rpcgauge_study::Position { line, column }),
            message: "variant \"a\": it is wrong".to_owned(),
            min_budget_s: None,
        })
    }

    #[test]
    fn an_error_names_only_options_that_exist() {
        assert_eq!(shown(&[("server", "mine/x")]), "--stack: it is wrong");
        assert_eq!(shown(&[("protocol", "grpc")]), "it is wrong");
        assert_eq!(shown(&[("compression", "gzip")]), "it is wrong");
        assert_eq!(shown(&[("deadline", "1s")]), "--deadline: it is wrong");
        assert_eq!(shown(&[("data", "@x")]), "--data: it is wrong");
        assert_eq!(shown(&[("service.data", "@x")]), "--vs-data: it is wrong");
    }

    #[test]
    fn a_path_is_written_as_it_is_or_refused() {
        let mut text = StudyText::default();
        let odd = Path::new(OsStr::from_bytes(b"a\xff.pem"));
        let refused = format!("{:?}", text.path("cacert", Some(odd)).unwrap_err());
        assert!(
            refused.contains("--cacert") && refused.contains("UTF-8"),
            "{refused}"
        );
        text.path("cacert", Some(Path::new("a\tb.pem"))).unwrap();
        let read: toml::Table = text.text().parse().unwrap();
        assert_eq!(read["cacert"].as_str(), Some("a\tb.pem"));
    }
}
