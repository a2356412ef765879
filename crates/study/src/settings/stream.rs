//! How the messages of streaming calls to a live service are exchanged, as its options say.

use std::str::FromStr;

use rpcgauge_trial::{Pace, StreamForm, Streaming, is_default};
use serde::{Deserialize, Serialize};

use crate::pair_by::PairBy;

/// How many messages the client sends in each call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "the number of messages is neither a number nor \"rows\""
)]
pub enum MessageCount {
    /// This many.
    Number(u64),
    /// One for each row of the data file.
    Rows(AllRows),
}

/// The word for [`MessageCount::Rows`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllRows {
    /// `rows`
    Rows,
}

impl FromStr for MessageCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "rows" {
            return Ok(Self::Rows(AllRows::Rows));
        }
        let number: Option<i64> = text.parse().ok();
        let number = number.and_then(|number| u64::try_from(number).ok());
        let number = number.ok_or_else(|| format!("\"{text}\" is neither a number nor \"rows\""));
        number.map(Self::Number)
    }
}

/// The options of streaming calls. The method's descriptor says the rest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct StreamOptions {
    /// Which side streams, if no descriptor says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<StreamForm>,
    /// How many messages the client sends in each call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessageCount>,
    /// When they are due.
    #[serde(skip_serializing_if = "is_default")]
    pub pace: Pace,
    /// After how many received messages a call ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<u64>,
    /// After what time a call ends, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
    /// How long a call waits for a message, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_timeout_ms: Option<u64>,
    /// The value by which responses are paired with messages; `None` if the server responds in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair_by: Option<PairBy>,
}

impl StreamOptions {
    /// The streaming of calls whose descriptor gives this form; `None` for a unary method. `method` is its name, if a
    /// descriptor is known, and `rows` the number of rows in the data file, if that is known.
    ///
    /// # Errors
    /// One line: an option does not fit the method.
    pub fn streaming(
        &self,
        by_descriptor: Option<StreamForm>,
        method: Option<&str>,
        rows: Option<u64>,
    ) -> Result<Option<Streaming>, String> {
        let form = match (self.form, method) {
            (Some(given), Some(method)) if by_descriptor != Some(given) => {
                let is = by_descriptor.map_or("a unary", StreamForm::article_and_name);
                return Err(format!(
                    "{method} is {is} method; leave out its form, \"{}\" (--stream)",
                    given.name()
                ));
            }
            (given, _) => given.or(by_descriptor),
        };
        let Some(form) = form else {
            return match (self.first_option(), method) {
                (None, _) => Ok(None),
                (Some(option), Some(method)) => Err(format!(
                    "{method} is a unary method; leave out \"{option}\", which is for streaming calls"
                )),
                (Some(option), None) => Err(format!(
                    "\"{option}\" is for streaming calls, and nothing says how this one streams; give its form \
                     (--stream)"
                )),
            };
        };
        let wrong = |option: &str, why: &str| {
            let is = form.article_and_name();
            Err(format!(
                "\"{option}\" does not apply to {is} call: {why}; leave it out"
            ))
        };
        if !form.client_streams() {
            let why = "the client sends one message";
            match self.pace {
                Pace::Rate(_) => return wrong("message-rate", why),
                Pace::InTurn(_) => return wrong("in-turn", why),
                Pace::Unpaced => {}
            }
            if self.messages.is_some() {
                return wrong("messages", why);
            }
        }
        if !form.server_streams() {
            let why = "the server sends one message";
            if let Pace::InTurn(_) = self.pace {
                return wrong("in-turn", why);
            }
            if self.receive.is_some() {
                return wrong("receive", why);
            }
            if self.message_timeout_ms.is_some() {
                return wrong("message-timeout", why);
            }
        }
        if self.pair_by.is_some() && form != StreamForm::Bidirectional {
            return wrong("pair-by", "its server does not respond to each message");
        }
        Ok(Some(Streaming {
            messages: match self.messages {
                None if form.client_streams() && self.time_ms.is_some() => None,
                None => Some(1),
                Some(MessageCount::Number(messages)) => Some(messages),
                Some(MessageCount::Rows(AllRows::Rows)) => {
                    let unknown = "\"messages\" is \"rows\", which needs a file of rows (--rows) that are used in turn and fit into memory";
                    Some(rows.ok_or(unknown)?)
                }
            },
            pace: self.pace,
            receive: self.receive,
            time_ms: self.time_ms,
            message_timeout_ms: self.message_timeout_ms,
            ..Streaming::of(form)
        }))
    }

    /// The name of the first option that only streaming calls have, if one is given.
    fn first_option(&self) -> Option<&'static str> {
        match self.pace {
            Pace::Rate(_) => return Some("message-rate"),
            Pace::InTurn(_) => return Some("in-turn"),
            Pace::Unpaced => {}
        }
        [
            ("messages", self.messages.is_some()),
            ("receive", self.receive.is_some()),
            ("call-time", self.time_ms.is_some()),
            ("message-timeout", self.message_timeout_ms.is_some()),
            ("pair-by", self.pair_by.is_some()),
        ]
        .into_iter()
        .find_map(|(name, given)| given.then_some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHOD: &str = "a.B/C";

    fn refused(options: StreamOptions, form: Option<StreamForm>) -> String {
        let method = Some(METHOD).filter(|_| options.form.is_none() || form.is_some());
        options.streaming(form, method, None).unwrap_err()
    }

    #[test]
    fn what_a_method_does_not_have_is_named() {
        let messages = StreamOptions {
            messages: Some(MessageCount::Number(3)),
            ..StreamOptions::default()
        };
        let receive = StreamOptions {
            receive: Some(3),
            ..StreamOptions::default()
        };
        let client = StreamOptions {
            form: Some(StreamForm::Client),
            ..StreamOptions::default()
        };
        let table = [
            (
                messages.clone(),
                None,
                "a.B/C is a unary method; leave out \"messages\", which is for streaming calls",
            ),
            (
                messages.clone(),
                Some(StreamForm::Server),
                "\"messages\" does not apply to a server-streaming call: the client sends one message; leave it out",
            ),
            (
                receive,
                Some(StreamForm::Client),
                "\"receive\" does not apply to a client-streaming call: the server sends one message; leave it out",
            ),
            (
                client,
                Some(StreamForm::Server),
                "a.B/C is a server-streaming method; leave out its form, \"client\" (--stream)",
            ),
        ];
        for (options, form, expected) in table {
            assert_eq!(refused(options, form), expected);
        }
        assert_eq!(
            messages.streaming(None, None, None).unwrap_err(),
            "\"messages\" is for streaming calls, and nothing says how this one streams; give its form (--stream)"
        );
        assert_eq!(
            StreamOptions::default().streaming(None, None, None),
            Ok(None)
        );
    }

    #[test]
    fn a_client_stream_has_one_message_or_one_for_each_row_or_as_many_as_fit() {
        let form = Some(StreamForm::Bidirectional);
        let messages = |options: StreamOptions| {
            let streaming = options.streaming(form, Some(METHOD), Some(7));
            streaming.unwrap().unwrap().messages
        };
        assert_eq!(messages(StreamOptions::default()), Some(1));
        let timed = StreamOptions {
            time_ms: Some(1_000),
            ..StreamOptions::default()
        };
        assert_eq!(messages(timed), None);
        let each_row = StreamOptions {
            messages: Some(MessageCount::Rows(AllRows::Rows)),
            ..StreamOptions::default()
        };
        assert_eq!(messages(each_row.clone()), Some(7));
        assert_eq!(
            refused(each_row, form),
            "\"messages\" is \"rows\", which needs a file of rows (--rows) that are used in turn and fit into memory"
        );
    }
}
