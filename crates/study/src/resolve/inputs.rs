//! What calls to live services are made of and a plan must not hold: header values, message texts. They
//! stand beside the plan.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rpcgauge_message::Schema;
use toml::Spanned;

use super::Resolver;
use super::loader::{LoadError, SchemaSource, text};
use crate::error::StudyError;
use crate::file::ServiceWritten;
use crate::plan::Plan;
use crate::settings::TemplateSource;
use crate::url::Url;

/// A plan, and what calls to its live services are made of.
#[derive(Debug)]
pub struct Resolved {
    /// What will be done.
    pub plan: Plan,
    /// By the names of variants; of a control, that of the variant that it repeats.
    pub services: BTreeMap<String, ServiceInputs>,
}

/// What calls to a live service are made of beside its settings. It may hold secrets, so no plan and no
/// record has it.
#[derive(Clone)]
pub struct ServiceInputs {
    /// Header fields, or gRPC metadata.
    pub headers: Vec<(String, String)>,
    /// The text that every message is made of.
    pub template: Option<Arc<Template>>,
    /// The type of messages, where files describe it.
    pub schema: Option<Schema>,
}

/// The text of messages.
pub struct Template {
    /// With placeholders.
    pub text: String,
    /// The file that it was read from, `-` for standard input.
    pub path: Option<PathBuf>,
}

impl fmt::Debug for ServiceInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceInputs").finish_non_exhaustive()
    }
}

impl Template {
    /// As the plan keeps it.
    pub(super) fn source(&self) -> TemplateSource {
        let hash = digest(&SHA256, self.text.as_bytes());
        TemplateSource {
            path: self.path.clone(),
            bytes: self.text.len() as u64,
            sha256: hash.as_ref().iter().map(|b| format!("{b:02x}")).collect(),
        }
    }
}

/// What was read once for all variants.
#[derive(Default)]
pub(super) struct Read {
    templates: Vec<(String, Arc<Template>)>,
    schemas: Vec<(SchemaSource, Schema)>,
    pub(super) inputs: BTreeMap<String, ServiceInputs>,
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
            let value = header.filled(|name| match calls_nothing {
                true => Some(String::new()),
                false => self.context.loader.variable(name),
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
        })
    }

    /// The text of `data`, read once for all variants.
    fn template(
        &mut self,
        data: &Spanned<String>,
        written: &ServiceWritten,
    ) -> Result<Arc<Template>, StudyError> {
        let known = self.services.templates.iter();
        if let Some((_, template)) = known.into_iter().find(|(known, _)| known == data.get_ref()) {
            return Ok(Arc::clone(template));
        }
        let wrong = |message: &str| Err(self.source.error(data.span(), message));
        let path = data.get_ref().strip_prefix('@');
        let is_stdin = |path: Option<&str>| path == Some("-");
        if path == Some("") {
            return wrong("@ names no file; write @FILE, or @- for standard input");
        }
        if is_stdin(path) && is_stdin(written.rows.as_ref().map(|rows| rows.get_ref().as_str())) {
            return wrong(
                "\"data\" and \"rows\" cannot both read standard input; give one of them a file",
            );
        }
        let path = path.map(|path| self.context.loader.path(path));
        let text = match &path {
            None => Ok(data.get_ref().clone()),
            Some(path) => text("data", path),
        };
        let text = text.map_err(|error| self.source.error(data.span(), error.message))?;
        let template = Arc::new(Template { text, path });
        let read = (data.get_ref().clone(), Arc::clone(&template));
        self.services.templates.push(read);
        Ok(template)
    }

    /// The description of messages, compiled once for all variants.
    fn described(&mut self, written: &ServiceWritten) -> Result<Option<Schema>, StudyError> {
        let source = self.schema_of(written);
        let set = written.descriptor_set.as_ref();
        let place = match (&written.proto, set) {
            (None, None) => return Ok(None),
            (Some(proto), _) => proto.span(),
            (None, Some(set)) => set.span(),
        };
        if let Some((_, schema)) = self
            .services
            .schemas
            .iter()
            .find(|(known, _)| *known == source)
        {
            return Ok(Some(schema.clone()));
        }
        let read = source.read();
        let schema = read.map_err(|LoadError { message, .. }| self.source.error(place, message))?;
        self.services.schemas.push((source, schema.clone()));
        Ok(Some(schema))
    }

    /// What was read of the services, by the names of variants.
    pub(super) fn take_inputs(&mut self) -> BTreeMap<String, ServiceInputs> {
        std::mem::take(&mut self.services.inputs)
    }
}
