//! What is called: the built-in workloads and a user's own method. `contract/workloads.md` says
//! what each request and answer holds, for servers in other languages.

mod builtin;
mod own;
mod records;
mod spec;

use std::sync::Arc;

pub use records::CSV as RECORDS_CSV;
pub use spec::{OwnWorkload, WorkloadSpec};

use crate::contract::Sample;
use crate::message::{Code, Message, MessageType};
use crate::{BrokenLimit, Compression, Encoding, Limits};

/// A workload that is ready to be served and called. Cheap to clone.
#[derive(Clone)]
pub struct Workload(Arc<dyn Calls>);

/// One workload: its names, its requests and its answers.
trait Calls: Send + Sync {
    fn method_path(&self) -> &str;
    fn rest_path(&self) -> &str;
    fn request_type(&self) -> &MessageType;
    fn response_type(&self) -> &MessageType;
    fn request(&self, call: u64) -> Message;
    fn request_varies(&self) -> bool;
    fn answer(&self, request: &Message) -> Result<Message, AnswerError>;
}

impl Workload {
    /// Makes the samples of a workload ready.
    ///
    /// # Errors
    /// More items than the workload has or allows, and a user's method or sample that is not
    /// right.
    pub fn new(spec: &WorkloadSpec) -> Result<Self, WorkloadError> {
        Ok(Self(match spec {
            WorkloadSpec::Echo { n } => Arc::new(builtin::Echo::new(*n)?),
            WorkloadSpec::Hello {} => Arc::new(builtin::Hello::new()),
            WorkloadSpec::List { n } => Arc::new(builtin::List::new(*n)?),
            WorkloadSpec::Records { n } => Arc::new(records::Records::new(*n)?),
            WorkloadSpec::Profile {} => Arc::new(builtin::Profile::new()),
            WorkloadSpec::Followers { n } => Arc::new(builtin::Followers::new(*n)?),
            WorkloadSpec::Own(own) => Arc::new(own::Own::new(own)?),
        }))
    }

    /// The path of a gRPC call: `/several.SeveralService/GetSeveralData`.
    pub fn method_path(&self) -> &str {
        self.0.method_path()
    }

    /// The path of a REST call, always by `POST`: `/several/data`. A user's own method has its
    /// gRPC path.
    pub fn rest_path(&self) -> &str {
        self.0.rest_path()
    }

    /// The type of the request.
    pub fn request_type(&self) -> &MessageType {
        self.0.request_type()
    }

    /// The type of the answer.
    pub fn response_type(&self) -> &MessageType {
        self.0.response_type()
    }

    /// Whether generated or dynamic code reads and writes its messages.
    pub fn code(&self) -> Code {
        self.request_type().code()
    }

    /// Whether each call's request differs. Where not, one encoding serves every call.
    pub fn request_varies(&self) -> bool {
        self.0.request_varies()
    }

    /// The request of the `call`-th call, counted from 0.
    pub fn request(&self, call: u64) -> Message {
        self.0.request(call)
    }

    /// The right answer to the `call`-th request.
    pub fn expected(&self, call: u64) -> Message {
        self.answer(&self.request(call))
            .expect("a workload answers its own requests")
    }

    /// Checks that the messages of a call are within the limits of their readers.
    ///
    /// # Errors
    /// Which message breaks which limit.
    pub fn check_limits(
        &self,
        encoding: Encoding,
        request: Compression,
        response: Compression,
        limits: Limits,
    ) -> Result<(), OverLimit> {
        let over = |sample| {
            move |limit| OverLimit {
                sample,
                encoding,
                limit,
            }
        };
        self.request(0)
            .check_limits(encoding, request, limits)
            .map_err(over(Sample::Request))?;
        self.expected(0)
            .check_limits(encoding, response, limits)
            .map_err(over(Sample::Response))
    }

    /// What a server answers to a request.
    ///
    /// # Errors
    /// A request of another type, or for more than the workload has.
    pub fn answer(&self, request: &Message) -> Result<Message, AnswerError> {
        if !request.message_type().is_same(self.request_type()) {
            return Err(AnswerError(format!(
                "a {} was sent where a {} is answered",
                request.type_name(),
                self.request_type().full_name()
            )));
        }
        self.0.answer(request)
    }
}

impl std::fmt::Debug for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Workload({})", self.method_path())
    }
}

/// A workload that cannot be made. One line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorkloadError(String);

/// A message of a call that its reader would refuse. One line; names the limit's option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the {} as {encoding}: {limit}", sample_word(*.sample))]
pub struct OverLimit {
    /// Which of the two messages.
    pub sample: Sample,
    /// How it would be sent.
    pub encoding: Encoding,
    /// What it breaks.
    pub limit: BrokenLimit,
}

fn sample_word(sample: Sample) -> &'static str {
    match sample {
        Sample::Request => "request",
        Sample::Response => "answer",
    }
}

/// A request that has no answer: gRPC's INVALID_ARGUMENT, HTTP's 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AnswerError(String);

/// A request that arrived as dynamic code's message where generated code serves.
fn not_generated(request: &Message) -> AnswerError {
    AnswerError(format!(
        "the {} was not read by the workload's own code",
        request.type_name()
    ))
}

/// Most items that a workload of made-up data is asked for: some 20 MB of JSON.
const MOST_ITEMS: u32 = 100_000;

fn check_items(workload: &str, n: u32, most: u32) -> Result<(), WorkloadError> {
    if n <= most {
        return Ok(());
    }
    Err(WorkloadError(format!(
        "the workload \"{workload}\" has {most} items at most, not {n}"
    )))
}
