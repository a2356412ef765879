//! Message types and methods, from .proto files or from a compiled descriptor set.

mod compile;
mod default_value;
mod error;
mod external;
pub(crate) mod file_name;
mod includes;
pub(crate) mod json_names;
pub(crate) mod names;
mod sources;
pub(crate) mod types;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use buffa::encoding::{Tag, WireType};
use buffa::types::encode_bytes;
use buffa_descriptor::generated::descriptor::FileDescriptorProto;
use buffa_descriptor::{DescriptorPool, MethodDescriptor};

pub use error::SchemaError;
use types::Types;

use crate::generated::WORKLOADS_DESCRIPTOR_SET;
use crate::message::MessageType;
use crate::nearest::{Nearest, or_list};

/// The first protoc release that supports editions without an extra option.
pub const FIRST_PROTOC: u32 = 27;

/// The message types and methods of compiled .proto files. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Schema {
    pub(crate) types: Arc<Types>,
}

/// A method with its message types.
#[derive(Debug, Clone)]
pub struct Method {
    /// `package.Service/Method`.
    pub name: String,
    /// The type of the request.
    pub request: MessageType,
    /// The type of the response.
    pub response: MessageType,
    /// Which sides stream.
    pub kind: MethodKind,
}

/// The kinds of gRPC methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MethodKind {
    /// One request, one response.
    Unary,
    /// A stream of requests, one response.
    ClientStreaming,
    /// One request, a stream of responses.
    ServerStreaming,
    /// A stream in each direction.
    Bidirectional,
}

impl MethodKind {
    /// The kinds of methods that stream, with their names in settings.
    pub const STREAMING: [(Self, &'static str); 3] = [
        (Self::ClientStreaming, "client"),
        (Self::ServerStreaming, "server"),
        (Self::Bidirectional, "bidirectional"),
    ];

    fn of(method: &MethodDescriptor) -> Self {
        match (method.is_client_streaming(), method.is_server_streaming()) {
            (false, false) => Self::Unary,
            (true, false) => Self::ClientStreaming,
            (false, true) => Self::ServerStreaming,
            (true, true) => Self::Bidirectional,
        }
    }

    /// The name of the side that streams; `None` for a unary method.
    pub fn streams(self) -> Option<&'static str> {
        let of_kind = Self::STREAMING.iter().find(|(kind, _)| *kind == self);
        of_kind.map(|(_, name)| *name)
    }
}

impl Schema {
    /// Compiles .proto files: proto2 and proto3 with the built-in compiler, and files that it refuses, such as
    /// those with editions, with `protoc` or `buf` from the PATH. Imports are looked up in `includes` or, if it
    /// is empty, in the folder of each file. The built-in compiler uses its own well-known types.
    ///
    /// # Errors
    /// If a file cannot be found or is invalid. The error includes the line and column if they are known.
    pub fn compile(files: &[PathBuf], includes: &[PathBuf]) -> Result<Self, SchemaError> {
        let set = compile::compile(files, includes)?;
        Self::from_descriptor_set(&set).map_err(|error| compile::of_files(error, files, includes))
    }

    /// Reads an encoded `google.protobuf.FileDescriptorSet` with all imports, as `protoc --include_imports
    /// --descriptor_set_out` and `buf build` write it.
    ///
    /// # Errors
    /// If the bytes are not a descriptor set, or the set is incomplete.
    pub fn from_descriptor_set(bytes: &[u8]) -> Result<Self, SchemaError> {
        /// The maximum memory in bytes of the messages, fields and other parts of the user's own files: enough
        /// for some 800,000 fields.
        const MAX_MEMORY: usize = 512 << 20;
        Self::from_set_within(bytes.to_vec(), MAX_MEMORY)
    }

    /// Like [`Self::from_descriptor_set`], but limits the memory of the decoded descriptors to `max_memory`
    /// bytes.
    pub(crate) fn from_set_within(
        descriptor_set: Vec<u8>,
        max_memory: usize,
    ) -> Result<Self, SchemaError> {
        Ok(Self {
            types: Arc::new(Types::new(descriptor_set, max_memory)?),
        })
    }

    /// The schema of the built-in workloads.
    pub fn workloads() -> &'static Self {
        static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
            Schema::from_descriptor_set(WORKLOADS_DESCRIPTOR_SET)
                .expect("the build script compiled this descriptor set")
        });
        &SCHEMA
    }

    /// The encoded `google.protobuf.FileDescriptorSet` with all imports.
    pub fn descriptor_set(&self) -> &[u8] {
        &self.types.descriptor_set
    }

    /// Finds a method by `package.Service/Method`. A leading `/` is accepted, and so is `.` in place of `/`.
    ///
    /// # Errors
    /// If there is no such method.
    pub fn method(&self, name: &str) -> Result<Method, SchemaError> {
        let wanted = name.strip_prefix('/').unwrap_or(name);
        let (name, method) = self
            .methods()
            .find(|(full_name, _)| full_name == wanted || full_name.replace('/', ".") == wanted)
            .ok_or_else(|| self.unknown_method(wanted))?;
        let of = |index| MessageType::dynamic(Arc::clone(&self.types), index);
        Ok(Method {
            name,
            request: of(method.input()),
            response: of(method.output()),
            kind: MethodKind::of(method),
        })
    }

    /// The names of all methods as `package.Service/Method`, in file order.
    pub fn method_names(&self) -> Vec<String> {
        self.methods().map(|(name, _)| name).collect()
    }

    /// Finds a message type by `package.Message`.
    pub fn message_type(&self, full_name: &str) -> Result<MessageType, SchemaError> {
        let pool = &self.types.pool;
        match pool.message_index(full_name) {
            Some(index) => Ok(MessageType::dynamic(Arc::clone(&self.types), index)),
            None => Err(SchemaError::UnknownType {
                name: full_name.to_owned(),
                nearest: Nearest::of(full_name, pool.messages().iter().map(|m| m.full_name())),
            }),
        }
    }

    /// Whether there is a service with this full name.
    pub(crate) fn has_service(&self, full_name: &str) -> bool {
        let mut services = self.types.pool.services().iter();
        services.any(|service| service.full_name() == full_name)
    }

    fn methods(&self) -> impl Iterator<Item = (String, &MethodDescriptor)> {
        let services = self.types.pool.services().iter();
        services.flat_map(|service| {
            let methods = service.methods().iter();
            methods.map(|method| (format!("{}/{}", service.full_name(), method.name()), method))
        })
    }

    fn unknown_method(&self, name: &str) -> SchemaError {
        /// How many methods to list if none is similar.
        const LISTED: usize = 5;
        let names = self.method_names();
        let nearest = Nearest::of(name, names.iter().map(String::as_str));
        let hint = match names.len() {
            _ if !nearest.is_empty() => nearest.to_string(),
            0 => "; the files have no service".to_owned(),
            1..=LISTED => format!("; use {}", or_list(names)),
            more => format!(
                "; expected one of {} and {} more",
                names[..LISTED].join(", "),
                more - LISTED
            ),
        };
        let name = name.to_owned();
        SchemaError::UnknownMethod { name, hint }
    }
}

/// Encodes a `google.protobuf.FileDescriptorSet` from encoded files.
pub(crate) fn descriptor_set(files: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    const FILE: u32 = 1;
    let mut set = Vec::new();
    for file in files {
        Tag::new(FILE, WireType::LengthDelimited).encode(&mut set);
        encode_bytes(&file, &mut set);
    }
    set
}

/// Returns the files and everything that they import, each after its imports. A set from the user may be in any
/// order.
pub(crate) fn in_order<'p>(
    pool: &'p DescriptorPool,
    needed: Vec<&'p FileDescriptorProto>,
) -> Vec<&'p FileDescriptorProto> {
    enum Step<'p> {
        Enter(&'p FileDescriptorProto),
        Leave(&'p FileDescriptorProto),
    }
    let mut known = BTreeSet::new();
    let mut ordered = Vec::new();
    let mut steps: Vec<Step<'p>> = needed.into_iter().rev().map(Step::Enter).collect();
    while let Some(step) = steps.pop() {
        match step {
            Step::Leave(file) => ordered.push(file),
            Step::Enter(file) if known.insert(file.name.as_deref()) => {
                steps.push(Step::Leave(file));
                let imports = file.dependency.iter().rev();
                let imports = imports.filter_map(|import| pool.file_by_name(import));
                steps.extend(imports.map(Step::Enter));
            }
            Step::Enter(_) => {}
        }
    }
    ordered
}
