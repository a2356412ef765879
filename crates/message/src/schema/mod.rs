//! What messages and methods there are: from .proto files, or from a compiled descriptor set.

mod error;

use std::path::PathBuf;

pub use error::SchemaError;

use crate::message::MessageType;

/// Message types and methods of compiled .proto files. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Schema(());

/// A method that can be called: unary, with its message types.
#[derive(Debug, Clone)]
pub struct Method {
    /// `package.Service/Method`.
    pub name: String,
    /// The type of the request.
    pub request: MessageType,
    /// The type of the answer.
    pub response: MessageType,
}

impl Schema {
    /// Compiles .proto files. Imports are looked for in `includes`; where it is empty, in the
    /// folder of each file. The well-known types are always there.
    pub fn compile(_files: &[PathBuf], _includes: &[PathBuf]) -> Result<Self, SchemaError> {
        todo!()
    }

    /// Takes an encoded `google.protobuf.FileDescriptorSet` that holds its imports, as
    /// `protoc --include_imports --descriptor_set_out` and `buf build` write it.
    pub fn from_descriptor_set(_bytes: &[u8]) -> Result<Self, SchemaError> {
        todo!()
    }

    /// The encoded `google.protobuf.FileDescriptorSet`, complete with imports.
    pub fn descriptor_set(&self) -> &[u8] {
        todo!()
    }

    /// Finds a method by `package.Service/Method` (a leading `/` or a `.` for the `/` is fine).
    /// Streaming methods are refused.
    pub fn method(&self, _name: &str) -> Result<Method, SchemaError> {
        todo!()
    }

    /// The names of all methods, `package.Service/Method`, in the order of the files.
    pub fn method_names(&self) -> Vec<String> {
        todo!()
    }

    /// Finds a message type by `package.Message`.
    pub fn message_type(&self, _full_name: &str) -> Result<MessageType, SchemaError> {
        todo!()
    }
}
