//! What is on the wire: a protocol, with the options that it allows.

use rpcgauge_contract::Stream;
use rpcgauge_message::Encoding;
use rpcgauge_trial::StreamForm;

use super::{HttpVersion, Protocol};
use crate::url::Scheme;

/// What calls to a subject's server are on the wire. gRPC is always over HTTP/2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// gRPC.
    Grpc {
        /// How the message becomes bytes.
        encoding: Encoding,
    },
    /// A POST of the message to a path of its own.
    Rest {
        /// The version of HTTP.
        http: HttpVersion,
        /// How the message becomes bytes.
        encoding: Encoding,
    },
    /// A unary Connect call.
    Connect {
        /// The version of HTTP.
        http: HttpVersion,
        /// How the message becomes bytes.
        encoding: Encoding,
    },
}

impl Wire {
    /// The defaults of a protocol.
    pub fn default_for(protocol: Protocol) -> Self {
        let (http, encoding) = (HttpVersion::Http1, Encoding::Protobuf);
        match protocol {
            Protocol::Grpc => Self::Grpc { encoding },
            Protocol::Rest => Self::Rest {
                http,
                encoding: Encoding::Json,
            },
            // What connect-go does by default without TLS.
            Protocol::Connect => Self::Connect { http, encoding },
        }
    }

    /// Returns `None` for gRPC over HTTP/1.1.
    pub fn new(protocol: Protocol, http: HttpVersion, encoding: Encoding) -> Option<Self> {
        match (protocol, http) {
            (Protocol::Grpc, HttpVersion::Http1) => None,
            (Protocol::Grpc, HttpVersion::Http2) => Some(Self::Grpc { encoding }),
            (Protocol::Rest, http) => Some(Self::Rest { http, encoding }),
            (Protocol::Connect, http) => Some(Self::Connect { http, encoding }),
        }
    }

    /// The protocol of a call.
    pub fn protocol(self) -> Protocol {
        match self {
            Self::Grpc { .. } => Protocol::Grpc,
            Self::Rest { .. } => Protocol::Rest,
            Self::Connect { .. } => Protocol::Connect,
        }
    }

    /// The version of HTTP that carries it.
    pub fn http(self) -> HttpVersion {
        match self {
            Self::Grpc { .. } => HttpVersion::Http2,
            Self::Rest { http, .. } | Self::Connect { http, .. } => http,
        }
    }

    /// How messages become bytes.
    pub fn encoding(self) -> Encoding {
        let (Self::Grpc { encoding }
        | Self::Rest { encoding, .. }
        | Self::Connect { encoding, .. }) = self;
        encoding
    }

    /// Checks that it can carry a stream.
    ///
    /// # Errors
    /// Returns what carries the stream, as a sentence.
    pub fn check_stream(self, stream: &Stream) -> Result<(), &'static str> {
        match (self, stream.form()) {
            (
                Self::Grpc { .. },
                StreamForm::Client | StreamForm::Server | StreamForm::Bidirectional,
            ) => Ok(()),
            (Self::Rest { encoding, .. }, StreamForm::Ndjson | StreamForm::Sse)
                if encoding.is_json() =>
            {
                Ok(())
            }
            (Self::Rest { http, .. }, StreamForm::Bidirectional) if http != HttpVersion::Http1 => {
                Err("a WebSocket needs HTTP/1.1; write http = \"1.1\"")
            }
            (Self::Rest { encoding, .. }, StreamForm::Bidirectional) if !encoding.is_json() => {
                Err("the messages of a WebSocket are JSON; write encoding = \"json\"")
            }
            (Self::Rest { .. }, StreamForm::Bidirectional) => Ok(()),
            (_, StreamForm::Ndjson | StreamForm::Sse) => Err(
                "streams of text are REST with JSON; write protocol = \"rest\" and encoding = \"json\"",
            ),
            (_, _) => Err(
                "client and server streams are gRPC; write protocol = \"grpc\", or protocol = \"rest\" with stream = \
                 \"ndjson\", \"sse\" or, for a WebSocket, \"bidirectional\"",
            ),
        }
    }

    /// Whether calls that stream like this are WebSockets.
    pub fn is_websocket(self, stream: Option<&Stream>) -> bool {
        let form = stream.map(Stream::form);
        matches!(self, Self::Rest { .. }) && form == Some(StreamForm::Bidirectional)
    }

    /// The same protocol with another encoding.
    #[must_use]
    pub fn encoded(self, encoding: Encoding) -> Self {
        match self {
            Self::Grpc { .. } => Self::Grpc { encoding },
            Self::Rest { http, .. } => Self::Rest { http, encoding },
            Self::Connect { http, .. } => Self::Connect { http, encoding },
        }
    }
}

/// What calls to a live service are on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveWire {
    /// gRPC, with protobuf.
    Grpc,
    /// HTTP, with bodies sent as given.
    Http(HttpVersion),
    /// A WebSocket for each call, opened over HTTP/1.1, with messages sent as given.
    WebSocket,
}

impl LiveWire {
    /// The default for a target's scheme.
    pub fn default_for(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Grpc | Scheme::Grpcs => Self::Grpc,
            Scheme::Http | Scheme::Https => Self::Http(HttpVersion::Http1),
            Scheme::Ws | Scheme::Wss => Self::WebSocket,
        }
    }

    /// Whether calls can stream in this form.
    pub fn carries(self, form: StreamForm) -> bool {
        match self {
            Self::Grpc => form.is_grpc(),
            Self::Http(_) => matches!(form, StreamForm::Ndjson | StreamForm::Sse),
            Self::WebSocket => form == StreamForm::Bidirectional,
        }
    }

    /// The protocol of a call.
    pub fn protocol(self) -> Protocol {
        match self {
            Self::Grpc => Protocol::Grpc,
            Self::Http(_) | Self::WebSocket => Protocol::Rest,
        }
    }

    /// The version of HTTP that carries it.
    pub fn http(self) -> HttpVersion {
        match self {
            Self::Grpc => HttpVersion::Http2,
            Self::Http(http) => http,
            Self::WebSocket => HttpVersion::Http1,
        }
    }

    /// How messages become bytes; `None` if bodies are sent as given.
    pub fn encoding(self) -> Option<Encoding> {
        match self {
            Self::Grpc => Some(Encoding::Protobuf),
            Self::Http(_) | Self::WebSocket => None,
        }
    }
}
