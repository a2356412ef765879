//! Questions to a server, and its answers.

use buffa::Message as _;

use super::proto::__buffa::oneof::server_reflection_request::MessageRequest;
use super::proto::__buffa::oneof::server_reflection_response::MessageResponse;
use super::proto::{ServerReflectionRequest, ServerReflectionResponse};
use crate::mapping::path::clip;

/// What a server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question<'a> {
    /// The file that declares a service, a method or a type, by its full name.
    FileContaining(&'a str),
    /// A file, by the name that it is imported by.
    File(&'a str),
    /// The full names of all services.
    Services,
}

impl Question<'_> {
    /// The question as a message of the reflection method.
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

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Encoded `google.protobuf.FileDescriptorProto`s: the file asked for, and often its imports.
    Files(Vec<Vec<u8>>),
    /// The full names of all services.
    Services(Vec<String>),
    /// The server does not have what was asked for, or does not tell.
    Error {
        /// A gRPC status code; 5, NOT_FOUND, as a rule.
        code: u32,
        /// The server's words, of any length: escape them.
        message: String,
    },
}

/// A message that is no answer. One line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadAnswer(String);

impl Answer {
    /// gRPC's code for what is not there.
    pub const NOT_FOUND: u32 = 5;

    /// Reads a message of the reflection method.
    ///
    /// # Errors
    /// Bytes that are no such message, and an answer to a question that was not asked.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadAnswer> {
        let answer = ServerReflectionResponse::decode_from_slice(bytes)
            .map_err(|error| BadAnswer(clip(&error.to_string())))?;
        match answer.message_response {
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
            Some(MessageResponse::AllExtensionNumbersResponse(_)) => Err(BadAnswer(
                "it lists extension numbers, which were not asked for".to_owned(),
            )),
            None => Err(BadAnswer("it answers nothing".to_owned())),
        }
    }
}
