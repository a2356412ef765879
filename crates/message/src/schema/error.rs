//! What can be wrong with a schema.

/// A schema that cannot be had, or does not have what was asked for. One line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(pub(crate) String);
