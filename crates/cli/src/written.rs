//! A study written from a command line: the same text that `--print-study` prints is read and resolved.

use rpcgauge_study::StudyError;
use rpcgauge_study::file::StudyFile;
use rpcgauge_study::resolve::ResolveContext;
use rpcgauge_study::resolve::inputs::Resolved;
use toml::Value;

use crate::exit::Failure;

/// The text of a study in the making.
#[derive(Debug, Default)]
pub(crate) struct StudyText {
    text: String,
    /// The head of the table that was begun and has no key yet.
    head: String,
}

/// Options whose names are not those of the keys that they become.
const OPTIONS: [(&str, &str); 12] = [
    ("target", ""),
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

impl StudyText {
    /// A study that begins with its question.
    pub(crate) fn new(question: &str) -> Self {
        let mut text = Self::default();
        text.key("question", question);
        text
    }

    /// Begins a table, `[service]` or `[[variants]]`, which is left out where it gets no key.
    pub(crate) fn table(&mut self, head: &str) {
        self.head = format!("\n{head}\n");
    }

    pub(crate) fn key(&mut self, key: &str, value: impl Into<Value>) {
        self.text += &std::mem::take(&mut self.head);
        self.text += &format!("{key} = {}\n", value.into());
    }

    /// A key that is left out where there is no value.
    pub(crate) fn optional(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.key(key, value);
        }
    }

    /// A list that is left out where it is empty.
    pub(crate) fn list<T: Into<Value>>(&mut self, key: &str, values: impl IntoIterator<Item = T>) {
        let values: Vec<Value> = values.into_iter().map(Into::into).collect();
        if !values.is_empty() {
            self.key(key, values);
        }
    }

    /// The text, as a file may hold it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Resolves the study under a name. What is wrong is said of the option that wrote it.
    pub(crate) fn resolve(
        &self,
        name: &str,
        context: &ResolveContext<'_>,
    ) -> Result<Resolved, Failure> {
        StudyFile::parse(&self.text, &format!("{name}.toml"))
            .and_then(|study| study.resolve_with_inputs(context))
            .map_err(|error| Failure::input(self.of_option(&error)))
    }

    /// An error with the option's name in place of line and column.
    fn of_option(&self, error: &StudyError) -> String {
        let message = &error.message;
        let Some(place) = error.position else {
            return message.clone();
        };
        let line = self.text.lines().nth(place.line - 1).unwrap_or_default();
        let before: String = line.chars().take(place.column - 1).collect();
        // Within a table or list of one line it is the last key before the place.
        let key = before.rsplit_once(" = ").map_or("", |(keys, _)| keys);
        let key = key.rsplit([' ', '{', '.']).next().unwrap_or_default();
        let known = OPTIONS.iter().find(|(known, _)| *known == key);
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
        match option.is_empty() {
            true => message.to_owned(),
            false => {
                let own = format!("\"{key}\" ");
                format!(
                    "{option}: {}",
                    message.strip_prefix(&own).unwrap_or(message)
                )
            }
        }
    }
}
