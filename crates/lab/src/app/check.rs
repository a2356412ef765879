//! The checks of an application: each response must be as expected, and the same in every configuration.

use std::collections::BTreeMap;
use std::time::Duration;

use rpcgauge_load::Fetch;
use rpcgauge_study::app::{App, Check, Configuration, Placeholder, Template};
use rpcgauge_study::record::Fault;
use serde_json::Value;

use super::application::{Set, Words};
use crate::error::{TrialFailure, TrialResult};
use crate::subject::one_line;

/// The time limit for a response.
const LIMIT: Duration = Duration::from_secs(30);

/// The responses of one set to all checks, and the values kept from them.
#[derive(Debug, Clone, PartialEq)]
pub struct Responses {
    configuration: Configuration,
    bodies: Vec<Body>,
    /// The kept values, by name.
    pub kept: BTreeMap<String, String>,
}

/// A response body, which must be the same in every configuration.
#[derive(Debug, Clone, PartialEq)]
enum Body {
    Json(Value),
    Bytes(Vec<u8>),
}

impl Set {
    /// Fills a template with the values of this running set and with those that checks have kept.
    ///
    /// # Errors
    /// Fails if a placeholder has no value, which [`App::parse`] rules out.
    pub fn text(
        &self,
        template: &Template,
        kept: &BTreeMap<String, String>,
    ) -> TrialResult<String> {
        let words = Words {
            ports: &self.ports,
            configuration: Some(&self.configuration),
            build: &self.build,
        };
        template.fill(|word| {
            let found = match word {
                Placeholder::Entry => Some(format!("http://{}", self.entry)),
                Placeholder::Kept(name) => kept.get(name).cloned(),
                word => words.fill(word),
            };
            found.ok_or_else(|| {
                TrialFailure::new(Fault::User, format!("there is no value for {word}"))
            })
        })
    }
}

impl Set {
    /// Runs all checks of the application against this set.
    ///
    /// # Errors
    /// Reports the first unexpected response, with the log of the entry.
    pub fn check(&self, app: &App) -> TrialResult<Responses> {
        let mut responses = Responses {
            configuration: self.configuration.clone(),
            bodies: Vec::new(),
            kept: BTreeMap::new(),
        };
        for check in &app.checks {
            let body = make(check, self, &mut responses.kept).map_err(|failure| {
                let reason = format!(
                    "the check \"{}\" with {}: {failure}",
                    check.name, self.configuration
                );
                self.explain(app, TrialFailure { reason, ..failure })
            })?;
            responses.bodies.push(body);
        }
        Ok(responses)
    }

    /// Why the entry failed: that it has exited, or else `failure` with its log.
    pub(super) fn explain(&self, app: &App, failure: TrialFailure) -> TrialFailure {
        let mut services = self.services.iter();
        match services.find(|one| one.name == app.entry.service) {
            Some(entry) => entry.explain(failure),
            None => failure,
        }
    }
}

fn wrong(what: String) -> TrialFailure {
    TrialFailure::new(Fault::Subject, what)
}

/// The request of a check, with the values that earlier checks have kept.
pub(super) fn request(
    check: &Check,
    set: &Set,
    kept: &BTreeMap<String, String>,
) -> TrialResult<Fetch> {
    let mut headers = Vec::new();
    for (name, value) in &check.headers {
        headers.push((name.clone(), set.text(value, kept)?));
    }
    let body = match &check.json {
        None => Vec::new(),
        Some(json) => {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
            filled(json, set, kept)?.to_string().into_bytes()
        }
    };
    let path = set.text(&check.path, kept)?;
    Ok(Fetch {
        method: check.method.clone(),
        headers,
        body,
        ..Fetch::get(set.entry, &path)
    })
}

/// Checks that a body contains what a check requires. Returns the body as JSON; `None` if it is not JSON and
/// the check does not require JSON.
///
/// # Errors
/// A one-line description of what the body does not contain.
pub(super) fn holds(check: &Check, body: &[u8]) -> Result<Option<Value>, String> {
    let needs_json = !(check.holds.is_empty() && check.keep.is_empty());
    let json: Value = match serde_json::from_slice(body) {
        Ok(json) => json,
        Err(_) if needs_json => return Err(format!("the body is not JSON: {}", shown(body))),
        Err(_) => return Ok(None),
    };
    for (pointer, expected) in &check.holds {
        match json.pointer(pointer) {
            Some(found) if found == expected => {}
            found => {
                let found = found.map_or("nothing".to_owned(), Value::to_string);
                let found = one_line(&found);
                return Err(format!("{pointer} is {found}, not {expected}"));
            }
        }
    }
    Ok(Some(json))
}

fn shown(body: &[u8]) -> String {
    one_line(&String::from_utf8_lossy(body))
}

/// Makes one request and checks its response.
fn make(check: &Check, set: &Set, kept: &mut BTreeMap<String, String>) -> TrialResult<Body> {
    let fetched = request(check, set, kept)?
        .send(LIMIT)
        .map_err(|error| wrong(format!("no response: {error}")))?;
    if fetched.status != check.status {
        return Err(wrong(format!(
            "the status is {}, not {}: {}",
            fetched.status,
            check.status,
            shown(&fetched.body)
        )));
    }
    let Some(mut json) = holds(check, &fetched.body).map_err(wrong)? else {
        return Ok(Body::Bytes(fetched.body));
    };
    for (name, pointer) in &check.keep {
        let value = match json.pointer(pointer) {
            Some(Value::String(text)) => text.clone(),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            _ => {
                return Err(wrong(format!(
                    "{pointer}, which the check keeps, is not a string, number or boolean: {}",
                    shown(&fetched.body)
                )));
            }
        };
        kept.insert(name.clone(), value);
    }
    for pointer in check.keep.values().chain(&check.ignore) {
        if let Some(value) = json.pointer_mut(pointer) {
            *value = Value::Null;
        }
    }
    Ok(Body::Json(json))
}

/// Replaces the placeholders in the strings of a JSON body.
fn filled(json: &Value, set: &Set, kept: &BTreeMap<String, String>) -> TrialResult<Value> {
    Ok(match json {
        Value::String(text) => {
            let template = Template::try_from(text.clone()).map_err(wrong)?;
            Value::String(set.text(&template, kept)?)
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| filled(item, set, kept));
            Value::Array(items.collect::<TrialResult<_>>()?)
        }
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, item)| Ok((name.clone(), filled(item, set, kept)?)));
            Value::Object(members.collect::<TrialResult<_>>()?)
        }
        other => other.clone(),
    })
}

impl Responses {
    /// Compares these responses with those of another set.
    ///
    /// # Errors
    /// Reports the first difference.
    pub fn compare(&self, other: &Self, app: &App) -> TrialResult {
        let bodies = self.bodies.iter().zip(&other.bodies);
        for (check, (one, another)) in app.checks.iter().zip(bodies) {
            if one == another {
                continue;
            }
            let difference = match (one, another) {
                (Body::Json(one), Body::Json(other)) => difference("", one, other),
                _ => None,
            };
            let (pointer, found, expected) = difference.unwrap_or_default();
            let what = if pointer.is_empty() {
                "the body differs from the body".to_owned()
            } else {
                format!(
                    "{pointer} is {}, but {}",
                    one_line(&found),
                    one_line(&expected)
                )
            };
            return Err(wrong(format!(
                "the check \"{}\": with {} {what} with {}; name it in \"ignore\" if it may differ",
                check.name, other.configuration, self.configuration
            )));
        }
        Ok(())
    }
}

/// Where two bodies first differ: the JSON Pointer, then the value in `other`, then the value in `one`.
fn difference(at: &str, one: &Value, other: &Value) -> Option<(String, String, String)> {
    let below = |name: &str, one: Option<&Value>, other: Option<&Value>| {
        let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        let null = &Value::Null;
        match (one, other) {
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                let shown =
                    |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
                Some((at, shown(other), shown(one)))
            }
            (one, other) => difference(&at, one.unwrap_or(null), other.unwrap_or(null)),
        }
    };
    match (one, other) {
        (Value::Object(ones), Value::Object(others)) => {
            let names = ones.keys().chain(others.keys());
            names
                .map(|name| below(name, ones.get(name), others.get(name)))
                .find_map(|found| found)
        }
        (Value::Array(ones), Value::Array(others)) => (0..ones.len().max(others.len()))
            .find_map(|place| below(&place.to_string(), ones.get(place), others.get(place))),
        (one, other) if one == other => None,
        (one, other) => Some((at.to_owned(), other.to_string(), one.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_named_by_its_place() {
        let found = |one, other| difference("", &one, &other);
        assert_eq!(found(json!({"a": [1, 2]}), json!({"a": [1, 2]})), None);
        assert_eq!(
            found(
                json!({"a": [1, {"b/c": 2}]}),
                json!({"a": [1, {"b/c": "2"}]})
            ),
            Some(("/a/1/b~1c".to_owned(), "\"2\"".to_owned(), "2".to_owned()))
        );
        assert_eq!(
            found(json!({"a": [1]}), json!({"a": [1, 2]})),
            Some(("/a/1".to_owned(), "2".to_owned(), "nothing".to_owned()))
        );
    }
}
