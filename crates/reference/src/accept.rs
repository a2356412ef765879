//! New connections, and which thread serves them.

use std::io;
use std::net;
use std::os::unix::net as unix;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::listen::Socket;
use crate::service::Service;
use crate::{connection, log};

/// After a failed accept (no file descriptors left, for one) the next is tried this much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// TCP keepalive: the kernel probes a client that was silent for this long, so that no call pays for
/// it.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);

/// A thread that serves: its runtime and its own service.
pub(crate) struct Worker {
    pub(crate) handle: Handle,
    pub(crate) service: Arc<Service>,
}

/// Accepts connections and hands them to the workers round-robin. The first worker's runtime must be
/// the one that this runs on. Ends only when the socket cannot be used at all.
pub(crate) async fn accept(
    socket: &Socket,
    tls: Option<TlsAcceptor>,
    workers: &[Worker],
    stop: &watch::Receiver<()>,
) -> io::Result<()> {
    match socket {
        Socket::Tcp(socket) => {
            socket.set_nonblocking(true)?;
            let listener = TcpListener::from_std(socket.try_clone()?)?;
            let next = async || {
                let (stream, _) = listener.accept().await?;
                tune(&stream).map(|()| stream)
            };
            deal(next, tls, workers, stop).await
        }
        Socket::Unix(socket) => {
            socket.set_nonblocking(true)?;
            let listener = UnixListener::from_std(socket.try_clone()?)?;
            let next = async || listener.accept().await.map(|(stream, _)| stream);
            deal(next, tls, workers, stop).await
        }
    }
}

/// Responses leave at once, and clients that vanished are noticed.
fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEPALIVE_AFTER)?;
    Ok(())
}

async fn deal<S: Stream>(
    next: impl AsyncFn() -> io::Result<S>,
    tls: Option<TlsAcceptor>,
    workers: &[Worker],
    stop: &watch::Receiver<()>,
) -> io::Result<()> {
    let builder = Arc::new(connection::builder());
    for (index, worker) in workers.iter().enumerate().cycle() {
        let stream = loop {
            match next().await {
                Ok(stream) => break stream,
                Err(error) => {
                    log::connection_error(&format!("not accepted: {error}"));
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        };
        let http = (tls.clone(), Arc::clone(&builder));
        spawn(stream, index == 0, worker, http, stop.clone());
    }
    // The cycle ends only without workers.
    Err(io::Error::other("no thread serves"))
}

/// Serves a connection on a worker. On this very runtime it stays registered as it is; for another
/// one it is registered again.
fn spawn<S: Stream>(
    stream: S,
    own_runtime: bool,
    worker: &Worker,
    (tls, builder): (Option<TlsAcceptor>, Arc<auto::Builder<TokioExecutor>>),
    mut stop: watch::Receiver<()>,
) {
    let service = Arc::clone(&worker.service);
    let serve = async move |stream: S| {
        let Some(tls) = tls else {
            return connection::serve(TokioIo::new(stream), &builder, service, stop).await;
        };
        let shaken = timeout(service.timeouts.first_request, tls.accept(stream));
        let shaken = tokio::select! {
            shaken = shaken => shaken,
            _ = stop.changed() => return,
        };
        match shaken {
            Ok(Ok(stream)) => {
                connection::serve(TokioIo::new(stream), &builder, service, stop).await;
            }
            Ok(Err(error)) => log::connection_error(&format!("TLS handshake: {error}")),
            Err(_) => log::connection_error(&"TLS handshake: not over in time"),
        }
    };
    if own_runtime {
        worker.handle.spawn(serve(stream));
        return;
    }
    let moved = stream.into_std();
    worker.handle.spawn(async move {
        match moved.and_then(S::from_std) {
            Ok(stream) => serve(stream).await,
            Err(error) => log::connection_error(&error),
        }
    });
}

/// A connection that can go from one runtime to another.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    type Std: Send + 'static;
    fn into_std(self) -> io::Result<Self::Std>;
    fn from_std(stream: Self::Std) -> io::Result<Self>
    where
        Self: Sized;
}

impl Stream for TcpStream {
    type Std = net::TcpStream;
    fn into_std(self) -> io::Result<Self::Std> {
        Self::into_std(self)
    }
    fn from_std(stream: Self::Std) -> io::Result<Self> {
        Self::from_std(stream)
    }
}

impl Stream for UnixStream {
    type Std = unix::UnixStream;
    fn into_std(self) -> io::Result<Self::Std> {
        Self::into_std(self)
    }
    fn from_std(stream: Self::Std) -> io::Result<Self> {
        Self::from_std(stream)
    }
}
