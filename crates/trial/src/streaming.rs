//! How the messages of a streaming call are exchanged.

use serde::{Deserialize, Serialize};

/// Which side of a call sends a stream of messages, and in which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StreamForm {
    /// Over gRPC, the client sends a stream, and the server one message.
    Client,
    /// Over gRPC, the client sends one message, and the server a stream.
    Server,
    /// Both send a stream: over gRPC or, over HTTP/1.1, by WebSocket.
    Bidirectional,
    /// Over HTTP, the response is a stream of lines of JSON.
    Ndjson,
    /// Over HTTP, the response is a stream of Server-Sent Events.
    Sse,
}

impl StreamForm {
    /// The form's name in options and studies.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Bidirectional => "bidirectional",
            Self::Ndjson => "ndjson",
            Self::Sse => "sse",
        }
    }

    /// What a call or method of this form is, with an article: `a server-streaming`.
    pub const fn article_and_name(self) -> &'static str {
        match self {
            Self::Client => "a client-streaming",
            Self::Server => "a server-streaming",
            Self::Bidirectional => "a bidirectional-streaming",
            Self::Ndjson => "an NDJSON",
            Self::Sse => "a Server-Sent Events",
        }
    }

    /// What it is called in a report.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Client => "client stream",
            Self::Server => "server stream",
            Self::Bidirectional => "bidirectional stream",
            Self::Ndjson => "NDJSON",
            Self::Sse => "Server-Sent Events",
        }
    }

    /// What a call of this form is called in a sentence: `a server stream`.
    pub const fn article_and_title(self) -> &'static str {
        match self {
            Self::Client => "a client stream",
            Self::Server => "a server stream",
            Self::Bidirectional => "a bidirectional stream",
            Self::Ndjson => "NDJSON",
            Self::Sse => "Server-Sent Events",
        }
    }

    /// Whether gRPC can carry it.
    pub const fn is_grpc(self) -> bool {
        matches!(self, Self::Client | Self::Server | Self::Bidirectional)
    }

    /// Whether REST can carry it.
    pub const fn is_rest(self) -> bool {
        matches!(self, Self::Bidirectional | Self::Ndjson | Self::Sse)
    }

    /// Whether the client sends a stream.
    pub const fn client_streams(self) -> bool {
        matches!(self, Self::Client | Self::Bidirectional)
    }

    /// Whether the server sends a stream.
    pub const fn server_streams(self) -> bool {
        !matches!(self, Self::Client)
    }
}

/// When the messages of a call are due. The first one is due with its call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// As soon as the connection accepts them.
    #[default]
    Unpaced,
    /// At a constant rate, per second.
    Rate(f64),
    /// As soon as the response to the previous message has arrived, and after this pause, ms.
    InTurn(u64),
}

/// How the messages of a streaming call are exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Streaming {
    /// Which side sends a stream.
    pub form: StreamForm,
    /// How many messages the client sends in each call: 1 if it does not stream; `None` for as many as it can
    /// send in the call's time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// When they are due.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub pace: Pace,
    /// The call succeeds, and is cancelled, once it has received this many messages; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive: Option<u64>,
    /// How long after its due time a call ends, ms. If it is still sending, its request ends then, and the
    /// server ends it. Otherwise it succeeds and is cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
    /// How long a call waits for the next message before it fails, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_timeout_ms: Option<u64>,
}

impl Streaming {
    /// Calls that send one message and receive all that the server sends.
    pub const fn of(form: StreamForm) -> Self {
        Self {
            form,
            messages: Some(1),
            pace: Pace::Unpaced,
            receive: None,
            time_ms: None,
            message_timeout_ms: None,
        }
    }
}
