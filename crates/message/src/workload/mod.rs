//! What is called: the built-in workloads and a user's own method.

mod spec;

pub use spec::{OwnWorkload, WorkloadSpec};

use crate::message::{Code, Message, MessageType};

/// A workload that is ready to be served and called.
#[derive(Debug, Clone)]
pub struct Workload(());

impl Workload {
    /// Makes the samples of a workload ready.
    pub fn new(_spec: &WorkloadSpec) -> Result<Self, WorkloadError> {
        todo!()
    }

    /// The path of a gRPC call: `/several.SeveralService/GetSeveralData`.
    pub fn method_path(&self) -> &str {
        todo!()
    }

    /// The path of a REST call, always by `POST`: `/several/data`.
    pub fn rest_path(&self) -> &str {
        todo!()
    }

    /// The type of the request.
    pub fn request_type(&self) -> &MessageType {
        todo!()
    }

    /// The type of the answer.
    pub fn response_type(&self) -> &MessageType {
        todo!()
    }

    /// Whether generated or dynamic code reads and writes its messages.
    pub fn code(&self) -> Code {
        todo!()
    }

    /// Whether each call's request differs. Where not, one encoding serves every call.
    pub fn request_varies(&self) -> bool {
        todo!()
    }

    /// The request of the `call`-th call, counted from 0.
    pub fn request(&self, _call: u64) -> Message {
        todo!()
    }

    /// The right answer to the `call`-th request.
    pub fn expected(&self, _call: u64) -> Message {
        todo!()
    }

    /// What a server answers to a request.
    pub fn answer(&self, _request: &Message) -> Result<Message, AnswerError> {
        todo!()
    }
}

/// A workload that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorkloadError(pub(crate) String);

/// A request that has no answer: gRPC's INVALID_ARGUMENT, HTTP's 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AnswerError(pub(crate) String);
