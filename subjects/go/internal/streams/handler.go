// Package streams has what the stacks share for calls that stream: the loops of a server's methods and of a client's
// calls, in terms of a library's own streams.
package streams

import (
	"errors"
	"io"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/formats"
	"rpcgauge/subjects/go/internal/settings"
)

// Handler is the body of a server's method that streams. Each response is passed to the library before the next one is
// made: the library's Send waits while the client does not read.
type Handler struct {
	series   func(request any, k int) (any, error)
	messages int
	refuse   func(error) error
}

// NewHandler returns the handler for the workload. refuse returns the library's error for a request that is at fault.
func NewHandler(asked *settings.Server, workload *bind.Workload, refuse func(error) error) (*Handler, error) {
	series, err := formats.Of[asked.Encoding].Series(workload)
	return &Handler{series: series, messages: asked.Stream.Messages, refuse: refuse}, err
}

// FromServer sends the responses to a request.
func (h *Handler) FromServer(request any, send func(response any) error) error {
	for k := range h.messages {
		response, err := h.series(request, k)
		if err != nil {
			return h.refuse(err)
		}
		if err := send(response); err != nil {
			return err
		}
	}
	return nil
}

// FromClient reads all requests, and returns the response to the last one. At the end of the requests, receive returns
// an error that wraps io.EOF.
func (h *Handler) FromClient(receive func() (any, error)) (any, error) {
	response, err := any(nil), h.refuse(errors.New("there was no request"))
	for {
		request, ended := receive()
		if errors.Is(ended, io.EOF) {
			return response, err
		}
		if ended != nil {
			return nil, ended
		}
		if response, err = h.series(request, 0); err != nil {
			return nil, h.refuse(err)
		}
	}
}

// Bidirectional sends the response to each request as soon as it has read it.
func (h *Handler) Bidirectional(receive func() (any, error), send func(response any) error) error {
	for {
		request, err := receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		response, err := h.series(request, 0)
		if err != nil {
			return h.refuse(err)
		}
		if err := send(response); err != nil {
			return err
		}
	}
}
