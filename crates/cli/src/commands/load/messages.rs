//! What a load sends: a template, rows, and what they are messages of.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rpcgauge_lab::live::Texts;
use rpcgauge_message::data::{Data, DataError, Form, Order, RowFormat, Rows};
use rpcgauge_message::{MessageType, Schema};
use rpcgauge_study::live;
use rpcgauge_study::plan::{Plan, Variant};
use rpcgauge_study::settings::{Messages, RowOrder, RowsSource, TemplateSource};
use rpcgauge_study::target::Target;

use crate::args::{self, DataArgs, LoadArgs};
use crate::exit::Failure;
use crate::inputs;

/// What `--data` gives.
pub(super) struct Template {
    text: String,
    /// The file that it was read from.
    path: Option<PathBuf>,
}

impl Template {
    /// Reads what `--data` gives, if it does.
    pub(super) fn read(args: &DataArgs) -> Result<Option<Self>, Failure> {
        let Some(data) = &args.data else {
            return Ok(None);
        };
        let path = data.strip_prefix('@').map(PathBuf::from);
        if path.as_deref() == Some(Path::new("")) {
            return Err(Failure::input(
                "--data @ names no file; write @FILE, or @- for standard input",
            ));
        }
        let stdin = Some(Path::new("-"));
        if path.as_deref() == stdin && args.rows.as_deref() == stdin {
            return Err(Failure::input(
                "--data @- and --rows - cannot both read standard input; give one of them a file",
            ));
        }
        let text = match &path {
            Some(path) => inputs::text(path)?,
            None => data.clone(),
        };
        Ok(Some(Self { text, path }))
    }

    fn name(&self) -> String {
        match &self.path {
            Some(path) => format!("--data @{}", path.display()),
            None => "--data".to_owned(),
        }
    }

    /// As the plan keeps it: the text may be a secret.
    fn source(&self) -> TemplateSource {
        let hash = digest(&SHA256, self.text.as_bytes());
        TemplateSource {
            path: self.path.clone(),
            bytes: self.text.len() as u64,
            sha256: hash.as_ref().iter().map(|b| format!("{b:02x}")).collect(),
        }
    }
}

/// What is sent, as the plan keeps it.
pub(super) fn messages(args: &LoadArgs, template: Option<&Template>) -> Messages {
    let rows = args.data.rows.clone().map(|path| RowsSource {
        path,
        order: match args.data.order {
            args::Order::InTurn => RowOrder::InTurn,
            args::Order::Random => RowOrder::Random,
        },
    });
    let schema = &args.schema;
    Messages {
        template: template.map(Template::source),
        rows,
        schema: schema
            .proto
            .iter()
            .chain(&schema.descriptor_set)
            .cloned()
            .collect(),
    }
}

/// The texts of all calls with the name of where they come from.
pub(super) struct Source {
    data: Arc<Data>,
    name: String,
}

pub(super) fn data(
    args: &LoadArgs,
    template: Option<Template>,
    plan: &Plan,
) -> Result<Option<Source>, Failure> {
    let rows = &args.data.rows;
    let rows_read = rows.as_deref().map(read_rows).transpose()?;
    let name = match (&template, rows) {
        (None, None) => return Ok(None),
        (Some(template), None) => template.name(),
        (None, Some(rows)) => inputs::name(rows),
        (Some(template), Some(rows)) => format!("{} with {}", template.name(), inputs::name(rows)),
    };
    let order = match args.data.order {
        args::Order::InTurn => Order::InTurn,
        args::Order::Random => Order::Random,
    };
    let text = template.as_ref().map(|template| &*template.text);
    let data = Data::new(text, rows_read, form(args), order, plan.seed);
    let data = data.map_err(|error| {
        // A mistake in a row is in its file, any other in the template.
        let place = match (&error, rows, &template) {
            (
                DataError::Row { .. } | DataError::NoRows | DataError::Unreadable { .. },
                Some(rows),
                _,
            ) => inputs::name(rows),
            (.., Some(template)) => template.name(),
            (.., None) => name.clone(),
        };
        Failure::input(format!("{place}: {error}"))
    })?;
    Ok(Some(Source {
        data: Arc::new(data),
        name,
    }))
}

/// Each target, with the header fields that are its own.
fn targets(args: &LoadArgs) -> impl Iterator<Item = (&Target, &[(String, String)])> {
    let versus = args.vs.iter().map(|target| (target, &args.vs_header[..]));
    std::iter::once((&args.target, &args.service.header[..])).chain(versus)
}

/// Whether any of the targets is called by gRPC.
fn is_grpc(args: &LoadArgs) -> bool {
    targets(args).any(|(target, _)| target.scheme.is_grpc())
}

/// Whether texts are JSON: always for gRPC, and for HTTP unless its content type says otherwise.
fn form(args: &LoadArgs) -> Form {
    let is_plain = |(target, headers): (&Target, &[(String, String)])| {
        let mut fields = headers.iter();
        let named = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        !target.scheme.is_grpc() && named.is_some_and(|(_, value)| !value.contains("json"))
    };
    match targets(args).all(is_plain) {
        true => Form::Plain,
        false => Form::Json,
    }
}

/// Rows of a file that fits into memory are all read now, those of a larger one as calls need them.
fn read_rows(path: &Path) -> Result<Rows, Failure> {
    let format = match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => RowFormat::Csv,
        Some("jsonl" | "ndjson") => RowFormat::JsonLines,
        None if path == Path::new("-") => RowFormat::JsonLines,
        _ => {
            return Err(Failure::input(format!(
                "--rows {}: is it CSV or JSON lines? Name it .csv, .jsonl or .ndjson",
                path.display()
            )));
        }
    };
    let rows = match inputs::is_larger_than_memory(path) {
        true => Rows::in_file(path, format),
        false => Rows::in_memory(inputs::text(path)?.as_bytes(), format),
    };
    rows.map_err(|error| Failure::input(format!("{}: {error}", inputs::name(path))))
}

/// The user's description of gRPC messages.
pub(super) fn schema(args: &LoadArgs) -> Result<Option<Schema>, Failure> {
    match (is_grpc(args), args.schema.is_empty()) {
        (_, true) => Ok(None),
        (false, false) => Err(Failure::input(
            "--proto and --descriptor-set describe gRPC messages, and this target is called by HTTP, \
             where bodies are sent as they are given; leave them out",
        )),
        (true, false) => inputs::schema(&args.schema).map(Some),
    }
}

/// The texts of one variant's calls.
pub(super) fn texts(
    variant: &Variant,
    source: Option<&Source>,
    schema: Option<&Schema>,
) -> Result<Option<Texts>, Failure> {
    let service = variant.settings.callee.live();
    let method = service.and_then(|service| service.target.method());
    let message_type: Option<MessageType> = match (schema, method) {
        (Some(schema), Some(method)) => {
            let option = match variant.name == live::VS {
                true => "--vs: ",
                false => "",
            };
            let method = schema.method(method);
            Some(
                method
                    .map_err(|error| Failure::input(format!("{option}{error}")))?
                    .request,
            )
        }
        _ => None,
    };
    Ok(source.map(|source| Texts {
        data: Arc::clone(&source.data),
        message_type,
        source: source.name.clone(),
    }))
}
