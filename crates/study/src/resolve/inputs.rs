//! The inputs of calls to live services that must not be part of a plan: header values and message texts.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rpcgauge_message::Schema;
use toml::Spanned;

use super::loader::{SchemaSource, text};
use super::{Resolver, once};
use crate::error::StudyError;
use crate::file::ServiceWritten;
use crate::plan::Plan;
use crate::read::place;
use crate::settings::TemplateSource;
use crate::url::Url;

/// A plan, and the inputs of calls to its live services.
#[derive(Debug)]
pub struct Resolved {
    /// The plan.
    pub plan: Plan,
    /// By variant name, for each of its different calls ([`crate::settings::LiveCall::each_call`]); a control uses the entry of the
    /// variant that it repeats.
    pub services: BTreeMap<String, Vec<ServiceInputs>>,
}

/// The inputs of calls to a live service besides its settings. They may contain secrets, so no plan or record contains
/// them.
#[derive(Clone)]
pub struct ServiceInputs {
    /// Header fields, or gRPC metadata. Their values may have placeholders.
    pub headers: Vec<(String, String)>,
    /// The text that every message is built from.
    pub template: Option<Arc<Template>>,
    /// The types of messages, if files describe them.
    pub schema: Option<Schema>,
    /// Whether the study sets the number of connections. Otherwise, there can be more.
    pub sets_connections: bool,
}

/// The text of messages.
pub struct Template {
    /// The text, with placeholders.
    pub text: String,
    /// The file that it was read from, or `-` for standard input.
    pub path: Option<PathBuf>,
}

impl ServiceInputs {
    /// The header fields whose values have placeholders, or the others.
    pub fn headers_with_placeholders(&self, with: bool) -> impl Iterator<Item = &(String, String)> {
        let all = self.headers.iter();
        all.filter(move |(_, value)| value.contains("{{") == with)
    }
}

impl fmt::Debug for ServiceInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceInputs").finish_non_exhaustive()
    }
}

impl Template {
    /// What the plan records about it.
    pub(super) fn source(&self) -> TemplateSource {
        let hash = digest(&SHA256, self.text.as_bytes());
        TemplateSource {
            path: self.path.clone(),
            bytes: self.text.len() as u64,
            sha256: hash.as_ref().iter().map(|b| format!("{b:02x}")).collect(),
        }
    }
}

impl Resolver<'_> {
    pub(super) fn service_inputs(
        &mut self,
        written: &ServiceWritten,
        target: &Url,
    ) -> Result<ServiceInputs, StudyError> {
        let calls_nothing = self.context.overrides.calls_nothing;
        let mut headers = Vec::new();
        for field in written.headers.iter().flatten() {
            let header = field.get_ref();
            let value = header.filled(|name| {
                if calls_nothing {
                    Some(String::new())
                } else {
                    self.context.loader.variable(name)
                }
            });
            let value = value.map_err(|name| {
                let message = format!("the environment variable \"{name}\" is not set");
                self.source.error(field.span(), message)
            })?;
            headers.push((header.name.clone(), value));
        }
        let is_read = |data: &&Spanned<String>| !(calls_nothing && data.get_ref() == "@-");
        let template = written.data.as_ref().filter(is_read);
        let template = template
            .map(|data| self.template(data, written))
            .transpose()?;
        let schema = match target.method() {
            Some(_) => self.described(written)?,
            None => None,
        };
        Ok(ServiceInputs {
            headers,
            template,
            schema,
            sets_connections: false,
        })
    }

    /// The text of `data`, read once for all variants.
    fn template(
        &mut self,
        data: &Spanned<String>,
        written: &ServiceWritten,
    ) -> Result<Arc<Template>, StudyError> {
        let loader = self.context.loader;
        let read = |data: &String| {
            let path = data.strip_prefix('@');
            let is_stdin = |path: Option<&str>| path == Some("-");
            if path == Some("") {
                return Err("@ names no file; write @FILE, or @- for standard input".to_owned());
            }
            let rows = written.rows.as_ref().map(|rows| rows.get_ref().as_str());
            if is_stdin(path) && is_stdin(rows) {
                let message = "\"data\" and \"rows\" cannot both read standard input; give one of them a file";
                return Err(message.to_owned());
            }
            let path = path.map(|path| loader.path(path));
            let text = match &path {
                None => data.clone(),
                Some(path) => text("data", path).map_err(|error| error.message)?,
            };
            Ok(Arc::new(Template { text, path }))
        };
        let template = once(&mut self.templates, data.get_ref().clone(), read);
        template.map_err(|message| self.source.error(data.span(), message))
    }

    /// The description of messages, compiled once for all variants.
    fn described(&mut self, written: &ServiceWritten) -> Result<Option<Schema>, StudyError> {
        let Some(place) = place(&written.proto).or_else(|| place(&written.descriptor_set)) else {
            return Ok(None);
        };
        let source = self.schema_of(written);
        let schema = once(&mut self.schemas, source, SchemaSource::read);
        let schema = schema.map_err(|error| self.source.error(place, error.message))?;
        Ok(Some(schema))
    }
}
