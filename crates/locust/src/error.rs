//! Why there is no connection to a master.

/// An error of the connection to a master, on one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocustError {
    /// The name of a master is not `HOST:PORT`.
    #[error("\"{0}\" is not HOST:PORT, as in locust.example:5557")]
    Master(String),
    /// No connection could be opened.
    #[error("cannot connect to the Locust master at {0}: {1}")]
    Connect(String, String),
    /// Nothing at the address acts like a master.
    #[error(
        "{0} does not answer like a Locust master; check that Locust runs there with --master, and the port \
         (--master-bind-port)"
    )]
    NoAnswer(String),
    /// The connection broke and was not restored.
    #[error("the Locust master at {0} has not answered for {1} s")]
    Lost(String, u64),
    /// The thread of the connection could not be started, or ended by itself.
    #[error("the connection to the Locust master failed: {0}")]
    Thread(String),
}
