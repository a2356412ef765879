//! Which response of a bidirectional stream belongs to which message: the one with the same value, such as `$.id`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::error::FormError;
use crate::expectation::pointer;

/// The value that pairs messages with their responses: `$.id`, or `$.id = $.request.id` if its place in the response is
/// another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PairBy {
    /// The JSON Pointer (RFC 6901) of the value in a message that the client sends.
    pub request: String,
    /// The JSON Pointer of the value in a response.
    pub response: String,
    /// The paths as they were written.
    text: String,
}

impl PairBy {
    /// The key in the JSON of a message at one of the pointers; `None` if the message has no value there. A number and the
    /// text of its digits are the same key, because JSON has 64-bit integers of protobuf as text.
    ///
    /// The JSON of protobuf leaves out values that are the `default` of their field. `None` if a field that is absent from
    /// its object has no value.
    pub fn key(json: &Value, pointer: &str, default: Option<&str>) -> Option<String> {
        match json.pointer(pointer) {
            None | Some(Value::Null) => {
                let parent = json.pointer(&pointer[..pointer.rfind('/')?])?;
                default.filter(|_| parent.is_object()).map(str::to_owned)
            }
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => {
                Some(whole(number).unwrap_or_else(|| number.to_string()))
            }
            Some(other) => Some(other.to_string()),
        }
    }
}

/// The digits of a number like 7.0.
fn whole(number: &Number) -> Option<String> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() < EXACT).then(|| format!("{float:.0}"))
}

impl FromStr for PairBy {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let error = |what: String| FormError {
            text: text.to_owned(),
            kind: "the path of a value",
            what,
            example: "'$.id' or, if responses have it elsewhere, '$.id = $.request.id'",
        };
        let path = |path: &str| {
            let steps = path.trim().strip_prefix('$');
            let steps = steps.ok_or_else(|| error("a path begins with $".to_owned()))?;
            match pointer(steps).map_err(error)? {
                (pointer, "") if !pointer.is_empty() => Ok(pointer),
                (_, "") => Err(error("a whole message is not a key".to_owned())),
                (_, rest) => Err(error(format!("\"{rest}\" follows the path"))),
            }
        };
        let (request, response) = text.split_once('=').unwrap_or((text, text));
        Ok(Self {
            request: path(request)?,
            response: path(response)?,
            text: text.trim().to_owned(),
        })
    }
}

impl TryFrom<String> for PairBy {
    type Error = FormError;

    fn try_from(text: String) -> Result<Self, FormError> {
        text.parse()
    }
}

impl From<PairBy> for String {
    fn from(pair_by: PairBy) -> Self {
        pair_by.text
    }
}

impl fmt::Display for PairBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_is_of_both_sides_or_of_one() {
        let parsed = |text: &str| text.parse().map(|it: PairBy| (it.request, it.response));
        let both = |request: &str, response: &str| Ok((request.to_owned(), response.to_owned()));
        assert_eq!(parsed("$.id"), both("/id", "/id"));
        let named = parsed("$.id = $.request[\"id\"]");
        assert_eq!(named, both("/id", "/request/id"));
        for (text, what) in [
            ("id", "a path begins with $"),
            ("$", "a whole message is not a key"),
            ("$.id $.id", "\" $.id\" follows the path"),
            ("$.id = ", "a path begins with $"),
        ] {
            let error = text.parse::<PairBy>().unwrap_err();
            assert_eq!(error.what(), what, "{text}");
        }
    }

    #[test]
    fn a_number_and_its_digits_are_one_key() {
        let key = |value: Value| PairBy::key(&json!({ "id": value }), "/id", None);
        let seven = Some("7".to_owned());
        assert_eq!(
            [key(json!(7)), key(json!("7")), key(json!(7.0))],
            [seven.clone(), seven.clone(), seven]
        );
        assert_eq!(key(json!(7.5)), Some("7.5".to_owned()));
        assert_eq!(key(json!(0)), Some("0".to_owned()));
        assert_eq!(
            (key(json!(null)), key(json!([1]))),
            (None, Some("[1]".to_owned()))
        );
        assert_eq!(PairBy::key(&json!({}), "/id", None), None);
    }

    #[test]
    fn a_default_that_protobuf_leaves_out_is_a_key_and_a_message_that_is_absent_is_none() {
        let key = |json: Value| PairBy::key(&json, "/reply/id", Some("0"));
        let default = Some("0".to_owned());
        for reply in [json!({}), json!({"id": 0}), json!({"id": "0"})] {
            assert_eq!(key(json!({ "reply": reply })), default, "{reply}");
        }
        assert_eq!(key(json!({"reply": {"id": "7"}})), Some("7".to_owned()));
        assert_eq!(key(json!({})), None);
        assert_eq!(PairBy::key(&json!({}), "/id", Some("0")), default);
        // The texts "0" and "" are two values of a text.
        let text = |json: Value| PairBy::key(&json, "/id", Some(""));
        assert_ne!(text(json!({"id": "0"})), text(json!({})));
    }
}
