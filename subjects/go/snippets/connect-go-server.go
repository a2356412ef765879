package snippets

import (
	"math"
	"net/http"

	"connectrpc.com/connect"
)

// ConnectOptions are those of a handler: shopconnect.NewOrdersHandler(orders, ConnectOptions()...). By default the
// library compresses the responses to all clients that accept gzip, as its own clients do.
func ConnectOptions() []connect.HandlerOption {
	return []connect.HandlerOption{connect.WithCompressMinBytes(math.MaxInt)}
}

// ConnectServer serves over HTTP/1.1, and over HTTP/2 without TLS, which gRPC needs.
func ConnectServer(address string, handler http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{Addr: address, Handler: handler, Protocols: protocols}
}
