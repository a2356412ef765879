// Package web is what the stacks on net/http share: a server, a transport, and gzip.
package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"rpcgauge/subjects/go/internal/listen"
	"rpcgauge/subjects/go/internal/settings"
)

// Server is a server that is up.
type Server struct {
	address string
	server  *http.Server
}

// Serve starts a server for both versions of HTTP; version 2 is cleartext with prior knowledge. It has no time
// limits: between slices connections are kept, also those that have carried no request yet.
func Serve(where settings.Listen, handler http.Handler) (*Server, error) {
	listener, address, err := listen.On(where)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, Protocols: protocols()}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // The listener broke: no call can be served.
		}
	}()
	return &Server{address: address, server: server}, nil
}

// Address is where it listens.
func (s *Server) Address() string { return s.address }

// Stop ends it.
func (s *Server) Stop() {
	// What cannot be closed ends with the process.
	_ = s.server.Close()
}

func protocols() *http.Protocols {
	both := &http.Protocols{}
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	return both
}

// only is the one version of HTTP.
func only(version string) *http.Protocols {
	one := &http.Protocols{}
	one.SetHTTP1(version == "1.1")
	one.SetUnencryptedHTTP2(version == "2")
	return one
}

// Deadline is the context of a call.
func Deadline(asked *settings.Client) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Duration(asked.DeadlineMS)*time.Millisecond)
}
