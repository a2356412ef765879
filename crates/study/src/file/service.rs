//! `[service]`: a live service and the messages to send to it. The keys are named after the options of `rpcgauge load`.

use std::ops::Range;

use rpcgauge_message::data::Order;
use rpcgauge_trial::StreamForm;
use serde::Deserialize;
use toml::Spanned;

use super::part::Name;
use super::workload::Paths;
use crate::error::StudyError;
use crate::expectation::Expectation;
use crate::pair_by::PairBy;
use crate::read::{Line, PathText, Table, Time, place};
use crate::settings::{AtEnd, LbStrategy, MessageCount};
use crate::url::Url;

/// A live service as written in one table. Paths are relative to the study file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ServiceWritten {
    pub(crate) target: Option<Spanned<UrlWritten>>,
    pub(crate) command: Option<Spanned<Line>>,
    pub(crate) ready_within: Option<Spanned<Time>>,
    pub(crate) unix_socket: Option<Spanned<PathText>>,
    pub(crate) method: Option<Spanned<Line>>,
    pub(crate) http_method: Option<Spanned<Line>>,
    pub(crate) headers: Option<Vec<Spanned<HeaderWritten>>>,
    pub(crate) cacert: Option<Spanned<PathText>>,
    pub(crate) cert: Option<Spanned<PathText>>,
    pub(crate) key: Option<Spanned<PathText>>,
    pub(crate) server_name: Option<Spanned<Line>>,
    pub(crate) insecure: Option<Spanned<bool>>,
    pub(crate) allow_missing_alpn: Option<Spanned<bool>>,
    pub(crate) data: Option<Spanned<String>>,
    pub(crate) rows: Option<Spanned<PathText>>,
    pub(crate) order: Option<Spanned<Order>>,
    pub(crate) proto: Option<Spanned<Paths>>,
    pub(crate) include: Option<Spanned<Paths>>,
    pub(crate) descriptor_set: Option<Spanned<PathText>>,
    pub(crate) expect: Option<Vec<Spanned<Expectation>>>,
    pub(crate) stream: Option<StreamWritten>,
    pub(crate) at_end: Option<Spanned<AtEnd>>,
    pub(crate) max_requests: Option<Spanned<u64>>,
    pub(crate) keepalive: Option<Spanned<Time>>,
    pub(crate) keepalive_timeout: Option<Spanned<Time>>,
    pub(crate) lb_strategy: Option<Spanned<LbStrategy>>,
    pub(crate) calls: Option<Spanned<Vec<Spanned<CallWritten>>>>,
}

/// How the messages of streaming calls are exchanged, as written.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct StreamWritten {
    pub(crate) form: Option<Spanned<StreamForm>>,
    pub(crate) messages: Option<Spanned<MessageCount>>,
    pub(crate) message_rate: Option<Spanned<f64>>,
    pub(crate) in_turn: Option<Spanned<bool>>,
    pub(crate) think_time: Option<Spanned<Time>>,
    pub(crate) receive: Option<Spanned<u64>>,
    pub(crate) call_time: Option<Spanned<Time>>,
    pub(crate) message_timeout: Option<Spanned<Time>>,
    pub(crate) pair_by: Option<Spanned<PairBy>>,
}

/// A call of a mix as written. What it leaves out, it takes from the service.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct CallWritten {
    pub(crate) name: Spanned<Name>,
    pub(crate) weight: Option<Spanned<u32>>,
    pub(crate) path: Option<Spanned<Line>>,
    pub(crate) method: Option<Spanned<Line>>,
    pub(crate) http_method: Option<Spanned<Line>>,
    pub(crate) headers: Option<Vec<Spanned<HeaderWritten>>>,
    pub(crate) data: Option<Spanned<String>>,
    pub(crate) rows: Option<Spanned<PathText>>,
    pub(crate) order: Option<Spanned<Order>>,
    pub(crate) expect: Option<Vec<Spanned<Expectation>>>,
}

impl CallWritten {
    /// The keys of a service that makes only this call.
    pub(crate) fn over(self, service: &ServiceWritten) -> ServiceWritten {
        let own = ServiceWritten {
            method: self.method,
            http_method: self.http_method,
            headers: self.headers,
            data: self.data,
            rows: self.rows,
            order: self.order,
            expect: self.expect,
            ..ServiceWritten::default()
        };
        own.over(service)
    }
}

/// A target's URL.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct UrlWritten(pub(crate) Url);

impl TryFrom<String> for UrlWritten {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map(Self).map_err(|error| format!("{error}"))
    }
}

/// A header field, `name: value`. `$NAME` in a value stands for that environment variable, so that a
/// study need not contain secrets.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct HeaderWritten {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl std::fmt::Debug for HeaderWritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: …", self.name)
    }
}

impl TryFrom<String> for HeaderWritten {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (name, value) = parse_header(&text)?;
        Ok(Self { name, value })
    }
}

impl HeaderWritten {
    /// Returns the value with each `$NAME` replaced by what `variable` returns, or the first name for which it
    /// returns `None`.
    pub(crate) fn filled(&self, variable: impl Fn(&str) -> Option<String>) -> Result<String, &str> {
        let mut parts = self.value.split('$');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = part.find(|c| !is_plain(c)).unwrap_or(part.len());
            match part.split_at(end) {
                ("", rest) => {
                    filled.push('$');
                    filled += rest;
                }
                (name, rest) => {
                    filled += &variable(name).ok_or(name)?;
                    filled += rest;
                }
            }
        }
        Ok(filled)
    }
}

/// Parses a header field, `name: value`. The error does not show the value, which may be a secret.
pub fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or("a header field is written as 'name: value'")?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() {
        return Err("a header field needs a name, as in 'name: value'".to_owned());
    }
    if name.contains("{{") {
        return Err(
            "placeholders are filled in the value of a header field, not in its name".to_owned(),
        );
    }
    Ok((name.to_owned(), value.to_owned()))
}

impl ServiceWritten {
    /// Reads the `service` of a table.
    pub(super) fn read(table: &mut Table<'_>) -> Result<Option<Self>, StudyError> {
        let table = table.table("service")?;
        table.map(Table::rest).transpose()
    }

    /// Returns this table with each missing key filled in from the table of an outer layer.
    pub(crate) fn over(self, outer: &Self) -> Self {
        macro_rules! merged {
            ($($key:ident),*) => { Self { $($key: self.$key.or_else(|| outer.$key.clone())),* } };
        }
        merged!(
            target,
            command,
            ready_within,
            unix_socket,
            method,
            http_method,
            headers,
            cacert,
            cert,
            key,
            server_name,
            insecure,
            allow_missing_alpn,
            data,
            rows,
            order,
            proto,
            include,
            descriptor_set,
            expect,
            stream,
            at_end,
            max_requests,
            keepalive,
            keepalive_timeout,
            lb_strategy,
            calls
        )
    }

    /// The position of the first TLS key that is set.
    pub(crate) fn tls(&self) -> Option<Range<usize>> {
        let files = [&self.cacert, &self.cert, &self.key];
        let file = files.into_iter().find_map(place);
        file.or_else(|| place(&self.server_name))
            .or_else(|| place(&self.insecure))
            .or_else(|| place(&self.allow_missing_alpn))
    }
}
