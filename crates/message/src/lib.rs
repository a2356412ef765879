//! Messages: descriptors from .proto files or a descriptor set, samples, encodings, compression, and the
//! built-in workloads.
//!
//! A [`Schema`] contains [`MessageType`]s and [`Method`]s. A [`MessageType`] reads a [`Message`] from a sample
//! or from bytes, and a [`Codec`] encodes and decodes messages in separate stages. A [`Workload`] combines
//! these: the method to call, its requests, and the expected responses. The choice of protobuf library is
//! private to this crate.

pub mod codec;
pub mod compress;
pub mod compression;
pub mod content_type;
pub mod data;
pub mod diff;
pub mod encoding;
pub mod error;
mod format;
mod generated;
mod grow;
pub mod limits;
mod mapping;
pub mod message;
pub mod nearest;
mod path;
mod random;
pub mod reflection;
pub mod schema;
pub mod whole_file;
pub mod workload;

pub use codec::{Codec, SizeRow, sizes};
pub use compress::{Compressor, Decompressor};
pub use compression::Compression;
pub use diff::{Difference, first_difference};
pub use encoding::Encoding;
pub use error::{DecodeError, EncodeError, SampleError};
pub use limits::{BrokenLimit, Limits};
pub use message::{Message, MessageType};
pub use path::{position, without_position};
pub use rpcgauge_trial::CodeKind;
pub use schema::{Method, MethodKind, Schema, SchemaError};
pub use workload::{OverLimit, Sample, Workload, WorkloadError, WorkloadSpec};
