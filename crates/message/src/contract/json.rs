//! A value of a line that is kept as it was written. It may be a message of many megabytes: a tree of it
//! would take longer to make than the message itself.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One JSON value as text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JsonText(pub(super) Box<RawValue>);

impl JsonText {
    /// Takes text that is one JSON value. Line feeds, which in JSON are white space, would end the line.
    ///
    /// # Errors
    /// It is not.
    pub fn new(text: String) -> Result<Self, serde_json::Error> {
        let text = match text.contains('\n') {
            true => text.replace('\n', " "),
            false => text,
        };
        RawValue::from_string(text).map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}
