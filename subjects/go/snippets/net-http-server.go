package snippets

import (
	"net/http"
	"time"
)

// NewServer returns a server for HTTP/1.1. Its idle timeout is longer than that of clients, so that no request meets a
// connection that the server is closing.
func NewServer(address string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:              address,
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
}
