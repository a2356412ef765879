//! What a client asks and what a server responds.

use buffa::Message as _;

use super::ReflectionError;
use super::proto::__buffa::oneof::server_reflection_request::MessageRequest;
use super::proto::__buffa::oneof::server_reflection_response::MessageResponse;
use super::proto::{ServerReflectionRequest, ServerReflectionResponse};
use crate::path::clip;

/// What a server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReflectionRequest<'a> {
    /// The file that declares a service, a method or a type, by its full name.
    FileContaining(&'a str),
    /// A file, by the name that it is imported by.
    File(&'a str),
    /// The full names of all services.
    Services,
}

impl ReflectionRequest<'_> {
    /// The request as a message of the reflection method.
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

/// What a server responds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReflectionResponse {
    /// Encoded `google.protobuf.FileDescriptorProto`s: the file asked for, and often its imports.
    Files(Vec<Vec<u8>>),
    /// The full names of all services.
    Services(Vec<String>),
    /// The server does not have what was asked for, or refuses to send it.
    Error {
        /// A gRPC status code; 5, NOT_FOUND, as a rule.
        code: u32,
        /// The server's words, of any length: escape them.
        message: String,
    },
}

impl ReflectionResponse {
    /// gRPC's code for what is not there.
    pub const NOT_FOUND: u32 = 5;

    /// Reads a message of the reflection method.
    ///
    /// # Errors
    /// Bytes that are not such a message, and a response to a request that this client never makes.
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
                damaged("it lists extension numbers, which were not asked for")
            }
            None => damaged("it is empty"),
        }
    }
}
