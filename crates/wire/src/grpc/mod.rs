//! gRPC over HTTP/2: message framing and status
//! (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>).
