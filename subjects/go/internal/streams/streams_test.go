package streams

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
)

// open is an open call of a library: requests go through a channel to a handler in another goroutine, and responses
// return through another.
type open struct {
	ctx                 context.Context
	requests, responses chan any
	ended               chan struct{}
	err                 error
}

// start starts a call whose method is the handler's.
func start(ctx context.Context, method func(*open) error) *open {
	const room = 16
	call := &open{ctx: ctx, requests: make(chan any), responses: make(chan any, room), ended: make(chan struct{})}
	go func() {
		call.err = method(call)
		close(call.ended)
	}()
	return call
}

func (o *open) Send(request any) error {
	select {
	case o.requests <- request:
		return nil
	case <-o.ended:
		return fmt.Errorf("ended: %w", io.EOF)
	case <-o.ctx.Done():
		return o.ctx.Err()
	}
}

func (o *open) CloseSend() error {
	close(o.requests)
	return nil
}

func (o *open) Receive() (any, error) {
	select {
	case response := <-o.responses:
		return response, nil
	case <-o.ended:
		return o.last()
	case <-o.ctx.Done():
		return nil, o.ctx.Err()
	}
}

// last returns what is left of a call that has ended.
func (o *open) last() (any, error) {
	select {
	case response := <-o.responses:
		return response, nil
	default:
	}
	if o.err != nil {
		return nil, o.err
	}
	return nil, fmt.Errorf("ended: %w", io.EOF)
}

func (o *open) CloseAndReceive() (any, error) {
	close(o.requests)
	return o.Receive()
}

// next and respond are the server's half.
func (o *open) next() (any, error) {
	select {
	case request, more := <-o.requests:
		if !more {
			return nil, io.EOF
		}
		return request, nil
	case <-o.ctx.Done():
		return nil, o.ctx.Err()
	}
}

func (o *open) respond(response any) error {
	select {
	case o.responses <- response:
		return nil
	case <-o.ctx.Done():
		return o.ctx.Err()
	}
}

// handler sums a request and the number of the response; it refuses a negative request.
func handler(messages int) *Handler {
	return &Handler{
		series: func(request any, k int) (any, error) {
			if request.(int) < 0 {
				return nil, errors.New("negative")
			}
			return request.(int) + k, nil
		},
		messages: messages,
		refuse:   func(err error) error { return fmt.Errorf("refused: %w", err) },
	}
}

// caller returns what makes calls of the form to the handler. If less is not 0, the server ends each call after as many
// messages.
func caller(form string, h *Handler, less int) Caller {
	count := func(o *open) (func() (any, error), func(any) error) {
		left := less
		return func() (any, error) {
			if less > 0 && left == 0 {
				return nil, io.EOF
			}
			left--
			return o.next()
		}, o.respond
	}
	switch form {
	case settings.FromServer:
		return FromServer(func(ctx context.Context, request any) (Receiver, error) {
			return start(ctx, func(o *open) error { return h.FromServer(request, o.respond) }), nil
		})
	case settings.FromClient:
		return FromClient(func(ctx context.Context) (Sender, error) {
			return start(ctx, func(o *open) error {
				next, respond := count(o)
				response, err := h.FromClient(next)
				if err != nil {
					return err
				}
				return respond(response)
			}), nil
		})
	}
	return Bidirectional(func(ctx context.Context) (Exchange, error) {
		return start(ctx, func(o *open) error {
			next, respond := count(o)
			return h.Bidirectional(next, respond)
		}), nil
	})
}

func exchange(caller Caller, stream settings.Stream, requests ...int) ([]any, *measure.Messages, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var responses []any
	messages := measure.NewMessages(&stream)
	err := caller.exchange(ctx, cancel, &call{
		stream:   &stream,
		request:  func(k int) any { return requests[k%len(requests)] },
		messages: messages,
		decoded:  func(response any) { responses = append(responses, response) },
	})
	return responses, messages, err
}

func TestEachFormSendsAndReceivesItsMessages(t *testing.T) {
	for _, test := range []struct {
		stream settings.Stream
		want   []any
	}{
		{settings.Stream{Form: settings.FromServer, Messages: 3}, []any{10, 11, 12}},
		{settings.Stream{Form: settings.FromClient, Messages: 4}, []any{20}},
		{settings.Stream{Form: settings.Bidirectional, Messages: 3}, []any{10, 20, 10}},
		{settings.Stream{Form: settings.Bidirectional, Messages: 3, InTurn: true}, []any{10, 20, 10}},
	} {
		responses, messages, err := exchange(caller(test.stream.Form, handler(3), 0), test.stream, 10, 20)
		if err != nil || !slices.Equal(responses, test.want) {
			t.Errorf("%+v: %v, %v", test.stream, err, responses)
		}
		sent, received := messages.Sent, messages.Received
		if len(sent) != test.stream.Requests() || len(received) != test.stream.Responses() {
			t.Errorf("%+v: %d sent, %d received", test.stream, len(sent), len(received))
		}
		if !slices.IsSorted(sent) || !slices.IsSorted(received) || received[0] < sent[0] {
			t.Errorf("%+v: %v, %v", test.stream, sent, received)
		}
		for k := 1; test.stream.InTurn && k < len(sent); k++ {
			if sent[k] < received[k-1] {
				t.Errorf("request %d was sent before response %d was there", k, k-1)
			}
		}
	}
}

func TestWrongNumbersOfMessagesAndErrorsFailTheCall(t *testing.T) {
	const fromServer, fromClient, both = settings.FromServer, settings.FromClient, settings.Bidirectional
	for _, test := range []struct {
		stream  settings.Stream
		caller  Caller
		request int
		want    string
	}{
		{settings.Stream{Form: fromServer, Messages: 4}, caller(fromServer, handler(3), 0), 1, "after 3 of 4 responses"},
		{settings.Stream{Form: fromServer, Messages: 2}, caller(fromServer, handler(3), 0), 1, "more than 2 responses"},
		{settings.Stream{Form: fromServer, Messages: 3}, caller(fromServer, handler(3), 0), -1, "refused: negative"},
		{settings.Stream{Form: fromClient, Messages: 9}, caller(fromClient, handler(1), 5), 1, "after 5 of 9 requests"},
		{settings.Stream{Form: fromClient, Messages: 9}, caller(fromClient, handler(1), 0), -1, "refused: negative"},
		{settings.Stream{Form: both, Messages: 9}, caller(both, handler(1), 5), 1, "after 5 of 9 responses"},
		{settings.Stream{Form: both, Messages: 9}, caller(both, handler(1), 0), -1, "refused: negative"},
		{settings.Stream{Form: both, Messages: 9, InTurn: true}, caller(both, handler(1), 5), 1, "after 5 of 9 responses"},
		{settings.Stream{Form: both, Messages: 9, InTurn: true}, caller(both, handler(1), 0), -1, "refused: negative"},
	} {
		_, _, err := exchange(test.caller, test.stream, test.request)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, and not %q", test.stream, err, test.want)
		}
	}
}

func TestAClientWithoutRequestsIsRefused(t *testing.T) {
	_, err := handler(1).FromClient(func() (any, error) { return nil, io.EOF })
	if err == nil || err.Error() != "refused: there was no request" {
		t.Error(err)
	}
}

// deaf is a call whose responses cannot be read.
type deaf struct{ *open }

func (deaf) Receive() (any, error) { return nil, errors.New("no response can be read") }

func TestTheSideThatFailsFirstStopsTheOther(t *testing.T) {
	caller := Bidirectional(func(ctx context.Context) (Exchange, error) {
		return deaf{start(ctx, func(o *open) error { <-o.ctx.Done(); return nil })}, nil
	})
	_, _, err := exchange(caller, settings.Stream{Form: settings.Bidirectional, Messages: 2}, 1)
	if err == nil || err.Error() != "no response can be read" {
		t.Error(err)
	}
}
