//! The calls of a benchmark: the built-in workloads and user-defined methods. `contract/workloads.md` specifies
//! their requests and responses for servers in other languages.

mod builtin;
mod closure;
mod message_set;
mod own;
mod records;
mod spec;

use std::sync::Arc;

pub use message_set::{MessageFiles, MessageSet};
pub use records::CSV as RECORDS_CSV;
pub use spec::{OwnWorkload, Sample, WorkloadSpec};

use rpcgauge_trial::CodeKind;

use crate::format::decode_fn;
use crate::generated::GeneratedMessage;
use crate::message::{Message, MessageType};
use crate::schema::{MethodKind, Schema};
use crate::{BrokenLimit, Codec, Compression, Encoding, Limits};

/// A workload that is ready to serve and to call. Cheap to clone.
#[derive(Clone)]
pub struct Workload(Arc<Parts>);

struct Parts {
    schema: Schema,
    /// The path of its method, or those of its methods of several kinds.
    methods: Vec<(MethodKind, String)>,
    rest_path: String,
    request_type: MessageType,
    response_type: MessageType,
    requests: Requests,
    respond: Box<Respond>,
}

/// Returns the response with a number, from 0, to a request.
type Respond = dyn Fn(&Message, u64) -> Result<Message, BadRequest> + Send + Sync;

/// The requests of a workload's calls.
enum Requests {
    /// All requests are the same.
    Same(Message),
    /// A function generates the request of each call, numbered from 0.
    Each(fn(u64) -> Message),
}

fn generated_type<M: GeneratedMessage>() -> MessageType {
    Schema::workloads()
        .message_type(M::FULL_NAME)
        .expect("the generated code comes from the same files as the schema")
        .with_generated(decode_fn::<M>())
}

fn generated<M: GeneratedMessage>(message: M) -> Message {
    generated_type::<M>().of_generated(Arc::new(message))
}

impl Workload {
    /// Prepares a workload and its samples.
    ///
    /// # Errors
    /// If the workload does not allow this number of items, or a user's method or sample is invalid.
    pub fn new(spec: &WorkloadSpec) -> Result<Self, WorkloadError> {
        match spec {
            WorkloadSpec::Echo { n } => builtin::echo(*n),
            WorkloadSpec::Hello {} => Ok(builtin::hello()),
            WorkloadSpec::List { n } => builtin::list(*n),
            WorkloadSpec::Items {} => Ok(builtin::items()),
            WorkloadSpec::Records { n } => records::records(*n),
            WorkloadSpec::Profile {} => Ok(builtin::profile()),
            WorkloadSpec::Followers { n } => builtin::followers(*n),
            WorkloadSpec::Own(own) => own::own(own),
        }
    }

    /// A built-in workload of unary calls, with generated code.
    fn built_in<Q: GeneratedMessage, R: GeneratedMessage>(
        method_path: &str,
        rest_path: &str,
        requests: Requests,
        respond: impl Fn(&Message) -> Result<Message, BadRequest> + Send + Sync + 'static,
    ) -> Self {
        let methods = [(MethodKind::Unary, method_path)];
        let respond = move |request: &Message, _| respond(request);
        Self::with_methods::<Q, R>(&methods, rest_path, requests, respond)
    }

    /// A built-in workload whose methods are of several kinds, the unary one first.
    fn with_methods<Q: GeneratedMessage, R: GeneratedMessage>(
        methods: &[(MethodKind, &str)],
        rest_path: &str,
        requests: Requests,
        respond: impl Fn(&Message, u64) -> Result<Message, BadRequest> + Send + Sync + 'static,
    ) -> Self {
        let methods = methods
            .iter()
            .map(|(kind, path)| (*kind, (*path).to_owned()));
        Self(Arc::new(Parts {
            schema: Schema::workloads().clone(),
            methods: methods.collect(),
            rest_path: rest_path.to_owned(),
            request_type: generated_type::<Q>(),
            response_type: generated_type::<R>(),
            requests,
            respond: Box::new(respond),
        }))
    }

    /// The path of a gRPC call: `/several.SeveralService/GetSeveralData`. The call is unary, except for a user's own
    /// method.
    pub fn method_path(&self) -> &str {
        &self.0.methods[0].1
    }

    /// The paths of its gRPC methods, with their kinds.
    pub fn methods(&self) -> impl Iterator<Item = (MethodKind, &str)> {
        let methods = self.0.methods.iter();
        methods.map(|(kind, path)| (*kind, path.as_str()))
    }

    /// The path of its gRPC method of a kind; `None` if it has none.
    pub fn method_of_kind(&self, kind: MethodKind) -> Option<&str> {
        self.methods()
            .find(|(of, _)| *of == kind)
            .map(|(_, path)| path)
    }

    /// The path of a REST call, which is always a `POST`: `/several/data`. For a user's own method, this is the
    /// gRPC path.
    pub fn rest_path(&self) -> &str {
        &self.0.rest_path
    }

    /// The schema of the workload's method and messages.
    pub fn schema(&self) -> &Schema {
        &self.0.schema
    }

    /// The type of the request.
    pub fn request_type(&self) -> &MessageType {
        &self.0.request_type
    }

    /// The type of the response.
    pub fn response_type(&self) -> &MessageType {
        &self.0.response_type
    }

    /// Whether generated or dynamic code reads and writes the workload's messages.
    pub fn code(&self) -> CodeKind {
        self.request_type().code()
    }

    /// Whether each call has a different request. If not, the request needs to be encoded only once.
    pub fn request_varies(&self) -> bool {
        matches!(self.0.requests, Requests::Each(_))
    }

    /// The request of call number `call`, from 0.
    pub fn request(&self, call: u64) -> Message {
        match &self.0.requests {
            Requests::Same(request) => request.clone(),
            Requests::Each(request) => request(call),
        }
    }

    /// The expected response to the request of call number `call`, from 0.
    pub fn expected(&self, call: u64) -> Message {
        self.respond(&self.request(call))
            .expect("a workload answers its own requests")
    }

    /// Checks that the messages of a call do not exceed their readers' limits.
    ///
    /// # Errors
    /// Returns which message exceeds which limit.
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
        Codec::check_limits(&self.request(0), encoding, request, limits)
            .map_err(over(Sample::Request))?;
        Codec::check_limits(&self.expected(0), encoding, response, limits)
            .map_err(over(Sample::Response))
    }

    /// Returns a server's only response to a request.
    ///
    /// # Errors
    /// As for [`Workload::respond_nth`].
    pub fn respond(&self, request: &Message) -> Result<Message, BadRequest> {
        self.respond_nth(request, 0)
    }

    /// Returns the response with a number, from 0, in a server's stream of responses to a request.
    ///
    /// # Errors
    /// If the request is of another type, or requests items that the workload does not have.
    pub fn respond_nth(&self, request: &Message, number: u64) -> Result<Message, BadRequest> {
        if !request.message_type().is_same(self.request_type()) {
            return Err(BadRequest(format!(
                "a {} was sent instead of a {}",
                request.type_name(),
                self.request_type().full_name()
            )));
        }
        (self.0.respond)(request, number)
    }
}

impl std::fmt::Debug for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Workload({})", self.method_path())
    }
}

/// Why a workload cannot be prepared. One line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorkloadError(String);

/// A message that its reader would refuse. The error is one line and names the limit's option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the {} as {encoding}: {limit}", sample_word(*.sample))]
pub struct OverLimit {
    /// Which of the two messages it is.
    pub sample: Sample,
    /// The encoding in which it would be sent.
    pub encoding: Encoding,
    /// The limit that it exceeds.
    pub limit: BrokenLimit,
}

fn sample_word(sample: Sample) -> &'static str {
    match sample {
        Sample::Request => "request",
        Sample::Response => "response",
    }
}

/// A refused request: INVALID_ARGUMENT in gRPC, status 400 in HTTP.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadRequest(String);

/// Returns the request as a generated message. Servers that use generated code always read requests as
/// generated messages.
fn generated_request<M: 'static>(request: &Message) -> Result<&M, BadRequest> {
    request.downcast().ok_or_else(|| {
        BadRequest(format!(
            "the {} was not read by generated code",
            request.type_name()
        ))
    })
}

/// The maximum number of items in a workload with synthetic data: some 20 MB of JSON.
const MAX_ITEMS: u32 = 100_000;

fn check_items(workload: &str, n: u32, most: u32) -> Result<(), WorkloadError> {
    if n <= most {
        return Ok(());
    }
    Err(WorkloadError(format!(
        "the workload \"{workload}\" can have at most {most} items, not {n}"
    )))
}
