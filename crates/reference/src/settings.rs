//! The settings of a server.

use rpcgauge_contract::{Stream, StreamForm};
use rpcgauge_message::{Compression, Encoding, Limits, MethodKind, Workload, WorkloadSpec};

use crate::budget::default_memory;
use crate::listen::ListenOn;
use crate::timeouts::Timeouts;

/// The number of messages in a server's stream, unless the settings specify it.
pub const DEFAULT_MESSAGES: u32 = 100;

/// A server's settings.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The workload to serve.
    pub workload: WorkloadSpec,
    /// The address to listen on.
    pub listen: ListenOn,
    /// Whether the server uses TLS, with a certificate that it generates.
    pub tls: bool,
    /// How responses are compressed for clients that accept it.
    pub response_compression: Compression,
    /// The encoding to use if several share a content type. For JSON, this is the form of responses; requests
    /// may use any form. For gRPC without a subtype, it is this encoding, or protobuf if this is JSON.
    pub encoding: Encoding,
    /// Number of serving threads, 1 to [`MAX_THREADS`](rpcgauge_contract::MAX_THREADS).
    pub threads: u32,
    /// Whether successful responses include the handler's times (contract/README.md, "Marks").
    pub marks: bool,
    /// The streams that clients will call, and how many messages a server's stream has. Without it, a server's
    /// stream has [`DEFAULT_MESSAGES`].
    pub stream: Option<Stream>,
    /// Whether to offer gRPC Server Reflection (v1 and v1alpha).
    pub reflection: bool,
    /// Limits on requests.
    pub limits: Limits,
    /// Memory budget of all calls, bytes. It covers requests that have not fully arrived and responses that
    /// have not been read. A call that exceeds it is rejected.
    pub memory: usize,
    /// How long clients may take.
    pub timeouts: Timeouts,
}

impl ServerOptions {
    /// A workload on the loopback interface with a free port: no TLS, no compression, one thread, the default
    /// limits, a quarter of the available memory, no marks, no reflection.
    pub fn new(workload: WorkloadSpec) -> Self {
        Self {
            workload,
            listen: ListenOn::loopback(),
            tls: false,
            response_compression: Compression::None,
            encoding: Encoding::Json,
            threads: 1,
            marks: false,
            stream: None,
            reflection: false,
            limits: Limits::DEFAULT,
            memory: default_memory(),
            timeouts: Timeouts::DEFAULT,
        }
    }
    /// The number of messages in a server's stream.
    pub(crate) fn messages(&self) -> u32 {
        self.stream
            .map_or(DEFAULT_MESSAGES, |stream| stream.messages())
    }

    /// Whether REST clients may ask for a stream of responses (contract/README.md, "Streams").
    pub fn streams_over_rest(&self) -> bool {
        matches!(self.workload, WorkloadSpec::Items {} | WorkloadSpec::Own(_))
    }

    /// Checks that the workload can be served as the stream.
    ///
    /// # Errors
    /// One line that tells the user what to change.
    pub(crate) fn check_stream(&self, workload: &Workload) -> Result<(), String> {
        let Some(form) = self.stream.map(|stream| stream.form()) else {
            return Ok(());
        };
        let kind = match (form.client_streams(), form.server_streams()) {
            (true, false) => MethodKind::ClientStreaming,
            (true, true) => MethodKind::Bidirectional,
            (false, _) => MethodKind::ServerStreaming,
        };
        let call = format!("{} call", form.article_and_name());
        let is_served = if form.is_grpc() {
            workload.method_of_kind(kind).is_some()
        } else {
            self.streams_over_rest()
        };
        if !is_served {
            let path = workload.method_path();
            return Err(format!(
                "the workload of {path} has no method for {call}; use the workload items, or your own method of \
                 this kind"
            ));
        }
        if form.is_grpc() {
            return Ok(());
        }
        check_text(form, self.encoding, self.response_compression)
    }
}

/// Checks the settings of a stream over REST.
///
/// # Errors
/// One line that tells the user what to change.
pub(crate) fn check_text(
    form: StreamForm,
    encoding: Encoding,
    response_compression: Compression,
) -> Result<(), String> {
    let call = match form {
        StreamForm::Bidirectional => "a WebSocket call".to_owned(),
        form => format!("{} call", form.article_and_name()),
    };
    if !encoding.is_json() {
        return Err(format!(
            "the messages of {call} are JSON, not {encoding}; set encoding to json"
        ));
    }
    if !response_compression.is_none() {
        return Err(format!(
            "this server does not compress the response to {call}; leave out response_compression"
        ));
    }
    Ok(())
}
