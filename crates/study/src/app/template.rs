//! Texts of an `app.toml` with placeholders: `${port.http}`.

use serde::Deserialize;

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Placeholder(Placeholder),
}

/// A placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placeholder {
    /// The value of a setting.
    Setting(String),
    /// A port of the process itself.
    OwnPort(String),
    /// A port of a process, by the names of both.
    Port(String, String),
    /// The process's own empty folder.
    Data,
    /// The folder of the build.
    Build,
    /// The URL of the entry.
    Entry,
    /// A value that an earlier check has kept.
    Kept(String),
}

/// Reserved names, which no setting can have.
pub(super) const TAKEN: [&str; 5] = ["name", "entry", "data", "build", "port"];

impl Placeholder {
    fn parse(word: &str) -> Result<Self, String> {
        let parts: Vec<&str> = word.split('.').collect();
        let owned = |text: &&str| (*text).to_owned();
        match &parts[..] {
            ["data"] => Ok(Self::Data),
            ["build"] => Ok(Self::Build),
            ["entry"] => Ok(Self::Entry),
            ["port", port] => Ok(Self::OwnPort(owned(port))),
            ["kept", name] => Ok(Self::Kept(owned(name))),
            [process, "port", port] => Ok(Self::Port(owned(process), owned(port))),
            [setting] if !setting.is_empty() => Ok(Self::Setting(owned(setting))),
            _ => Err(format!(
                "${{{word}}} is not one of ${{SETTING}}, ${{port.NAME}}, ${{PROCESS.port.NAME}}, ${{data}}, \
                 ${{build}}, ${{entry}} and ${{kept.NAME}}; write $${{ for ${{ itself"
            )),
        }
    }
}

impl std::fmt::Display for Placeholder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Setting(name) => write!(f, "${{{name}}}"),
            Self::OwnPort(port) => write!(f, "${{port.{port}}}"),
            Self::Port(process, port) => write!(f, "${{{process}.port.{port}}}"),
            Self::Data => f.write_str("${data}"),
            Self::Build => f.write_str("${build}"),
            Self::Entry => f.write_str("${entry}"),
            Self::Kept(name) => write!(f, "${{kept.{name}}}"),
        }
    }
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (mut parts, mut plain, mut rest) = (Vec::new(), String::new(), text.as_str());
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                plain += &rest[..at - 1];
                plain += "${";
                rest = &rest[at + 2..];
                continue;
            }
            plain += &rest[..at];
            let (word, after) = rest[at + 2..]
                .split_once('}')
                .ok_or_else(|| format!("\"{}\" has no closing }}", &rest[at..]))?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Placeholder(Placeholder::parse(word)?));
            rest = after;
        }
        plain += rest;
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self(parts))
    }
}

impl Template {
    /// Its placeholders.
    pub fn words(&self) -> impl Iterator<Item = &Placeholder> {
        self.0.iter().filter_map(|part| match part {
            Part::Placeholder(word) => Some(word),
            Part::Text(_) => None,
        })
    }

    /// Returns the text with each placeholder replaced by what `of` returns.
    ///
    /// # Errors
    /// The errors of `of`.
    pub fn fill<E>(
        &self,
        mut of: impl FnMut(&Placeholder) -> Result<String, E>,
    ) -> Result<String, E> {
        let parts = self.0.iter().map(|part| match part {
            Part::Text(text) => Ok(text.clone()),
            Part::Placeholder(word) => of(word),
        });
        parts.collect()
    }
}
