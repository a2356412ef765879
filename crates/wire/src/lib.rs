//! How a call is framed: sans-I/O HTTP/1.1, HTTP/2, HPACK and gRPC clients.
