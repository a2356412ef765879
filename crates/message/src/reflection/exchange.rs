//! The requests and responses of the reflection protocol.

use buffa::Message as _;

use super::ReflectionError;
use super::proto::__buffa::oneof::server_reflection_request::MessageRequest;
use super::proto::__buffa::oneof::server_reflection_response::MessageResponse;
use super::proto::{ServerReflectionRequest, ServerReflectionResponse};
use crate::path::clip;

/// A request to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReflectionRequest<'a> {
    /// Requests the file that declares a service, a method or a type, by its full name.
    FileContaining(&'a str),
    /// Requests a file by the name used in `import` statements.
    File(&'a str),
    /// Requests the full names of all services.
    Services,
}

impl ReflectionRequest<'_> {
    /// Encodes the request as a message of the reflection method.
    pub fn to_bytes(self) -> Vec<u8> {
        let asked = match self {
            Self::FileContaining(symbol) => MessageRequest::FileContainingSymbol(symbol.to_owned()),
            Self::File(name) => MessageRequest::FileByFilename(name.to_owned()),
            Self::Services => MessageRequest::ListServices(String::new()),
        };
        ServerReflectionRequest {
            message_request: Some(asked),
            ..Default::default()
        }
        .encode_to_vec()
    }
}

/// A server's response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReflectionResponse {
    /// Encoded `google.protobuf.FileDescriptorProto`s: the requested file, often with its imports.
    Files(Vec<Vec<u8>>),
    /// The full names of all services.
    Services(Vec<String>),
    /// The server does not have the requested item, or refuses to send it.
    Error {
        /// A gRPC status code; usually 5, NOT_FOUND.
        code: u32,
        /// The server's message, of unbounded length and unescaped.
        message: String,
    },
}

impl ReflectionResponse {
    /// The gRPC status code NOT_FOUND.
    pub const NOT_FOUND: u32 = 5;

    /// Reads a message of the reflection method.
    ///
    /// # Errors
    /// If the bytes are not a valid response, or answer a kind of request that this client never sends.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReflectionError> {
        let damaged = |what: &str| Err(ReflectionError::Damaged(what.to_owned()));
        let response = match ServerReflectionResponse::decode_from_slice(bytes) {
            Ok(response) => response,
            Err(error) => return damaged(&clip(&error.to_string())),
        };
        match response.message_response {
            Some(MessageResponse::FileDescriptorResponse(files)) => {
                Ok(Self::Files(files.file_descriptor_proto))
            }
            Some(MessageResponse::ListServicesResponse(list)) => {
                let names = list.service.into_iter().map(|service| service.name);
                Ok(Self::Services(names.collect()))
            }
            Some(MessageResponse::ErrorResponse(error)) => Ok(Self::Error {
                code: u32::try_from(error.error_code).unwrap_or(u32::MAX),
                message: error.error_message,
            }),
            Some(MessageResponse::AllExtensionNumbersResponse(_)) => {
                damaged("it lists extension numbers, which were not requested")
            }
            None => damaged("it is empty"),
        }
    }
}
