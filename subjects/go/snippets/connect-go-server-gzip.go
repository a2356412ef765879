package snippets

import "net/http"

// GzipConnectServer serves over HTTP/1.1, and over HTTP/2 without TLS, which gRPC needs. The handler needs no options:
// shopconnect.NewOrdersHandler(orders) compresses the responses to all clients that accept gzip. To leave short ones
// uncompressed, add connect.WithCompressMinBytes.
func GzipConnectServer(address string, handler http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{Addr: address, Handler: handler, Protocols: protocols}
}
