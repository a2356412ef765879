//! Server reflection as a method that streams.

use rpcgauge_message::Encoding;
use rpcgauge_message::reflection::{METHOD_PATHS, ReflectionServer};

use super::frame::PREFIX_BYTES;
use super::status::{Code, Status};
use super::stream::RespondEach;
use crate::service::{Call, CallError, Service};

/// The reflection method, if it is enabled and the path is its own, in either version.
pub(super) fn method(
    service: &Service,
    path: &str,
    encoding: Encoding,
) -> Result<Option<ReflectionServer>, Status> {
    match &service.reflected {
        Some(reflected) if METHOD_PATHS.contains(&path) => {
            if encoding == Encoding::Protobuf {
                Ok(Some(reflected.clone()))
            } else {
                Err(Status::new(
                    Code::Unimplemented,
                    "server reflection supports only protobuf; use application/grpc",
                ))
            }
        }
        _ => Ok(None),
    }
}

impl RespondEach for ReflectionServer {
    fn respond(&self, service: &Service, call: &Call<'_>) -> Result<Vec<u8>, CallError> {
        let request = service.decompress(call.request, call.request_compression)?;
        let response = Self::respond(self, &request)?;
        service.compress(&response, call.compress_response, PREFIX_BYTES)
    }
}
