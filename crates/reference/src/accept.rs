//! Accepts new connections and assigns them to threads.

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

/// Pause after a failed accept, for example when the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// TCP keepalive: how long a client must be silent before the kernel probes it. Probes never delay a call.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);

/// A thread that serves connections: its runtime and its own service.
pub(crate) struct Worker {
    pub(crate) handle: Handle,
    pub(crate) service: Arc<Service>,
}

/// Accepts connections and distributes them to the workers round-robin. Must run on the first worker's
/// runtime. Returns only if the socket is unusable.
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

/// Disables Nagle's algorithm, and enables keepalive to detect clients that vanished.
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
                    log::connection_error(&format!("cannot accept a connection: {error}"));
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        };
        let http = (tls.clone(), Arc::clone(&builder));
        spawn(stream, index == 0, worker, http, stop.clone());
    }
    // Reached only if there are no workers.
    Err(io::Error::other("there are no serving threads"))
}

/// Serves a connection on a worker. If the worker has another runtime, the connection is first registered
/// there.
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
            Err(_) => log::connection_error(&"TLS handshake: not completed in time"),
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

/// A connection that can move between runtimes.
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
