//! Bodies that a thread generates ahead of the calls.
//!
//! Bodies are passed in batches. Passing single bodies would wake the thread, with a system call, for every
//! call.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;
use std::vec;

use crate::bodies::{Body, BodyIterator, CodecError, MixBodies};
use crate::engine::outgoing::{Outgoing, framed};
use crate::error::LoadError;
use crate::trial::Trial;

const BATCH_BODIES: usize = 1024;

/// A batch is full once its bodies total this many bytes.
const BATCH_BYTES: usize = 1 << 20;

/// Maximum number of batches that are ready, in addition to the one in use.
const BATCHES_READY: usize = 16;

/// How long the trial waits for the first batches.
const HEAD_START: Duration = Duration::from_secs(1);

pub(crate) type Made = Result<Outgoing, CodecError>;

/// A generated body, and the call of the mix that it is for.
pub(super) type MadeFor = (usize, Result<Body, CodecError>);

/// The state of the next body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Ready,
    /// The body has not been generated yet.
    Late,
    /// There are no more bodies.
    UsedUp,
}

#[derive(Debug)]
pub(super) struct Prefetch {
    batches: Receiver<Vec<Made>>,
    /// The bodies of the current batch. It is not empty after [`Prefetch::next`] has returned
    /// [`Next::Ready`].
    pub(super) batch: vec::IntoIter<Made>,
}

impl Prefetch {
    /// Starts a thread that generates bodies for a trial, and gives it a head start. Each body is for a call of
    /// the mix, given by its index.
    pub(super) fn start(
        bodies: impl Iterator<Item = MadeFor> + Send + 'static,
        trial: &Trial,
    ) -> Result<Prefetch, LoadError> {
        let (sender, batches) = sync_channel(BATCHES_READY);
        let (full, is_full) = sync_channel(1);
        let trial = trial.clone();
        thread::Builder::new()
            .name("bodies".to_owned())
            .spawn(move || make(bodies, &trial, &sender, &full))
            .map_err(LoadError::machine("start a thread that generates bodies"))?;
        // The queue is full, the bodies have ended, or `HEAD_START` is over. The trial begins with the bodies
        // that are ready.
        let (Ok(()) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout)) =
            is_full.recv_timeout(HEAD_START);
        Ok(Prefetch {
            batches,
            batch: Vec::new().into_iter(),
        })
    }

    /// Checks whether a body is ready.
    pub(super) fn next(&mut self) -> Next {
        if self.batch.as_slice().is_empty() {
            self.next_batch()
        } else {
            Next::Ready
        }
    }

    #[cold]
    fn next_batch(&mut self) -> Next {
        while self.batch.as_slice().is_empty() {
            match self.batches.try_recv() {
                Ok(batch) => self.batch = batch.into_iter(),
                Err(TryRecvError::Empty) => return Next::Late,
                Err(TryRecvError::Disconnected) => return Next::UsedUp,
            }
        }
        Next::Ready
    }
}

/// The bodies of a mix, in the order in which calls use them. They end when one of the iterators does.
pub(super) fn mixed(
    bodies: Vec<MixBodies>,
    trial: &Trial,
) -> impl Iterator<Item = MadeFor> + Send + 'static {
    let endless = |bodies| -> BodyIterator {
        match bodies {
            MixBodies::Prepared(bodies) => Box::new(bodies.into_iter().map(Ok).cycle()),
            MixBodies::Streamed(bodies) => bodies,
        }
    };
    let mut bodies: Vec<BodyIterator> = bodies.into_iter().map(endless).collect();
    let mut order = trial.mix_order(0);
    std::iter::from_fn(move || {
        let mix_call = order.next()?;
        Some((mix_call, bodies.get_mut(mix_call)?.next()?))
    })
}

/// Fills the queue until the bodies or the trial end. Sends on `full` when the queue is full for the first
/// time.
fn make(
    bodies: impl Iterator<Item = MadeFor>,
    trial: &Trial,
    batches: &SyncSender<Vec<Made>>,
    full: &SyncSender<()>,
) {
    let mut bodies = bodies.fuse();
    let mut sent = 0;
    loop {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH_BODIES && bytes < BATCH_BYTES {
            let Some((mix_call, body)) = bodies.next() else {
                break;
            };
            let made = body.and_then(|body| {
                framed(body, mix_call, trial).map_err(|error| CodecError(error.to_string()))
            });
            if let Ok(outgoing) = &made {
                bytes += outgoing.body.len();
                // The first clone allocates the reference count. Doing it here moves the allocation out of
                // the call.
                drop(outgoing.body.clone());
            }
            batch.push(made);
        }
        if batch.is_empty() || batches.send(batch).is_err() {
            return;
        }
        sent += 1;
        if sent == BATCHES_READY {
            let _ = full.try_send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rpcgauge_trial::Address;
    use rpcgauge_wire::Protocol;

    use super::*;
    use crate::trial::{CallStyle, Endpoint, Request};

    fn body(bytes: &[u8]) -> Body {
        Body {
            bytes: bytes.to_vec(),
            compressed: false,
            plain_len: bytes.len() as u64,
            fields: Vec::new(),
        }
    }

    fn trial(grpc: bool) -> Trial {
        let endpoint = Endpoint {
            address: Address::Unix("never-called".into()),
            protocol: Protocol::Http2,
            more_addresses: Vec::new(),
            tls: None,
        };
        let style = if grpc {
            CallStyle::Grpc { subtype: None }
        } else {
            CallStyle::Http {
                method: "POST".to_owned(),
            }
        };
        let request = Request {
            style,
            path: "/a.B/C".to_owned(),
            authority: "localhost".to_owned(),
            headers: Vec::new(),
        };
        Trial::new(endpoint, request)
    }

    /// Takes all bodies, waiting for late ones.
    fn take_all(prefetch: &mut Prefetch) -> Vec<Made> {
        let mut taken = Vec::new();
        loop {
            match prefetch.next() {
                Next::Ready => taken.extend(prefetch.batch.next()),
                Next::Late => thread::yield_now(),
                Next::UsedUp => return taken,
            }
        }
    }

    #[test]
    fn every_body_comes_once_and_in_order() {
        for grpc in [false, true] {
            let prefix = if grpc { &[0, 0, 0, 0, 4][..] } else { &[] };
            let count = 3 * BATCH_BODIES as u32 + 7;
            let bodies = (0..count).map(|n| (0, Ok(body(&n.to_be_bytes()))));
            let mut prefetch = Prefetch::start(bodies, &trial(grpc)).unwrap();
            let taken = take_all(&mut prefetch);
            assert_eq!(taken.len(), count as usize);
            for (n, made) in (0..count).zip(taken) {
                let outgoing = made.unwrap();
                assert_eq!(outgoing.body, [prefix, &n.to_be_bytes()].concat());
                assert_eq!((outgoing.plain, outgoing.carried), (4, 4));
            }
        }
    }

    #[test]
    fn a_body_that_cannot_be_made_has_its_error_in_its_place() {
        let with_field = |value: &str| Body {
            fields: vec![("x-id".to_owned(), value.to_owned())],
            ..body(b"d")
        };
        let bodies = [
            Ok(body(b"a")),
            Err(CodecError("row 2".into())),
            Ok(with_field("7")),
            Ok(with_field("7\n")),
        ];
        let bodies = bodies.into_iter().map(|body| (0, body));
        let mut prefetch = Prefetch::start(bodies, &trial(false)).unwrap();
        let taken = take_all(&mut prefetch);
        let errors = taken.iter().map(|made| made.as_ref().err());
        let errors: Vec<_> = errors.map(|error| error.map(|error| &*error.0)).collect();
        let field = "the request cannot be sent: header \"x-id\" has a value with control characters or spaces \
                     around it";
        assert_eq!(errors, [None, Some("row 2"), None, Some(field)]);
        let has_own_head = |made: &Made| made.as_ref().is_ok_and(|made| made.own.is_some());
        assert_eq!(taken.iter().position(has_own_head), Some(2));
    }

    /// The thread waits at the bound. Otherwise it would fill the memory.
    #[test]
    fn no_more_than_the_bound_are_made_ahead() {
        let large = vec![0; BATCH_BYTES];
        // `+ 1` is the batch that the thread holds while it waits for room.
        for (bytes, most) in [
            (&large[..1], (BATCHES_READY + 1) * BATCH_BODIES),
            (&large[..], BATCHES_READY + 1),
        ] {
            let made = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&made);
            let bytes = bytes.to_vec();
            let bodies = std::iter::repeat_with(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                (0, Ok(body(&bytes)))
            });
            let prefetch = Prefetch::start(bodies, &trial(false)).unwrap();
            // Long enough for the thread to exceed the bound if it did not wait.
            thread::sleep(Duration::from_millis(50));
            let made = made.load(Ordering::Relaxed);
            assert!(made <= most, "{made} of {most}");
            drop(prefetch);
        }
    }
}
