//! `[[toolchain]]`: the programs that a subject needs, and their versions.

use serde::Deserialize;

use crate::read::filled;

/// A program that a subject needs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name in commands and in messages.
    pub name: String,
    /// Names to look for in `PATH`, in order of preference; by default its own name.
    #[serde(default, deserialize_with = "filled")]
    pub programs: Vec<String>,
    /// Folders to look in after `PATH`. If there are any, the newest of all programs found is used.
    #[serde(default, deserialize_with = "filled")]
    pub folders: Vec<String>,
    /// Arguments that make it print its version.
    #[serde(default = "ask_version", deserialize_with = "filled")]
    pub version: Vec<String>,
    /// The minimum version.
    pub least: Option<Version>,
    /// How to install it if it is missing.
    pub install: String,
}

/// A version of numbers separated by dots: `3.10` is later than `3.9`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Version(Vec<u64>);

fn ask_version() -> Vec<String> {
    vec!["--version".to_owned()]
}

impl Tool {
    /// Sets the program of each tool that names none to the tool's own name.
    pub(crate) fn name_programs(tools: &mut [Self]) {
        for tool in tools {
            if tool.programs.is_empty() {
                tool.programs.push(tool.name.clone());
            }
        }
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let version = Self::parse(&text);
        version.ok_or_else(|| format!("\"{text}\" is not a version; write it as 3.10"))
    }
}

impl Version {
    /// Parses numbers such as `1.2.3`.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = text.split('.').map(|number| number.parse().ok());
        numbers.collect::<Option<Vec<u64>>>().map(Self)
    }

    /// The version in a program's output: the first number with a dot in it, else the
    /// first number.
    pub fn find(text: &str) -> Option<Self> {
        let numbers = || {
            text.split(|c: char| !c.is_ascii_digit() && c != '.')
                .map(|part| part.trim_matches('.'))
                .filter(|part| !part.is_empty())
        };
        let dotted = numbers().find(|part| part.contains('.'));
        dotted.or_else(|| numbers().next()).and_then(Self::parse)
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}
