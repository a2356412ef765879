package streams

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
)

// Caller is a client's method that streams: one of the three types below, which open a call. The methods of an open
// call are those of the library: if the call has ended, Send returns an error that wraps io.EOF, and Receive returns the
// call's error, or one that wraps io.EOF if the call succeeded.
type Caller interface {
	// exchange sends and receives the messages of a call, until the call has ended. To end it earlier, it cancels the
	// context.
	exchange(ctx context.Context, cancel context.CancelFunc, call *call) error
}

// FromServer opens a call whose server streams.
type FromServer func(ctx context.Context, request any) (Receiver, error)

// Receiver is an open call that receives.
type Receiver interface {
	Receive() (any, error)
}

// FromClient opens a call whose client streams.
type FromClient func(ctx context.Context) (Sender, error)

// Sender is an open call that sends.
type Sender interface {
	Send(request any) error
	CloseAndReceive() (any, error)
}

// Bidirectional opens a call whose client and server stream.
type Bidirectional func(ctx context.Context) (Exchange, error)

// Exchange is an open call that sends and receives, each in a goroutine of its own.
type Exchange interface {
	Send(request any) error
	CloseSend() error
	Receive() (any, error)
}

// call is the content of a call.
type call struct {
	stream *settings.Stream
	// request returns request number k of the call.
	request  func(k int) any
	messages *measure.Messages
	// decoded gets every response.
	decoded func(response any)
}

func (open FromServer) exchange(ctx context.Context, _ context.CancelFunc, c *call) error {
	at := measure.Now()
	stream, err := open(ctx, c.request(0))
	if err != nil {
		return err
	}
	c.messages.Sent = append(c.messages.Sent, at)
	return c.receiveAll(stream.Receive)
}

func (open FromClient) exchange(ctx context.Context, _ context.CancelFunc, c *call) error {
	stream, err := open(ctx)
	if err != nil {
		return err
	}
	if err := c.sendAll(stream.Send); err != nil {
		return err
	}
	response, err := stream.CloseAndReceive()
	if err != nil {
		return err
	}
	c.received(response)
	return c.sentAll()
}

func (open Bidirectional) exchange(ctx context.Context, cancel context.CancelFunc, c *call) error {
	stream, err := open(ctx)
	if err != nil {
		return err
	}
	if c.stream.InTurn {
		return c.inTurn(stream)
	}
	var once sync.Once
	var failure error
	// The side that fails first has the reason. It stops the other side.
	check := func(err error) {
		if err != nil {
			once.Do(func() { failure = err })
			cancel()
		}
	}
	var sender sync.WaitGroup
	sender.Go(func() {
		if err := c.sendAll(stream.Send); err != nil {
			check(err)
			return
		}
		check(stream.CloseSend())
	})
	check(c.receiveAll(stream.Receive))
	sender.Wait()
	check(c.sentAll())
	return failure
}

// inTurn sends each request after the response to the previous one.
func (c *call) inTurn(stream Exchange) error {
	for k := range c.stream.Requests() {
		if more, err := c.send(k, stream.Send); err != nil {
			return err
		} else if !more {
			break
		}
		response, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return c.endedEarly()
		}
		if err != nil {
			return err
		}
		c.received(response)
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return c.receiveAll(stream.Receive)
}

// sendAll sends the requests until the call ends. If the call ends before the last one, the reason is what Receive
// returns.
func (c *call) sendAll(send func(request any) error) error {
	for k := range c.stream.Requests() {
		if more, err := c.send(k, send); err != nil || !more {
			return err
		}
	}
	return nil
}

// send sends request number k, and reports whether the call goes on.
func (c *call) send(k int, send func(request any) error) (more bool, err error) {
	at := measure.Now()
	err = send(c.request(k))
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.messages.Sent = append(c.messages.Sent, at)
	return true, nil
}

func (c *call) received(response any) {
	c.messages.Received = append(c.messages.Received, measure.Now())
	c.decoded(response)
}

// receiveAll receives responses until the call has ended.
func (c *call) receiveAll(receive func() (any, error)) error {
	want := c.stream.Responses()
	for {
		response, err := receive()
		if errors.Is(err, io.EOF) {
			if len(c.messages.Received) < want {
				return c.endedEarly()
			}
			return nil
		}
		if err != nil {
			return err
		}
		c.received(response)
		if len(c.messages.Received) > want {
			return fmt.Errorf("the server sent more than %d responses", want)
		}
	}
}

func (c *call) endedEarly() error {
	return fmt.Errorf("the server ended the call after %d of %d responses", len(c.messages.Received), c.stream.Responses())
}

// sentAll checks that the call did not end before all requests were sent.
func (c *call) sentAll() error {
	if sent, want := len(c.messages.Sent), c.stream.Requests(); sent < want {
		return fmt.Errorf("the server ended the call after %d of %d requests", sent, want)
	}
	return nil
}
