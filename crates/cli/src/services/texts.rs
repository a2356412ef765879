//! The texts of a service's calls: from a template, from rows, or both.

use std::path::Path;
use std::sync::Arc;

use rpcgauge_message::data::{Data, DataError, Form, Order, RowFormat, Rows};
use rpcgauge_study::resolve::inputs::{ServiceInputs, Template};
use rpcgauge_study::settings::{LiveService, Messages};

use crate::exit::Failure;
use crate::inputs;

/// The texts of all calls, and a name for their source.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) data: Arc<Data>,
    pub(super) name: String,
}

/// What determines the texts of calls: their seed, messages, their form, and header fields with placeholders.
pub(super) type SourceKey<'r> = (u64, Messages, Form, Vec<&'r (String, String)>);

/// The texts of calls, which are read once for all calls with the same texts.
pub(super) fn shared_source<'r>(
    read: &mut Vec<(SourceKey<'r>, Source)>,
    service: &LiveService,
    inputs: &'r ServiceInputs,
    seed: u64,
) -> Result<Option<Source>, Failure> {
    let form = form(service, inputs);
    let fields = inputs.headers_with_placeholders(true).collect();
    let key = (seed, service.messages.clone(), form, fields);
    if let Some((_, source)) = read.iter().find(|(known, _)| *known == key) {
        return Ok(Some(source.clone()));
    }
    let data = source(service, inputs, form, seed)?;
    read.extend(data.clone().map(|data| (key, data)));
    Ok(data)
}

fn source(
    service: &LiveService,
    inputs: &ServiceInputs,
    form: Form,
    seed: u64,
) -> Result<Option<Source>, Failure> {
    let (template, rows) = (&inputs.template, &service.messages.rows);
    let of_template = |template: &Template| match &template.path {
        Some(path) => inputs::name(path),
        None => "data".to_owned(),
    };
    let rows_name = || rows.as_ref().map(|rows| inputs::name(&rows.path));
    let mut fields = inputs.headers_with_placeholders(true).peekable();
    let name = match (template, rows_name()) {
        (None, None) if fields.peek().is_none() => return Ok(None),
        (None, None) => "headers".to_owned(),
        (Some(template), None) => of_template(template),
        (None, Some(rows)) => rows,
        (Some(template), Some(rows)) => format!("{} with {rows}", of_template(template)),
    };
    let rows_read = rows.as_ref().map(|rows| read_rows(&rows.path));
    let order = rows.as_ref().map_or(Order::InTurn, |rows| rows.order);
    let text = template.as_ref().map(|template| &*template.text);
    let data = match (text, rows_read.transpose()?) {
        (None, None) => Ok(Data::without_text(seed)),
        (text, rows) => Data::new(text, rows, form, order, seed),
    };
    let mut data = data.map_err(|error| {
        // An error in a row belongs to the rows' file, any other error to the template.
        let in_row = matches!(
            error,
            DataError::Row { .. } | DataError::NoRows | DataError::Unreadable { .. }
        );
        let place = match (rows_name().filter(|_| in_row), template) {
            (Some(rows), _) => rows,
            (None, Some(template)) => of_template(template),
            (None, None) => name.clone(),
        };
        Failure::input(format!("{place}: {error}"))
    })?;
    for (name, value) in fields {
        data = data
            .with_field(value)
            .map_err(|error| Failure::input(format!("header '{name}: …': {error}")))?;
    }
    Ok(Some(Source {
        data: Arc::new(data),
        name,
    }))
}

/// The form of the texts: JSON for gRPC, and for HTTP unless the content type is something else.
fn form(service: &LiveService, inputs: &ServiceInputs) -> Form {
    let mut fields = inputs.headers.iter();
    let named = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    match named {
        Some((_, value)) if !service.url.scheme.is_grpc() && !value.contains("json") => Form::Plain,
        _ => Form::Json,
    }
}

/// Reads all rows now if the file fits into memory. Otherwise rows are read when calls need them.
fn read_rows(path: &Path) -> Result<Rows, Failure> {
    let format = match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => RowFormat::Csv,
        Some("jsonl" | "ndjson") => RowFormat::JsonLines,
        None if path == Path::new("-") => RowFormat::JsonLines,
        _ => {
            return Err(Failure::input(format!(
                "{}: it is not clear whether these rows are CSV or JSON lines; name the file .csv, .jsonl or .ndjson",
                inputs::name(path)
            )));
        }
    };
    let rows = if inputs::is_larger_than_memory(path) {
        Rows::in_file(path, format)
    } else {
        Rows::in_memory(inputs::text(path)?.as_bytes(), format)
    };
    rows.map_err(|error| Failure::input(format!("{}: {error}", inputs::name(path))))
}
