//! Expectations: what a response must contain for its call to succeed, such as `$.status = "ok"`.

use std::fmt;
use std::str::FromStr;

use rpcgauge_message::without_position;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::FormError;

/// A condition on a response: `status = 404`, `body contains "ok"`, `$.items[0].id = 7`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expectation {
    condition: Condition,
    /// The expectation as it was written.
    text: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    Status(u16),
    /// The number of messages of a streaming call's response.
    Messages(u64),
    Body(Relation, String),
    /// The value at this JSON Pointer (RFC 6901).
    Value(String, Relation, Value),
}

/// How what was found must relate to the expected value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Equal,
    Unequal,
    /// A text contains a text, or a list contains an element.
    Contains,
}

/// The relations as written. Longer signs come before their prefixes.
const RELATIONS: [(&str, Relation); 4] = [
    ("==", Relation::Equal),
    ("=", Relation::Equal),
    ("!=", Relation::Unequal),
    ("contains", Relation::Contains),
];

/// Maximum number of bytes of a body to quote in an error text, which is shortened later.
const QUOTED_BYTES: usize = 1_024;

impl Expectation {
    /// The expected HTTP status, if this is about the status.
    pub fn status(&self) -> Option<u16> {
        match self.condition {
            Condition::Status(status) => Some(status),
            Condition::Messages(_) | Condition::Body(..) | Condition::Value(..) => None,
        }
    }

    /// The expected number of messages, if this is about that.
    pub fn messages(&self) -> Option<u64> {
        match self.condition {
            Condition::Messages(messages) => Some(messages),
            Condition::Status(_) | Condition::Body(..) | Condition::Value(..) => None,
        }
    }

    /// Whether this is about the content of a message.
    pub fn is_about_content(&self) -> bool {
        matches!(self.condition, Condition::Body(..) | Condition::Value(..))
    }

    /// The JSON Pointer of the expected value, if this is about a value.
    pub fn pointer(&self) -> Option<&str> {
        match &self.condition {
            Condition::Value(pointer, ..) => Some(pointer),
            Condition::Status(_) | Condition::Messages(_) | Condition::Body(..) => None,
        }
    }

    /// Checks the content of a response. `to_json` converts a body to JSON, if an expectation requires it.
    ///
    /// # Errors
    /// The first expectation that is not met, and what was found instead.
    pub fn check_all(
        all: &[Self],
        body: &[u8],
        to_json: impl FnOnce(&[u8]) -> Result<Value, String>,
    ) -> Result<(), String> {
        let needs_json = all.iter().any(|one| one.pointer().is_some());
        let json = needs_json.then(|| to_json(body));
        for expectation in all {
            let found = match (&expectation.condition, &json) {
                (Condition::Body(relation, text), _) if !relation.holds_in(body, text) => {
                    format!("the body is {}", quoted(body))
                }
                (Condition::Value(..), Some(Err(error))) => error.clone(),
                (Condition::Value(pointer, relation, value), Some(Ok(json))) => {
                    // A missing value compares like null.
                    match json.pointer(pointer) {
                        found if relation.holds(found.unwrap_or(&Value::Null), value) => continue,
                        None => "it is absent".to_owned(),
                        Some(found) => format!("it is {found}"),
                    }
                }
                _ => continue,
            };
            return Err(format!("expected {expectation}, but {found}"));
        }
        Ok(())
    }

    fn parse(text: &str) -> Result<Condition, String> {
        if text.contains(char::is_control) {
            return Err("it must be one line without tabs".to_owned());
        }
        let (subject, rest) = match text.strip_prefix('$') {
            Some(steps) => {
                let (pointer, rest) = pointer(steps)?;
                (Subject::Value(pointer), rest)
            }
            None => [
                ("status", Subject::Status),
                ("messages", Subject::Messages),
                ("body", Subject::Body),
            ]
            .into_iter()
            .find_map(|(word, subject)| Some((subject, text.strip_prefix(word)?)))
            .ok_or(
                "it must begin with status, messages, body or a JSON path such as $.items[0].id",
            )?,
        };
        let rest = rest.trim_start();
        let (relation, value) = RELATIONS
            .into_iter()
            .find_map(|(sign, relation)| Some((relation, rest.strip_prefix(sign)?)))
            .ok_or_else(|| match rest {
                "" => "=, != or contains is missing".to_owned(),
                rest => format!("expected =, != or contains before \"{rest}\""),
            })?;
        let value = value.trim();
        let json = serde_json::from_str(value).map_err(|error| {
            let what = without_position(&error);
            format!("\"{value}\" is not a JSON value ({what}); put a string in double quotes")
        })?;
        match (subject, relation, json) {
            (Subject::Value(pointer), relation, value) => {
                Ok(Condition::Value(pointer, relation, value))
            }
            (Subject::Body, relation, Value::String(text)) => Ok(Condition::Body(relation, text)),
            (Subject::Body, ..) => Err(format!("{value} is not a string in double quotes")),
            (Subject::Status, Relation::Equal, Value::Number(number)) => {
                let status = number
                    .as_u64()
                    .and_then(|status| u16::try_from(status).ok());
                let status = status.filter(|status| (200..600).contains(status));
                let status =
                    status.ok_or_else(|| format!("{value} is not a status from 200 to 599"))?;
                Ok(Condition::Status(status))
            }
            (Subject::Status, ..) => Err("a status is compared by = with a number".to_owned()),
            (Subject::Messages, Relation::Equal, Value::Number(number)) if number.is_u64() => {
                Ok(Condition::Messages(number.as_u64().unwrap_or_default()))
            }
            (Subject::Messages, ..) => {
                Err("a number of messages is compared by = with a whole number".to_owned())
            }
        }
    }
}

/// A body as JSON.
///
/// # Errors
/// It is not JSON.
pub fn to_json(body: &[u8]) -> Result<Value, String> {
    let json = serde_json::from_slice(body);
    json.map_err(|_| format!("the body is not JSON: {}", quoted(body)))
}

fn quoted(body: &[u8]) -> String {
    let start = &body[..body.len().min(QUOTED_BYTES)];
    format!("{:?}", String::from_utf8_lossy(start))
}

enum Subject {
    Status,
    Messages,
    Body,
    Value(String),
}

impl Relation {
    fn holds(self, found: &Value, value: &Value) -> bool {
        match (self, found, value) {
            (Self::Equal, ..) => is_equal(found, value),
            (Self::Unequal, ..) => !is_equal(found, value),
            (Self::Contains, Value::String(found), Value::String(text)) => found.contains(text),
            (Self::Contains, Value::Array(items), value) => {
                items.iter().any(|item| is_equal(item, value))
            }
            (Self::Contains, ..) => false,
        }
    }

    fn holds_in(self, body: &[u8], text: &str) -> bool {
        match self {
            Self::Equal => body == text.as_bytes(),
            Self::Unequal => body != text.as_bytes(),
            Self::Contains => String::from_utf8_lossy(body).contains(text),
        }
    }
}

/// Whether two values are equal. `1` equals `1.0`, also within lists and objects.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() || other.is_f64() => {
            one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_in_other =
                |(name, value)| other.get(name).is_some_and(|found| is_equal(value, found));
            one.len() == other.len() && one.iter().all(is_in_other)
        }
        (one, other) => one == other,
    }
}

/// Converts the steps of a JSON path, after its `$`, to a JSON Pointer. Returns what follows the path, too.
pub(crate) fn pointer(steps: &str) -> Result<(String, &str), String> {
    let mut pointer = String::new();
    let mut add = |step: &str| {
        pointer.push('/');
        pointer += &step.replace('~', "~0").replace('/', "~1");
    };
    let mut rest = steps;
    loop {
        if let Some(after) = rest.strip_prefix('.') {
            let is_plain = |c: char| c.is_alphanumeric() || "_-@".contains(c);
            let end = after.find(|c| !is_plain(c)).unwrap_or(after.len());
            if end == 0 {
                return Err(format!("\"{rest}\" has no name after its dot"));
            }
            add(&after[..end]);
            rest = &after[end..];
        } else if let Some(after) = rest.strip_prefix('[') {
            let mut step = serde_json::Deserializer::from_str(after).into_iter();
            let name = match step.next() {
                Some(Ok(Value::String(name))) => Some(name),
                Some(Ok(Value::Number(index))) => index.as_u64().map(|index| index.to_string()),
                _ => None,
            };
            let after = after[step.byte_offset()..].strip_prefix(']');
            let (Some(name), Some(after)) = (name, after) else {
                return Err(format!("\"{rest}\" does not begin with [0] or [\"name\"]"));
            };
            add(&name);
            rest = after;
        } else {
            return Ok((pointer, rest));
        }
    }
}

impl FromStr for Expectation {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let condition = Self::parse(text.trim()).map_err(|what| FormError {
            text: text.to_owned(),
            kind: "an expectation",
            what,
            example: "'status=404', 'body contains \"ok\"' or '$.status = \"ok\"'",
        })?;
        Ok(Self {
            condition,
            text: text.trim().to_owned(),
        })
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Expectation {
    type Error = FormError;

    fn try_from(text: String) -> Result<Self, FormError> {
        text.parse()
    }
}

impl From<Expectation> for String {
    fn from(expectation: Expectation) -> Self {
        expectation.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Checks a body as a client of an HTTP API would.
    fn check(text: &str, body: &str) -> Result<(), String> {
        Expectation::check_all(&[text.parse().unwrap()], body.as_bytes(), to_json)
    }

    #[test]
    fn a_response_meets_what_is_expected_of_it() {
        let body =
            r#"{"status": "ok", "n": 3, "items": [{"id": 7, "a/b~c": null}], "tags": ["new", 1]}"#;
        for text in [
            "status=200",
            r#"body contains "\"n\": 3""#,
            r#"body != "ok""#,
            r#"$.status="ok""#,
            r#"$.status == "ok""#,
            r#"$["status"] = "ok""#,
            r#"$.status contains "o""#,
            r#"$.status != "down""#,
            "$.n = 3.0",
            "$.items[0].id = 7",
            r#"$.items[0]["a/b~c"] = null"#,
            "$.items[1] = null",
            "$.items != null",
            r#"$.items = [{"id": 7.0, "a/b~c": null}]"#,
            r#"$.tags contains 1.0"#,
            r#"$.tags contains "new""#,
            "$ != null",
        ] {
            assert_eq!(check(text, body), Ok(()), "{text}");
        }
    }

    #[test]
    fn an_expectation_that_is_not_met_is_named_with_what_was_found() {
        let body = r#"{"status": "down", "n": 3, "tags": ["new"]}"#;
        let unmet = |text: &str| check(text, body).unwrap_err();
        insta::assert_snapshot!(unmet(r#" $.status = "ok" "#), @r#"expected $.status = "ok", but it is "down""#);
        insta::assert_snapshot!(unmet(r#"$.n = "3""#), @r#"expected $.n = "3", but it is 3"#);
        insta::assert_snapshot!(unmet("$.n != 3"), @"expected $.n != 3, but it is 3");
        insta::assert_snapshot!(unmet("$.n contains 3"), @"expected $.n contains 3, but it is 3");
        insta::assert_snapshot!(unmet(r#"$.tags contains "old""#), @r#"expected $.tags contains "old", but it is ["new"]"#);
        insta::assert_snapshot!(unmet("$.id != null"), @"expected $.id != null, but it is absent");
        insta::assert_snapshot!(check(r#"body = "ok""#, "no\n").unwrap_err(), @r#"expected body = "ok", but the body is "no\n""#);
        insta::assert_snapshot!(check("$.id = 1", "<html>").unwrap_err(), @r#"expected $.id = 1, but the body is not JSON: "<html>""#);
    }

    #[test]
    fn what_is_no_expectation_says_why() {
        let why = |text: &str| {
            let error = text.parse::<Expectation>().unwrap_err().to_string();
            error.split("; write it like").next().unwrap().to_owned()
        };
        insta::assert_snapshot!(why("code = 200"), @r#""code = 200" is not an expectation: it must begin with status, messages, body or a JSON path such as $.items[0].id"#);
        insta::assert_snapshot!(why("messages > 3"), @r#""messages > 3" is not an expectation: expected =, != or contains before "> 3""#);
        insta::assert_snapshot!(why("messages = 1.5"), @r#""messages = 1.5" is not an expectation: a number of messages is compared by = with a whole number"#);
        insta::assert_snapshot!(why("status < 300"), @r#""status < 300" is not an expectation: expected =, != or contains before "< 300""#);
        insta::assert_snapshot!(why("status = 99"), @r#""status = 99" is not an expectation: 99 is not a status from 200 to 599"#);
        insta::assert_snapshot!(why("status != 200"), @r#""status != 200" is not an expectation: a status is compared by = with a number"#);
        insta::assert_snapshot!(why("body contains 7"), @r#""body contains 7" is not an expectation: 7 is not a string in double quotes"#);
        insta::assert_snapshot!(why("$.status = ok"), @r#""$.status = ok" is not an expectation: "ok" is not a JSON value (expected value); put a string in double quotes"#);
        insta::assert_snapshot!(why("$..id = 7"), @r#""$..id = 7" is not an expectation: "..id = 7" has no name after its dot"#);
        insta::assert_snapshot!(why("$.a[*] = 7"), @r#""$.a[*] = 7" is not an expectation: "[*] = 7" does not begin with [0] or ["name"]"#);
        insta::assert_snapshot!(why("$.a\n= 1").escape_debug(), @r#"\"$.a\n= 1\" is not an expectation: it must be one line without tabs"#);
        insta::assert_snapshot!(why("$.a"), @r#""$.a" is not an expectation: =, != or contains is missing"#);
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in r#"(\$|status|body)?[ -~µ]{0,20}"#) {
            if let Ok(expectation) = text.parse::<Expectation>() {
                prop_assert_eq!(expectation.to_string().parse(), Ok(expectation));
            }
        }
    }
}
