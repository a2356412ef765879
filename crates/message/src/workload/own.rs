//! A user's own method, served and called with dynamic code.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{OwnWorkload, Parts, Requests, Workload, WorkloadError};
use crate::error::SampleError;
use crate::message::MessageType;
use crate::schema::{Schema, SchemaError};
use crate::whole_file::without_mark;

impl OwnWorkload {
    /// Creates the workload from a schema's method and two samples in the proto3 JSON mapping.
    ///
    /// # Errors
    /// If the method does not exist, or if a sample does not fit. An error in a sample includes its JSON path.
    pub fn new(
        schema: &Schema,
        method: &str,
        request: &str,
        response: &str,
    ) -> Result<Self, WorkloadError> {
        let found = schema.method(method)?;
        let request = Self::sample(&found.request, request);
        let response = Self::sample(&found.response, response);
        Ok(Self {
            descriptor_set: STANDARD.encode(schema.descriptor_set()),
            method: found.name,
            request: request.map_err(wrong_sample("request"))?,
            response: response.map_err(wrong_sample("response"))?,
        })
    }

    /// Parses a sample of a message for a workload.
    ///
    /// # Errors
    /// If the text does not fit the message type, is nested too deeply for the JSON of a plan or settings line,
    /// or contains something that JSON loses.
    pub fn sample(message_type: &MessageType, json: &str) -> Result<Value, SampleError> {
        let message = message_type.from_json(json)?;
        if let Some(path) = message.lost_in_json() {
            let what = "extensions inside a google.protobuf.Any are not supported".to_owned();
            return Err(SampleError::At { path, what });
        }
        serde_json::from_str(without_mark(json))
            .ok()
            .filter(|value| levels(value) <= MAX_SAMPLE_DEPTH)
            .ok_or(SampleError::TooNested(MAX_SAMPLE_DEPTH))
    }
}

/// The maximum nesting depth of a sample's objects and lists. JSON readers stop at 128 levels, and a plan wraps
/// the sample in a few more.
const MAX_SAMPLE_DEPTH: usize = 112;

fn levels(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

/// A user's own method, which always uses the same request and the same response.
pub(super) fn own(spec: &OwnWorkload) -> Result<Workload, WorkloadError> {
    let schema = schema(&spec.descriptor_set)?;
    let method = schema.method(&spec.method)?;
    let request = method.request.from_json(&spec.request.to_string());
    let request = request.map_err(wrong_sample("request"))?;
    let response = method.response.from_json(&spec.response.to_string());
    let response = response.map_err(wrong_sample("response"))?;
    let path = format!("/{}", method.name);
    Ok(Workload(Arc::new(Parts {
        schema,
        methods: vec![(method.kind, path.clone())],
        rest_path: path,
        request_type: method.request,
        response_type: method.response,
        requests: Requests::Same(request),
        respond: Box::new(move |_, _| Ok(response.clone())),
    })))
}

fn wrong_sample(which: &str) -> impl Fn(SampleError) -> WorkloadError {
    move |error| WorkloadError(format!("{which} sample: {error}"))
}

/// Reads the schema from a base64-encoded descriptor set.
pub(super) fn schema(descriptor_set: &str) -> Result<Schema, WorkloadError> {
    let set = STANDARD
        .decode(descriptor_set)
        .map_err(|e| WorkloadError(format!("the descriptor set is not base64: {e}")))?;
    Ok(Schema::from_descriptor_set(&set)?)
}

impl From<SchemaError> for WorkloadError {
    fn from(error: SchemaError) -> Self {
        Self(error.to_string())
    }
}
