//! Connects to a Unix domain socket with a timeout. The standard library's connect has no timeout: it blocks
//! while the listen queue is full.

use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rpcgauge_trial::abstract_name;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};

/// Connects to the socket at `path`, and waits at most `timeout` (more than 0) for a place in its listen
/// queue. The stream itself has no timeout.
///
/// # Errors
/// Nothing is listening at the path, the path is too long, or the queue stayed full
/// ([`ErrorKind::TimedOut`]).
pub fn connect_unix(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let address = match abstract_name(path) {
        Some(name) => SocketAddrUnix::new_abstract_name(name)?,
        None => SocketAddrUnix::new(path)?,
    };
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // On Linux, the send timeout also applies to connecting (socket(7)).
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(timeout))?;
    retry_on_intr(|| connect(&socket, &address)).map_err(|error| match error {
        Errno::AGAIN => {
            let text = format!("the service did not accept the connection within {timeout:?}");
            io::Error::new(ErrorKind::TimedOut, text)
        }
        error => error.into(),
    })?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, None)?;
    Ok(UnixStream::from(socket))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_stream_that_was_connected_carries_bytes_and_has_no_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).expect("a listener");
        let mut stream = connect_unix(&path, Duration::from_secs(10)).expect("a connection");
        stream.write_all(b"hello").expect("written");
        assert_eq!(stream.write_timeout().expect("a setting"), None);
        drop(stream);
        let mut received = String::new();
        let (mut accepted, _) = listener.accept().expect("accepted");
        accepted.read_to_string(&mut received).expect("read");
        assert_eq!(received, "hello");
    }

    #[test]
    fn a_listener_that_accepts_nothing_is_given_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let _listener = UnixListener::bind(&path).expect("a listener");
        let mut waiting = Vec::new();
        // The system chooses the queue's length. Until the queue is full, every connect succeeds immediately.
        let error = loop {
            match connect_unix(&path, Duration::from_millis(20)) {
                Ok(stream) => waiting.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("within 20ms"), "{error}");
    }

    #[test]
    fn a_path_without_a_listener_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = connect_unix(&folder.path().join("s"), Duration::from_secs(10))
            .expect_err("no socket is there");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
