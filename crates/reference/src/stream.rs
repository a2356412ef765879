//! Responses of several messages, which are produced while they are sent.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use http::HeaderMap;
use hyper::body::{Body, Frame};
use rpcgauge_message::Message;

use crate::body::{Piece, ResponseBody};
use crate::budget::{Charge, Exhausted, Ledger};
use crate::service::{Call, CallError, Service};

/// A response pauses while it has this many unsent bytes, so that a slow reader costs little memory. It is
/// enough to keep a connection busy until the next message is encoded.
const MAX_UNSENT_BYTES: usize = 64 << 10;

/// Memory of an unsent message in addition to its bytes: its HTTP/2 frame and its place in the queue.
const PIECE_BYTES: usize = 256;

/// The messages of a response, in a protocol's framing.
pub(crate) trait Messages: Send + Unpin + 'static {
    /// Why there are no more messages before the end.
    type Error: From<CallError>;

    /// The next message with its framing; `None` after the last one.
    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Vec<u8>>, Self::Error>>;

    /// The trailers after the last message, or the error that interrupts the body because its protocol has no
    /// other way to report it.
    fn end(ended: Result<(), Self::Error>) -> Result<Option<HeaderMap>, CallError>;
}

/// The body of a response of several messages.
struct MessageStream<M> {
    messages: M,
    unsent: Arc<Unsent>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No message has been produced.
    Opening,
    /// The connection, a task on the same thread, gets a turn to send the first message. It would otherwise be
    /// sent only after as many messages as there is room for.
    Yielding,
    Running,
    Over,
}

impl ResponseBody {
    /// A body of messages that are produced when the connection has room for them.
    pub(crate) fn of_messages(
        messages: impl Messages,
        service: &Service,
    ) -> Result<Self, CallError> {
        Ok(Self::Streamed(Box::pin(MessageStream {
            messages,
            unsent: Unsent::new(&service.ledger)?,
            state: State::Opening,
        })))
    }
}

impl<M: Messages> Body for MessageStream<M> {
    type Data = Piece;
    type Error = CallError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, CallError>>> {
        let this = self.get_mut();
        match this.state {
            State::Opening | State::Running => {}
            State::Yielding => {
                this.state = State::Running;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            State::Over => return Poll::Ready(None),
        }
        ready!(this.unsent.poll_room(context));
        let message = ready!(this.messages.poll_next(context));
        let piece = message.and_then(|message| {
            let piece = message.map(|bytes| this.unsent.piece(bytes)).transpose();
            piece.map_err(|error| CallError::from(error).into())
        });
        let ended = match piece {
            Ok(Some(piece)) => {
                if this.state == State::Opening {
                    this.state = State::Yielding;
                }
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        this.state = State::Over;
        let last = M::end(ended).transpose();
        Poll::Ready(last.map(|trailers| trailers.map(Frame::trailers)))
    }

    fn is_end_stream(&self) -> bool {
        self.state == State::Over
    }
}

/// The responses to the only request of a call.
pub(crate) struct Responses {
    service: Arc<Service>,
    request: Message,
    /// How to encode the responses.
    agreed: Call<'static>,
    /// The first response. It is encoded before the response begins, so that a request without responses is
    /// refused like that of a unary call.
    first: Option<Vec<u8>>,
    /// The number of the next response to encode.
    next: u64,
}

impl Responses {
    /// Decodes the request, and encodes the first response to it.
    pub(crate) fn new(
        service: &Arc<Service>,
        call: &Call<'_>,
        agreed: Call<'static>,
    ) -> Result<Self, CallError> {
        let request = service.request(call)?;
        let first = service.nth_response(&request, 0, &agreed)?;
        Ok(Self {
            service: Arc::clone(service),
            request,
            agreed,
            first: Some(first),
            next: 1,
        })
    }

    /// The next response after the prefix; `None` after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, CallError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        if self.next >= self.service.messages.into() {
            return Ok(None);
        }
        let number = self.next;
        self.next += 1;
        let response = self
            .service
            .nth_response(&self.request, number, &self.agreed);
        response.map(Some)
    }
}

/// The unsent messages of a response, which share its charge on the budget until the last one has been sent.
#[derive(Debug)]
pub(crate) struct Unsent(Mutex<Counted>);

#[derive(Debug)]
struct Counted {
    bytes: usize,
    charge: Charge,
    /// The response that is waiting for room.
    waiting: Option<Waker>,
}

/// One message's share of the unsent bytes, returned on drop.
#[derive(Debug)]
pub(crate) struct Share {
    unsent: Arc<Unsent>,
    bytes: usize,
}

impl Unsent {
    fn new(ledger: &Arc<Ledger>) -> Result<Arc<Self>, Exhausted> {
        Ok(Arc::new(Self(Mutex::new(Counted {
            bytes: 0,
            charge: Charge::of(ledger, 0)?,
            waiting: None,
        }))))
    }

    /// Waits until the response may produce another message.
    fn poll_room(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut counted = self.counted();
        if counted.bytes < MAX_UNSENT_BYTES {
            return Poll::Ready(());
        }
        counted.waiting = Some(context.waker().clone());
        Poll::Pending
    }

    fn piece(self: &Arc<Self>, bytes: Vec<u8>) -> Result<Piece, Exhausted> {
        let share = bytes.capacity() + PIECE_BYTES;
        let mut counted = self.counted();
        let unsent = counted.bytes + share;
        counted.charge.cover(unsent)?;
        counted.bytes = unsent;
        let share = Share {
            unsent: Arc::clone(self),
            bytes: share,
        };
        Ok(Piece::of_stream(bytes, share))
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        // No panic is possible while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counted = self.unsent.counted();
        counted.bytes -= self.bytes;
        if counted.bytes < MAX_UNSENT_BYTES
            && let Some(waiting) = counted.waiting.take()
        {
            drop(counted);
            waiting.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    /// Messages of this length without end.
    struct Endless(usize);

    impl Messages for Endless {
        type Error = CallError;

        fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>, CallError>> {
            Poll::Ready(Ok(Some(vec![0; self.0])))
        }

        fn end(ended: Result<(), CallError>) -> Result<Option<HeaderMap>, CallError> {
            ended.map(|()| None)
        }
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn stream(length: usize, budget: usize) -> MessageStream<Endless> {
        MessageStream {
            messages: Endless(length),
            unsent: Unsent::new(&Ledger::sharing(budget, 1)[0]).expect("room"),
            state: State::Running,
        }
    }

    type Polled = Poll<Option<Result<Frame<Piece>, CallError>>>;

    fn poll(stream: &mut MessageStream<Endless>, woken: &Arc<Woken>) -> Polled {
        let waker = Arc::clone(woken).into();
        Pin::new(stream).poll_frame(&mut Context::from_waker(&waker))
    }

    /// Produces pieces until the stream pauses.
    fn pieces(stream: &mut MessageStream<Endless>, woken: &Arc<Woken>) -> Vec<Frame<Piece>> {
        let mut pieces = Vec::new();
        while let Poll::Ready(piece) = poll(stream, woken) {
            pieces.push(piece.expect("no end").expect("room"));
        }
        pieces
    }

    #[test]
    fn a_stream_pauses_while_its_messages_are_unsent() {
        for length in [0, 5, 1000, 40_000, 1 << 20] {
            let (mut stream, woken) = (stream(length, usize::MAX), Arc::default());
            let mut unsent = pieces(&mut stream, &woken);
            let most = MAX_UNSENT_BYTES.div_ceil(length + PIECE_BYTES);
            assert_eq!(unsent.len(), most, "messages of {length} bytes");
            let sent = |unsent: &mut Vec<_>| {
                while woken.0.load(Ordering::Relaxed) == 0 {
                    unsent.pop().expect("woken before the last was sent");
                }
            };
            sent(&mut unsent);
            let more = pieces(&mut stream, &woken).len();
            assert_eq!(unsent.len() + more, most);
        }
    }

    #[test]
    fn the_first_message_is_sent_before_the_second_is_produced() {
        let woken = Arc::default();
        let mut stream = MessageStream {
            state: State::Opening,
            ..stream(5, usize::MAX)
        };
        assert_eq!(pieces(&mut stream, &woken).len(), 1);
        assert_eq!(woken.0.load(Ordering::Relaxed), 1, "it goes on by itself");
        assert!(pieces(&mut stream, &woken).len() > 1);
    }

    #[test]
    fn a_stream_without_room_in_the_budget_ends_and_returns_its_share() {
        let (mut stream, woken) = (stream(40_000, 64 << 10), Arc::default());
        let Poll::Ready(Some(Ok(first))) = poll(&mut stream, &woken) else {
            panic!("there is room for one");
        };
        let second = poll(&mut stream, &woken);
        assert!(matches!(
            second,
            Poll::Ready(Some(Err(CallError::Exhausted(_))))
        ));
        assert!(matches!(poll(&mut stream, &woken), Poll::Ready(None)));
        let unsent = Arc::downgrade(&stream.unsent);
        drop(stream);
        assert!(unsent.upgrade().is_some(), "a piece holds the charge");
        drop(first);
        assert!(unsent.upgrade().is_none());
    }
}
