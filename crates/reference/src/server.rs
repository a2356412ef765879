//! The server: a listener, serving threads, and shutdown.
//!
//! Each thread runs its own single-threaded runtime. The first one also accepts connections and distributes
//! them to the threads round-robin. A connection stays on its thread.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rpcgauge_contract::{Address, Fault, MAX_THREADS};
use rpcgauge_message::workload::WorkloadError;
use rpcgauge_message::{CodeKind, MethodKind, Workload};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{oneshot, watch};

use crate::accept::{Worker, accept};
use crate::budget::Ledger;
use crate::grpc::Methods;
use crate::listen::{ListenError, Listener};
use crate::service::Service;
use crate::settings::ServerOptions;
use crate::tls::Tls;

/// How long calls in flight may take to complete after shutdown begins.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Why the server cannot run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe each variant")]
pub enum ServeError {
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("cannot serve the workload: {0}")]
    Workload(#[from] WorkloadError),
    /// The level of the response compression is invalid, or a compressor cannot be created.
    #[error("cannot compress or decompress: {0}")]
    Compression(String),
    #[error("cannot stream: {0}")]
    Stream(String),
    #[error("cannot serve with {0} threads: use 1 to {MAX_THREADS}")]
    Threads(u32),
    #[error("the server cannot continue: {0}")]
    System(#[from] io::Error),
}

impl ServeError {
    /// Who can fix the error.
    pub const fn fault(&self) -> Fault {
        match self {
            Self::Listen(error) => error.fault(),
            Self::Workload(_) | Self::Compression(_) | Self::Stream(_) | Self::Threads(_) => {
                Fault::User
            }
            Self::System(_) => Fault::Machine,
        }
    }
}

/// A server that is listening but not serving yet. Calls wait until it serves.
pub struct Server {
    listener: Listener,
    tls: Option<Tls>,
    /// One for each thread.
    services: Vec<Arc<Service>>,
    workload: Workload,
}

impl Server {
    /// Prepares the workload and starts listening.
    pub fn bind(settings: &ServerOptions) -> Result<Self, ServeError> {
        Self::bind_with(settings, &Methods::new())
    }

    /// Like [`Server::bind`], but with additional gRPC methods. A method at the path of the workload's method
    /// replaces it.
    pub fn bind_with(settings: &ServerOptions, methods: &Methods) -> Result<Self, ServeError> {
        if !(1..=MAX_THREADS).contains(&settings.threads) {
            return Err(ServeError::Threads(settings.threads));
        }
        let workload = Workload::new(&settings.workload)?;
        settings
            .check_stream(&workload)
            .map_err(ServeError::Stream)?;
        let service = |ledger| {
            Service::new(workload.clone(), methods.clone(), settings, ledger)
                .map(Arc::new)
                .map_err(|error| ServeError::Compression(error.to_string()))
        };
        let services = Ledger::sharing(settings.memory, settings.threads)
            .into_iter()
            .map(service)
            .collect::<Result<_, _>>()?;
        let listener = Listener::bind(&settings.listen)?;
        let tls = settings.tls.then(|| Tls::for_address(listener.address()));
        Ok(Self {
            tls: tls.transpose()?,
            listener,
            services,
            workload,
        })
    }

    /// The address that the server listens on, including the port that the system assigned.
    pub fn address(&self) -> &Address {
        self.listener.address()
    }

    /// The server's certificate as PEM, if it uses TLS.
    pub fn certificate(&self) -> Option<&str> {
        self.tls.as_ref().map(|tls| tls.certificate.as_str())
    }

    /// Whether generated or dynamic code encodes and decodes the messages.
    pub fn code(&self) -> CodeKind {
        self.workload.code()
    }

    /// The paths of the workload's gRPC methods, with their kinds.
    pub fn methods(&self) -> impl Iterator<Item = (MethodKind, &str)> {
        self.workload.methods()
    }

    /// The path of a gRPC or Connect call.
    pub fn method_path(&self) -> &str {
        self.workload.method_path()
    }

    /// The path of a REST call.
    pub fn rest_path(&self) -> &str {
        self.workload.rest_path()
    }

    /// Like [`Server::serve`], but serves until `wait` returns. `wait` runs on its own thread.
    pub fn serve_until(self, wait: impl FnOnce() + Send + 'static) -> Result<(), ServeError> {
        let (done, waited) = oneshot::channel();
        thread::Builder::new()
            .name("wait-for-end".to_owned())
            .spawn(move || {
                wait();
                // Sending fails only if the server has already stopped.
                let _ = done.send(());
            })?;
        self.serve(async move {
            // If the sender is gone, `wait` panicked, and the server must stop.
            let _ = waited.await;
        })
    }

    /// Serves until `shutdown` is ready. Then completes the calls in flight within at most two seconds, and
    /// removes the file of a Unix domain socket. This blocks the calling thread, which must not belong to an
    /// async runtime.
    pub fn serve(self, shutdown: impl Future<Output = ()>) -> Result<(), ServeError> {
        let (stop, stopped) = watch::channel(());
        let runtime = runtime()?;
        let helpers = (1..self.services.len())
            .map(Helper::start)
            .collect::<io::Result<Vec<_>>>()?;
        let handles = [runtime.handle()]
            .into_iter()
            .chain(helpers.iter().map(|h| &h.handle));
        let workers: Vec<Worker> = handles
            .zip(self.services)
            .map(|(handle, service)| Worker {
                handle: handle.clone(),
                service,
            })
            .collect();
        let socket = &self.listener.socket;
        let tls = self.tls.map(|tls| tls.acceptor);
        let result = runtime.block_on(async {
            let result = tokio::select! {
                () = shutdown => Ok(()),
                result = accept(socket, tls, &workers, &stopped) => result,
            };
            drop(stopped);
            // Sending fails only if every connection has already ended.
            let _ = stop.send(());
            let _ = tokio::time::timeout(DRAIN_TIMEOUT, stop.closed()).await;
            result
        });
        helpers.into_iter().for_each(Helper::end);
        Ok(result?)
    }
}

/// The runtime of an additional thread.
struct Helper {
    handle: Handle,
    thread: JoinHandle<()>,
    end: oneshot::Sender<()>,
}

impl Helper {
    fn start(index: usize) -> io::Result<Self> {
        let runtime = runtime()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel();
        let thread = thread::Builder::new()
            .name(format!("serve-{index}"))
            .spawn(move || {
                // Ends when the sender is dropped.
                let _ = runtime.block_on(ended);
            })?;
        Ok(Self {
            handle,
            thread,
            end,
        })
    }

    /// Stops the thread and closes its remaining connections.
    fn end(self) {
        drop(self.end);
        // If the thread panicked, nothing is lost that is still needed.
        let _ = self.thread.join();
    }
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
