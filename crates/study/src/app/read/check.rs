//! Reads `[[checks]]`, and defines the types of their values.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::super::{Check, Template};
use super::scope::Scope;
use crate::error::StudyError;
use crate::read::{Line, Table};
use crate::subject::Name;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCheck {
    name: Option<Line>,
    method: Option<Method>,
    path: Spanned<Template>,
    #[serde(default)]
    headers: BTreeMap<String, Spanned<Template>>,
    json: Option<Spanned<Value>>,
    status: Option<Status>,
    #[serde(default)]
    holds: BTreeMap<Pointer, Spanned<Value>>,
    #[serde(default)]
    keep: BTreeMap<Name, Pointer>,
    #[serde(default)]
    ignore: Vec<Pointer>,
}

/// The path and query of a request.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct PathAndQuery(pub(super) String);

/// An HTTP status.
#[derive(Deserialize)]
#[serde(try_from = "u16")]
pub(super) struct Status(pub(super) u16);

/// An HTTP method.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Method(String);

/// A JSON Pointer (RFC 6901).
#[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
struct Pointer(String);

impl TryFrom<String> for PathAndQuery {
    type Error = String;

    fn try_from(path: String) -> Result<Self, String> {
        check_plain(&path)?;
        let is_visible = path.bytes().all(|byte| byte.is_ascii_graphic());
        if path.starts_with('/') && is_visible {
            Ok(Self(path))
        } else {
            Err(format!("\"{path}\" must begin with / and have no spaces"))
        }
    }
}

impl TryFrom<u16> for Status {
    type Error = String;

    fn try_from(status: u16) -> Result<Self, String> {
        match status {
            200..=599 => Ok(Self(status)),
            _ => Err("a status is a number from 200 to 599".to_owned()),
        }
    }
}

impl TryFrom<String> for Method {
    type Error = String;

    fn try_from(method: String) -> Result<Self, String> {
        if !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            Ok(Self(method))
        } else {
            Err(format!("\"{method}\" is not a method; write it as GET"))
        }
    }
}

impl TryFrom<String> for Pointer {
    type Error = String;

    fn try_from(pointer: String) -> Result<Self, String> {
        if pointer.is_empty() || pointer.starts_with('/') {
            Ok(Self(pointer))
        } else {
            Err(format!(
                "\"{pointer}\" is not a JSON Pointer; write it as /items/0/id"
            ))
        }
    }
}

pub(super) fn check(table: Table<'_>, scope: Scope<'_>) -> Result<Check, StudyError> {
    let source = table.source;
    let shown = table.place("path").map_or_else(String::new, |place| {
        source.text[place].trim_matches(['"', '\'']).to_owned()
    });
    let written: WrittenCheck = table.rest()?;
    let method = match (written.method, &written.json) {
        (Some(Method(method)), _) => method,
        (None, Some(_)) => "POST".to_owned(),
        (None, None) => "GET".to_owned(),
    };
    let path_place = written.path.span();
    let path = scope.take(source, written.path)?;
    if !shown.starts_with('/') {
        return Err(source.error(path_place, "\"path\" must begin with /"));
    }
    if let Some(json) = &written.json {
        texts_of(json.get_ref(), &mut |text| {
            scope.check(&Template::try_from(text.to_owned())?)
        })
        .map_err(|message| source.error(json.span(), message))?;
    }
    for value in written.holds.values() {
        texts_of(value.get_ref(), &mut check_plain)
            .map_err(|message| source.error(value.span(), message))?;
    }
    let name = written.name.map(String::from);
    let pointers = |all: Vec<Pointer>| all.into_iter().map(|Pointer(pointer)| pointer).collect();
    let holds = written
        .holds
        .into_iter()
        .map(|(Pointer(at), value)| (at, value.into_inner()));
    let keep = written
        .keep
        .into_iter()
        .map(|(Name(name), Pointer(at))| (name, at));
    Ok(Check {
        name: name.unwrap_or_else(|| format!("{method} {shown}")),
        method,
        path,
        headers: scope.take_map(source, written.headers)?,
        json: written.json.map(Spanned::into_inner),
        status: written.status.map_or(200, |Status(status)| status),
        holds: holds.collect(),
        keep: keep.collect(),
        ignore: pointers(written.ignore),
    })
}

/// Refuses placeholders in a text where they are not filled in.
fn check_plain(text: &str) -> Result<(), String> {
    if text.contains("${") {
        Err(format!("\"{text}\": ${{…}} is not filled in here"))
    } else {
        Ok(())
    }
}

/// Calls `of` with every string in a value.
fn texts_of(value: &Value, of: &mut impl FnMut(&str) -> Result<(), String>) -> Result<(), String> {
    match value {
        Value::String(text) => of(text),
        Value::Array(items) => items.iter().try_for_each(|item| texts_of(item, of)),
        Value::Object(members) => members.values().try_for_each(|item| texts_of(item, of)),
        _ => Ok(()),
    }
}
