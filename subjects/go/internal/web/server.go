// Package web contains the code that the stacks on net/http share: a server, a transport, and gzip.
package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"rpcgauge/subjects/go/internal/listen"
	"rpcgauge/subjects/go/internal/settings"
)

// Server is a running server.
type Server struct {
	*listen.Socket
	server *http.Server
}

// Serve starts a server for both versions of HTTP; without TLS, HTTP/2 uses prior knowledge. It has no timeouts,
// because connections must stay open between slices, even before their first request.
func Serve(asked *settings.Server, handler http.Handler) (*Server, error) {
	socket, err := listen.On(asked)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, Protocols: protocols(), TLSConfig: socket.TLS}
	serve := server.Serve
	if socket.TLS != nil {
		serve = func(listener net.Listener) error { return server.ServeTLS(listener, "", "") }
	}
	go func() {
		if err := serve(socket); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // The listener failed, so no call can be served.
		}
	}()
	return &Server{Socket: socket, server: server}, nil
}

// Stop stops the server.
func (s *Server) Stop() {
	// Whatever cannot be closed ends with the process.
	_ = s.server.Close()
}

func protocols() *http.Protocols {
	both := &http.Protocols{}
	both.SetHTTP1(true)
	both.SetHTTP2(true)
	both.SetUnencryptedHTTP2(true)
	return both
}

// only returns the protocols for a single version of HTTP.
func only(version string) *http.Protocols {
	one := &http.Protocols{}
	one.SetHTTP1(version == "1.1")
	one.SetUnencryptedHTTP2(version == "2")
	return one
}

// Deadline returns the context for a call, with the deadline of the settings.
func Deadline(asked *settings.Client) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Duration(asked.DeadlineMS)*time.Millisecond)
}
