//! What is sent: descriptors from .proto files or a descriptor set, samples, encodings,
//! compression, and the built-in workloads.

pub mod compression;
pub mod contract;
pub mod encoding;
pub mod workload;

pub use compression::Compression;
pub use encoding::Encoding;
