//! The workload's bidirectional method as a WebSocket (RFC 6455): one response to each message.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use rpcgauge_message::{Compression, Encoding, MethodKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::time::timeout;
use tungstenite::error::CapacityError;
use tungstenite::protocol::frame::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{Message, Role, WebSocket, WebSocketConfig};
use tungstenite::{Error, Utf8Bytes};

use super::problem::Problem;
use crate::body::ResponseBody;
use crate::budget::Charge;
use crate::log;
use crate::service::{Call, CallError, Service};

/// Bytes that are read at a time.
const READ_BYTES: usize = 16 << 10;

/// Maximum length of the reason in a close frame, bytes: a control frame has 125 with the code.
const MAX_REASON_BYTES: usize = 123;

/// The only version (RFC 6455 §4.1).
const VERSION: HeaderValue = HeaderValue::from_static("13");

/// Whether a request asks for a WebSocket, and the workload has a method for it.
pub(super) fn is_asked(service: &Service, head: &Parts) -> bool {
    head.method == Method::GET
        && lists(&head.headers, &UPGRADE, "websocket")
        && service
            .workload
            .method_of_kind(MethodKind::Bidirectional)
            .is_some()
}

/// Accepts the opening handshake, and serves the WebSocket once the response is sent.
pub(super) fn accept(
    service: &Arc<Service>,
    mut head: Parts,
    stop: watch::Receiver<()>,
) -> Result<Response<ResponseBody>, Problem> {
    let bad = |what: &str| Problem::new(StatusCode::BAD_REQUEST, what.to_owned());
    if head.headers.get(SEC_WEBSOCKET_VERSION) != Some(&VERSION) {
        let problem = Problem::new(
            StatusCode::UPGRADE_REQUIRED,
            "sec-websocket-version must be 13",
        );
        return Err(problem.with(SEC_WEBSOCKET_VERSION, VERSION));
    }
    // Only HTTP/1.1 has it.
    let upgrade = head.extensions.remove::<OnUpgrade>();
    let upgrade = upgrade
        .filter(|_| lists(&head.headers, &CONNECTION, "upgrade"))
        .ok_or_else(|| bad("a WebSocket needs HTTP/1.1 with connection: upgrade"))?;
    let key = head
        .headers
        .get(SEC_WEBSOCKET_KEY)
        .map(HeaderValue::as_bytes);
    let is_key = |key: &&[u8]| STANDARD.decode(key).is_ok_and(|nonce| nonce.len() == 16);
    let accepted = key
        .filter(is_key)
        .and_then(|key| HeaderValue::try_from(accept_value(key)).ok())
        .ok_or_else(|| bad("sec-websocket-key must be 16 bytes in base64"))?;
    let session = Session::new(service)?;
    tokio::spawn(async move {
        match upgrade.await {
            Ok(io) => session.serve(TokioIo::new(io), stop).await,
            Err(error) => log::connection_error(&error),
        }
    });
    let mut response = Response::new(ResponseBody::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accepted);
    Ok(response)
}

/// What proves that the server has read the key (RFC 6455 §4.2.2).
fn accept_value(key: &[u8]) -> String {
    let salted = [key, b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"].concat();
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &salted))
}

/// Whether a field's list of values contains `wanted`, ignoring case.
fn lists(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    let lines = headers.get_all(name).iter();
    let mut values = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    values.any(|value| value.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes()))
}

/// Why the server closes a WebSocket: the code, and a reason.
struct Closing(CloseCode, String);

/// An open WebSocket.
struct Session {
    service: Arc<Service>,
    socket: WebSocket<Memory>,
    /// The share of the budget of the message that is being received and of the response to it.
    charge: Charge,
}

/// How reading goes on.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    More,
    /// Both sides have closed.
    End,
}

impl Session {
    fn new(service: &Arc<Service>) -> Result<Self, CallError> {
        let most = service.limits.max_message_bytes;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            .write_buffer_size(0)
            .max_message_size(Some(most))
            .max_frame_size(Some(most));
        Ok(Self {
            service: Arc::clone(service),
            socket: WebSocket::from_raw_socket(Memory::default(), Role::Server, Some(config)),
            charge: Charge::of(&service.ledger, 0)?,
        })
    }

    /// Serves until the client closes, or until `stop` changes.
    async fn serve(mut self, mut io: TokioIo<Upgraded>, mut stop: watch::Receiver<()>) {
        let ended = match self.exchange(&mut io, &mut stop).await {
            Ok(()) => io.shutdown().await,
            Err(Ended::Closing(closing)) => self.close(&mut io, closing).await,
            Err(Ended::Transport(error)) => Err(error),
        };
        if let Err(error) = ended {
            log::connection_error(&error);
        }
    }

    /// Responds to messages until the client closes.
    async fn exchange(
        &mut self,
        io: &mut TokioIo<Upgraded>,
        stop: &mut watch::Receiver<()>,
    ) -> Result<(), Ended> {
        let patience = self.service.timeouts.request_body;
        let mut buffer = vec![0; READ_BYTES];
        let mut received = 0;
        loop {
            while let Some(message) = self.next()? {
                received = 0;
                self.respond(&message)?;
                self.write(io).await?;
            }
            if self.write(io).await? == Next::End {
                return Ok(());
            }
            let read = tokio::select! {
                read = timeout(patience, io.read(&mut buffer)) => read,
                _ = stop.changed() => {
                    let reason = "the server is stopping".to_owned();
                    return Err(Closing(CloseCode::Away, reason).into());
                }
            };
            let Ok(read) = read else {
                let reason = format!("no message arrived within {patience:?}");
                return Err(Closing(CloseCode::Policy, reason).into());
            };
            let n = read?;
            if n == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            received += n;
            self.charge.cover(received).map_err(CallError::from)?;
            self.socket.get_mut().input.extend(&buffer[..n]);
        }
    }

    /// The next whole message; `None` if its bytes have not all arrived, or the client has closed.
    fn next(&mut self) -> Result<Option<Bytes>, Closing> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return Ok(Some(text.into())),
                Ok(Message::Binary(bytes)) => return Ok(Some(bytes)),
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_)) => {
                }
                Err(Error::ConnectionClosed) => return Ok(None),
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn respond(&mut self, message: &[u8]) -> Result<(), Closing> {
        let call = Call {
            request: message,
            request_compression: Compression::None,
            request_encoding: Encoding::Json,
            response_encoding: self.service.named_as_set(Encoding::Json),
            compress_response: false,
            prefix_bytes: 0,
        };
        let response = self
            .service
            .nth_response(&self.service.request(&call)?, 0, &call)?;
        self.charge
            .cover(message.len() + response.len())
            .map_err(CallError::from)?;
        let text = Utf8Bytes::try_from(response).map_err(Error::from)?;
        Ok(self.socket.send(Message::Text(text))?)
    }

    /// Writes what the codec has framed.
    async fn write(&mut self, io: &mut TokioIo<Upgraded>) -> io::Result<Next> {
        let output = std::mem::take(&mut self.socket.get_mut().output);
        io.write_all(&output).await?;
        Ok(if self.socket.can_read() {
            Next::More
        } else {
            Next::End
        })
    }

    /// Closes the WebSocket. What the client still sends is read, because the system would otherwise reset the connection,
    /// and the client might not see why.
    async fn close(&mut self, io: &mut TokioIo<Upgraded>, closing: Closing) -> io::Result<()> {
        let Closing(code, mut reason) = closing;
        reason.truncate(reason.floor_char_boundary(MAX_REASON_BYTES));
        let reason = reason.into();
        // Fails only if the client has closed before.
        let _ = self.socket.close(Some(CloseFrame { code, reason }));
        self.write(io).await?;
        io.shutdown().await?;
        let rest = async { tokio::io::copy(io, &mut tokio::io::sink()).await };
        let _ = timeout(Duration::from_secs(1), rest).await;
        Ok(())
    }
}

/// Why messages are no longer exchanged.
enum Ended {
    /// The client has gone.
    Transport(io::Error),
    /// The server closes.
    Closing(Closing),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Transport(error)
    }
}

impl<E: Into<Closing>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Closing(error.into())
    }
}

impl From<CallError> for Closing {
    fn from(error: CallError) -> Self {
        let code = match &error {
            error if error.is_too_large() => CloseCode::Size,
            CallError::Decode(_) | CallError::BadRequest(_) => CloseCode::Invalid,
            CallError::Encode(_) => CloseCode::Error,
            CallError::Exhausted(_) => CloseCode::Again,
        };
        Self(code, error.to_string())
    }
}

impl From<Error> for Closing {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Capacity(CapacityError::MessageTooLong { .. }) => CloseCode::Size,
            Error::Utf8(_) => CloseCode::Invalid,
            Error::Protocol(_) => CloseCode::Protocol,
            _ => CloseCode::Error,
        };
        Self(code, error.to_string())
    }
}

/// A transport in memory, because the codec does not wait. Without input, it would block.
#[derive(Debug, Default)]
struct Memory {
    input: VecDeque<u8>,
    output: Vec<u8>,
}

impl Read for Memory {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.input.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.input.read(buffer)
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 6455 §1.3.
    #[test]
    fn the_accept_value_is_that_of_the_standard() {
        let accepted = accept_value(b"dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(accepted, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
