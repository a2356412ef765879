//! A study of an application: `[app]` in a study's file, resolved into an [`AppPlan`].

mod resolve;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::plan::AppMetric;
use crate::error::{Source, StudyError};
use crate::file::{first_comment, study_name};
use crate::read::{Entry, Line, OneOrMore, PathText, Table, Time};
use crate::subject::Name;

/// A study of an application, as written.
#[derive(Debug, Clone)]
pub struct AppStudy {
    source: Source,
    name: String,
    question: String,
    top: Top,
    app: WrittenApp,
    variants: Vec<WrittenVariant>,
    pairs: Vec<WrittenPair>,
    claims: Vec<WrittenClaim>,
}

/// The application that a study is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppOf {
    /// A built-in application, by its name.
    Name(String),
    /// An application in a folder, relative to the study's folder.
    Path(String),
}

/// What the command line overrides in a study.
#[derive(Debug, Clone, Default)]
pub struct AppOverrides {
    /// The variants to keep, by name or part of a name (docs/studies.md); empty for all.
    pub only: Vec<String>,
    /// The number of invocations.
    pub invocations: Option<u32>,
    /// The number of blocks in each invocation.
    pub blocks: Option<u32>,
    /// The seed.
    pub seed: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Top {
    question: Option<Line>,
    seed: Option<u64>,
    margin: Option<Spanned<f64>>,
    confidence: Option<Spanned<f64>>,
    invocations: Option<NonZeroU32>,
    blocks: Option<NonZeroU32>,
    a_a: Option<Spanned<Line>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenApp {
    name: Option<Name>,
    path: Option<PathText>,
    call: Option<Spanned<Line>>,
    rate: Option<Spanned<f64>>,
    users: Option<Spanned<NonZeroU32>>,
    spawn_rate: Option<Spanned<f64>>,
    tags: Option<Spanned<Vec<Line>>>,
    warm_up: Option<Time>,
    settle: Option<Time>,
    slice: Option<Time>,
    #[serde(skip)]
    place: Range<usize>,
}

#[derive(Debug, Clone)]
struct WrittenVariant {
    name: String,
    place: Range<usize>,
    settings: Vec<(Spanned<String>, Spanned<String>)>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPair {
    of: Spanned<Line>,
    against: Spanned<Line>,
    question: Option<Line>,
    request: Option<OneOrMore<Line>>,
    metric: Option<Spanned<OneOrMore<AppMetric>>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenClaim {
    of: Spanned<Line>,
    against: Spanned<Line>,
    metric: Spanned<AppMetric>,
    request: Option<Line>,
    ratio: Spanned<f64>,
    source: Line,
}

impl AppStudy {
    /// Whether a text is a study of an application, which it is if it contains `[app]`.
    pub fn is_one(text: &str) -> bool {
        let Ok(file) = toml::de::DeTable::parse(text) else {
            return false;
        };
        file.get_ref().contains_key("app")
    }

    /// Parses a study's text. `file` is its name in messages; its stem becomes the study's name.
    ///
    /// # Errors
    /// The first problem, with its line and column.
    pub fn parse(text: &str, file: &str) -> Result<Self, StudyError> {
        let source = Source {
            file: file.into(),
            text: text.into(),
        };
        let mut table = Table::root(&source)?;
        let needs_app = table.error("needs [app] with name or path");
        let app = table.table("app")?.ok_or(needs_app)?;
        let place = app.span.clone();
        let app = WrittenApp {
            place,
            ..app.rest()?
        };
        let variants = table.tables("variants")?;
        let variants: Vec<_> = variants
            .into_iter()
            .map(variant)
            .collect::<Result<_, _>>()?;
        let pairs = table.tables("pairs")?.into_iter().map(Table::rest);
        let pairs: Vec<WrittenPair> = pairs.collect::<Result<_, _>>()?;
        let claims = table.tables("claims")?.into_iter().map(Table::rest);
        let claims: Vec<WrittenClaim> = claims.collect::<Result<_, _>>()?;
        let top: Top = table.rest()?;
        let question = match &top.question {
            Some(question) => Some(question.to_string()),
            None => first_comment(text),
        };
        let question = question.ok_or_else(|| {
            let message = "a study begins with its question; write question = \"Is …?\" or a comment in the \
                first line";
            source.error(0..0, message)
        })?;
        Ok(Self {
            name: study_name(file),
            question,
            top,
            app,
            variants,
            pairs,
            claims,
            source,
        })
    }

    /// The application that the study is about.
    ///
    /// # Errors
    /// The study names no application, or two.
    pub fn app(&self) -> Result<AppOf, StudyError> {
        match (&self.app.name, &self.app.path) {
            (Some(Name(name)), None) => Ok(AppOf::Name(name.clone())),
            (None, Some(path)) => Ok(AppOf::Path(path.0.clone())),
            _ => {
                let message =
                    "[app] needs either the name of a built-in application or the path of a folder";
                Err(self.source.error(self.app.place.clone(), message))
            }
        }
    }

    /// The question that the study asks.
    pub fn question(&self) -> &str {
        &self.question
    }

    /// The text as given.
    pub fn text(&self) -> &str {
        &self.source.text
    }
}

fn variant(mut table: Table<'_>) -> Result<WrittenVariant, StudyError> {
    let place = table.span.clone();
    let Name(name) = table.need("name")?;
    let source = table.source;
    let (_, entries) = table.entries();
    let settings = entries.into_iter().map(|(key, value): Entry<'_>| {
        let place = value.span();
        match value.into_inner() {
            toml::de::DeValue::String(text) => Ok((key, Spanned::new(place, text.into_owned()))),
            toml::de::DeValue::Integer(number) => {
                Ok((key, Spanned::new(place, number.to_string())))
            }
            _ => {
                let message = format!(
                    "\"{}\" must be a string, one of the setting's values",
                    key.get_ref()
                );
                Err(source.error(place, message))
            }
        }
    });
    Ok(WrittenVariant {
        name,
        place,
        settings: settings.collect::<Result<_, _>>()?,
    })
}
