//! Makes a response longer for a size sweep: its outermost lists get more elements or, if they are empty, its strings
//! and bytes get longer. The added content varies like real rows.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{Limits, MessageType, Schema};
use serde_json::Value;

/// Why a response cannot be made longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScaleError {
    /// The response contains nothing that can grow.
    #[error(
        "the response of {0} has no repeated field with elements, and no string or bytes that could \
         vary, so it has only one size; add some to the sample, or leave the sizes out"
    )]
    NothingToRepeat(String),
    /// The reader would refuse the response.
    #[error(
        "the response of {method} at {factor} times its size would be over {limit} bytes as JSON; \
         use smaller sizes, or raise --max-message-bytes"
    )]
    TooLarge {
        /// The method.
        method: String,
        /// The factor by which it should have grown.
        factor: u32,
        /// The maximum size of a message, bytes.
        limit: usize,
    },
    /// The workload's samples do not match its description.
    #[error("{0}")]
    Schema(String),
}

/// Returns the method with a response that is `factor` times as long.
///
/// # Errors
/// There is nothing to repeat, the response would exceed the decoding limit, or the workload's parts do not match.
pub fn response(
    workload: &OwnWorkload,
    factor: u32,
    limits: Limits,
) -> Result<OwnWorkload, ScaleError> {
    if factor == 1 {
        return Ok(workload.clone());
    }
    let factor_bytes = factor as usize;
    let bytes = workload.response.to_string().len();
    let in_lists = outermost_lists(&workload.response)
        .into_iter()
        .flatten()
        .map(|item| item.to_string().len() + 1)
        .sum();
    // Checked before anything is repeated, because a user can choose any factor.
    let repeated = if in_lists == 0 { bytes } else { in_lists };
    let grown = repeated
        .saturating_mul(factor_bytes)
        .saturating_add(bytes.saturating_sub(repeated));
    let limit = limits.max_message_bytes;
    if grown > limit {
        return Err(ScaleError::TooLarge {
            method: workload.method.clone(),
            factor,
            limit,
        });
    }
    let message = response_type(workload)?.from_json(&workload.response.to_string());
    let grown = message.map_err(wrong)?.grown(factor_bytes);
    let response = grown.map_err(wrong)?;
    let response = response.ok_or_else(|| ScaleError::NothingToRepeat(workload.method.clone()))?;
    Ok(OwnWorkload {
        response,
        ..workload.clone()
    })
}

/// What [`response`] makes longer in this method's response; the rest stays unchanged.
pub fn repeated(workload: &OwnWorkload) -> &'static str {
    let mut lists = outermost_lists(&workload.response).into_iter();
    if lists.all(Vec::is_empty) {
        "texts and bytes"
    } else {
        "outermost lists"
    }
}

/// Returns why a response from [`response`] is useless for measuring compression: its rows are equal, and equal rows
/// compress to next to nothing. `None` if they differ.
pub fn alike(workload: &OwnWorkload) -> Option<String> {
    let lists = outermost_lists(&workload.response);
    let are_alike = |list: &&Vec<Value>| list.windows(2).all(|pair| pair[0] == pair[1]);
    let is_long = lists.iter().any(|list| list.len() > 1);
    (is_long && lists.iter().all(are_alike)).then(|| {
        format!(
            "the rows in the response of {} contain nothing that could differ, and equal rows compress to \
             next to nothing; add something to the sample's rows, or leave compression out",
            workload.method
        )
    })
}

fn response_type(workload: &OwnWorkload) -> Result<MessageType, ScaleError> {
    let set = STANDARD.decode(&workload.descriptor_set).map_err(wrong)?;
    let schema = Schema::from_descriptor_set(&set).map_err(wrong)?;
    let method = schema.method(&workload.method).map_err(wrong)?;
    Ok(method.response)
}

fn wrong(problem: impl ToString) -> ScaleError {
    ScaleError::Schema(problem.to_string())
}

/// The lists of a value that are not inside another list.
fn outermost_lists(value: &Value) -> Vec<&Vec<Value>> {
    match value {
        Value::Array(items) => vec![items],
        Value::Object(fields) => fields.values().flat_map(outermost_lists).collect(),
        _ => Vec::new(),
    }
}
