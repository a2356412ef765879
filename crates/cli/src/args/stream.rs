//! Options of streaming calls.

use clap::{Args, ValueEnum};
use rpcgauge_study::pair_by::PairBy;
use rpcgauge_study::settings::MessageCount;
use rpcgauge_trial::StreamForm;

use super::load::parse_rate;
use super::{heading, parse_ms, whole};

/// How the messages of streaming calls are exchanged.
#[derive(Debug, Args)]
pub(crate) struct StreamArgs {
    /// How a call streams [default: as the .proto file or server reflection says]
    #[arg(long, value_enum, value_name = "FORM", help_heading = heading::STREAMS)]
    pub(crate) stream: Option<Stream>,
    /// Messages that the client sends in each call, each the next row; "rows" sends all rows in each [default: 1; with
    /// --call-time, as many as fit]
    #[arg(long, value_name = "N|rows", help_heading = heading::STREAMS)]
    pub(crate) messages: Option<MessageCount>,
    /// Messages per second that the client sends in each call [default: as fast as the connection accepts them]
    #[arg(long, value_name = "R", value_parser = parse_rate, help_heading = heading::STREAMS)]
    pub(crate) message_rate: Option<f64>,
    /// Send each message when the response to the previous one has arrived
    #[arg(long, conflicts_with = "message_rate", help_heading = heading::STREAMS)]
    pub(crate) in_turn: bool,
    /// With --in-turn, wait this long before the next message
    #[arg(long, value_name = "TIME", value_parser = parse_ms, requires = "in_turn", help_heading = heading::STREAMS)]
    pub(crate) think_time: Option<u64>,
    /// End each call when it has received this many messages
    #[arg(long, value_name = "N", value_parser = whole(), help_heading = heading::STREAMS)]
    pub(crate) receive: Option<u64>,
    /// End each call after this time: its request if it is still sending, otherwise the call
    #[arg(long, value_name = "TIME", value_parser = parse_ms, help_heading = heading::STREAMS)]
    pub(crate) call_time: Option<u64>,
    /// Fail a call that receives no message for this long
    #[arg(long, value_name = "TIME", value_parser = parse_ms, help_heading = heading::STREAMS)]
    pub(crate) message_timeout: Option<u64>,
    /// Pair each response with the message that has the same value, as in '$.id' or '$.id = $.request.id' [default: in
    /// the order in which they were sent]
    #[arg(long, value_name = "PATH", help_heading = heading::STREAMS)]
    pub(crate) pair_by: Option<PairBy>,
}

/// How a call streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stream {
    /// gRPC: the client sends a stream
    Client,
    /// gRPC: the server sends a stream
    Server,
    /// gRPC, and ws:// without this option: both send a stream
    Bidirectional,
    /// HTTP: the response is lines of JSON
    Ndjson,
    /// HTTP: the response is Server-Sent Events
    Sse,
}

impl Stream {
    /// The form in a study.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Client => StreamForm::Client,
            Self::Server => StreamForm::Server,
            Self::Bidirectional => StreamForm::Bidirectional,
            Self::Ndjson => StreamForm::Ndjson,
            Self::Sse => StreamForm::Sse,
        }
        .name()
    }
}
