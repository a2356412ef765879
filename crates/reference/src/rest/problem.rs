//! Errors as JSON bodies: problem details (RFC 9457), or Connect's code and message.

use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde_json::{Map, Value, json};

use super::rules::Rules;
use crate::body::ResponseBody;

/// Why a call failed.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
            header: None,
        }
    }

    /// Adds a header, for example one that lists the supported values.
    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    pub(super) fn into_response(self, rules: Rules) -> Response<ResponseBody> {
        let (status, content_type, body) = match rules {
            Rules::Rest => (
                self.status,
                "application/problem+json",
                self.body().to_string(),
            ),
            Rules::Connect => {
                let (status, body) = self.of_connect();
                (status, "application/json", body)
            }
        };
        let mut response = Response::new(ResponseBody::refusal(body.into_bytes()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Some((name, value)) = self.header {
            headers.insert(name, value);
        }
        response
    }

    /// The status and body of a Connect error. An error that has no Connect code, such as an unsupported
    /// method or content type, has an empty body.
    fn of_connect(&self) -> (StatusCode, String) {
        let (code, status) = match self.status {
            StatusCode::BAD_REQUEST => ("invalid_argument", self.status),
            StatusCode::NOT_FOUND | StatusCode::NOT_IMPLEMENTED => {
                ("unimplemented", StatusCode::NOT_IMPLEMENTED)
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => {
                ("deadline_exceeded", StatusCode::GATEWAY_TIMEOUT)
            }
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::SERVICE_UNAVAILABLE => {
                ("resource_exhausted", StatusCode::TOO_MANY_REQUESTS)
            }
            StatusCode::INTERNAL_SERVER_ERROR => ("internal", self.status),
            _ => return (self.status, String::new()),
        };
        let body = json!({"code": code, "message": self.detail});
        (status, body.to_string())
    }

    /// The members of the body. `type` is omitted, so it defaults to `about:blank`, and `title` is the
    /// status's name (RFC 9457, section 4.2.1). `path` is an extension member with the JSON path of the invalid
    /// value.
    fn body(&self) -> Value {
        let mut body = Map::new();
        body.insert("status".into(), self.status.as_u16().into());
        if let Some(title) = self.status.canonical_reason() {
            body.insert("title".into(), title.into());
        }
        if let Some(path) = json_path(&self.detail) {
            body.insert("path".into(), path.into());
        }
        body.insert("detail".into(), self.detail.as_str().into());
        Value::Object(body)
    }
}

/// Extracts the JSON path (`$.items[2].price`) that precedes a colon in an error's text.
fn json_path(detail: &str) -> Option<&str> {
    let start = if detail.starts_with('$') {
        0
    } else {
        detail.find(": $")? + 2
    };
    let path = &detail[start..];
    path.find(": ").map(|end| &path[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_at_fault_is_found() {
        for (detail, want) in [
            (
                "not a shop.Order in json: $.items[2].price: a number is wanted",
                Some("$.items[2].price"),
            ),
            ("$: an object is wanted", Some("$")),
            ("not a shop.Order in json: expected value at line 1", None),
            ("costs: $", None),
            ("", None),
        ] {
            assert_eq!(json_path(detail), want, "{detail}");
        }
    }

    #[test]
    fn a_problem_has_the_members_of_its_rfc() {
        let problem = Problem::new(StatusCode::BAD_REQUEST, "not a X: $.a: wrong");
        let body = problem.body();
        assert_eq!(body["status"], 400);
        assert_eq!(body["title"], "Bad Request");
        assert_eq!(body["path"], "$.a");
        assert_eq!(body["detail"], "not a X: $.a: wrong");
    }
}
