//! The server side of reflection.

use std::fmt;
use std::sync::{Arc, LazyLock};

use buffa::{Message as _, MessageName as _};
use buffa_descriptor::DescriptorPool;
use buffa_descriptor::generated::descriptor::FileDescriptorProto;

use super::proto::__buffa::oneof::server_reflection_request::MessageRequest;
use super::proto::__buffa::oneof::server_reflection_response::MessageResponse;
use super::proto::{
    ErrorResponse, ExtensionNumberResponse, FileDescriptorResponse, ListServiceResponse,
    ServerReflectionRequest, ServerReflectionResponse, ServiceResponse,
};
use crate::Encoding;
use crate::error::DecodeError;
use crate::schema::{Schema, in_order};

const NOT_FOUND: i32 = super::ReflectionResponse::NOT_FOUND as i32;
const INVALID_ARGUMENT: i32 = 3;

/// The descriptor of the reflection service itself.
static OWN: LazyLock<Arc<DescriptorPool>> = LazyLock::new(|| {
    let set = include_bytes!(concat!(env!("OUT_DIR"), "/reflection.binpb"));
    let pool = DescriptorPool::decode(set);
    Arc::new(pool.expect("the build script compiled this descriptor set"))
});

/// The name of the reflection service, which the server lists as well.
const OWN_SERVICE: &str = "grpc.reflection.v1.ServerReflection";

/// Sends the descriptors of a server's services. Cheap to clone.
#[derive(Clone)]
pub struct ReflectionServer(Arc<Known>);

struct Known {
    /// The files of the served schema and of the reflection service.
    pools: [Arc<DescriptorPool>; 2],
    services: Vec<String>,
}

impl ReflectionServer {
    /// Serves the files of a schema and of the reflection service. Lists `services` and the reflection service.
    pub fn new(schema: &Schema, services: impl IntoIterator<Item = String>) -> Self {
        let mut services: Vec<String> = services.into_iter().collect();
        services.push(OWN_SERVICE.to_owned());
        services.sort_unstable();
        Self(Arc::new(Known {
            pools: [Arc::clone(&schema.types.pool), Arc::clone(&OWN)],
            services,
        }))
    }

    /// Responds to one message of the stream.
    pub fn respond(&self, request: &[u8]) -> Result<Vec<u8>, DecodeError> {
        let request = ServerReflectionRequest::decode_from_slice(request).map_err(|error| {
            DecodeError::Malformed {
                message_type: ServerReflectionRequest::FULL_NAME.to_owned(),
                encoding: Encoding::Protobuf,
                what: error.to_string(),
            }
        })?;
        let found = self.0.respond(&request);
        let response = ServerReflectionResponse {
            valid_host: request.host.clone(),
            original_request: buffa::MessageField::some(request),
            message_response: Some(found.unwrap_or_else(|(code, message)| {
                MessageResponse::from(ErrorResponse {
                    error_code: code,
                    error_message: message,
                    ..Default::default()
                })
            })),
            ..Default::default()
        };
        Ok(response.encode_to_vec())
    }
}

impl fmt::Debug for ReflectionServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReflectionServer({})", self.0.services.join(", "))
    }
}

/// A gRPC status code and an error message.
type Refusal = (i32, String);

impl Known {
    fn respond(&self, request: &ServerReflectionRequest) -> Result<MessageResponse, Refusal> {
        match &request.message_request {
            Some(MessageRequest::FileByFilename(name)) => {
                self.file(|pool| pool.file_by_name(name), format!("no file {name}"))
            }
            Some(MessageRequest::FileContainingSymbol(symbol)) => self.file(
                |pool| pool.file_containing_symbol(symbol),
                format!("no symbol {symbol}"),
            ),
            Some(MessageRequest::FileContainingExtension(wanted)) => {
                let (of, number) = (&wanted.containing_type, wanted.extension_number);
                self.file(
                    |pool| {
                        let message = pool.message_index(of)?;
                        let number = u32::try_from(number).ok()?;
                        let extension = pool.extension_for(message, number)?;
                        pool.file_containing_symbol(extension.full_name())
                    },
                    format!("no extension {number} of {of}"),
                )
            }
            Some(MessageRequest::AllExtensionNumbersOfType(name)) => self.extension_numbers(name),
            Some(MessageRequest::ListServices(_)) => {
                let service = self.services.iter().map(|name| ServiceResponse {
                    name: name.clone(),
                    ..Default::default()
                });
                Ok(MessageResponse::from(ListServiceResponse {
                    service: service.collect(),
                    ..Default::default()
                }))
            }
            None => Err((INVALID_ARGUMENT, "the request is empty".to_owned())),
        }
    }

    /// Returns a file and everything that it imports.
    fn file(
        &self,
        find: impl Fn(&DescriptorPool) -> Option<&FileDescriptorProto>,
        what: String,
    ) -> Result<MessageResponse, Refusal> {
        let found = self.pools.iter().find_map(|pool| Some((pool, find(pool)?)));
        let (pool, file) = found.ok_or((NOT_FOUND, what))?;
        // The file comes first, and each file before those that it imports.
        let files = in_order(pool, vec![file]).into_iter().rev();
        Ok(MessageResponse::from(FileDescriptorResponse {
            file_descriptor_proto: files.map(|file| file.encode_to_vec()).collect(),
            ..Default::default()
        }))
    }

    fn extension_numbers(&self, name: &str) -> Result<MessageResponse, Refusal> {
        let found = self
            .pools
            .iter()
            .find_map(|pool| Some((pool, pool.message_index(name)?)));
        let (pool, index) = found.ok_or_else(|| (NOT_FOUND, format!("no message type {name}")))?;
        let numbers = pool.extensions_of(index);
        let numbers =
            numbers.filter_map(|extension| i32::try_from(extension.field().number()).ok());
        Ok(MessageResponse::from(ExtensionNumberResponse {
            base_type_name: name.to_owned(),
            extension_number: numbers.collect(),
            ..Default::default()
        }))
    }
}
