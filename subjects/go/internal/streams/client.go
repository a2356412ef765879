package streams

import (
	"context"
	"encoding/json"
	"io"
	"sync/atomic"
	"time"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/formats"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
)

// Client makes calls that stream.
type Client struct {
	stream   *settings.Stream
	format   formats.Format
	requests []any
	deadline time.Duration
	calls    atomic.Uint64
	channels Channels
}

// Channels are a client's connections.
type Channels interface {
	// Caller returns what makes a call, and what to close after the call unless it is nil.
	Caller(call uint64) (Caller, io.Closer, error)
	// Reopen reopens lost connections and returns their number.
	Reopen() (int, error)
}

// NewClient returns a client with the requests in the settings.
func NewClient(asked *settings.Client, workload *bind.Workload, channels Channels) (*Client, error) {
	format := formats.Of[asked.Encoding]
	requests, err := format.Requests(workload, asked.Requests)
	if err != nil {
		return nil, err
	}
	return &Client{
		stream:   asked.Stream,
		format:   format,
		requests: requests,
		deadline: time.Duration(asked.DeadlineMS) * time.Millisecond,
		channels: channels,
	}, nil
}

// Reopen reopens lost connections.
func (c *Client) Reopen() (int, error) { return c.channels.Reopen() }

// maxVerified is how many messages the lab wants to see of a call.
const maxVerified = 1000

// Verify makes a call, starting with the first request.
func (c *Client) Verify() (any, error) {
	var responses []any
	seen := func(response any) {
		if len(responses) < maxVerified {
			responses = append(responses, response)
		}
	}
	_, err := c.exchange(0, measure.NewMessages(c.stream), seen)
	if err != nil {
		return nil, settings.Refuse(settings.Subject, "%v", err)
	}
	verified := make([]map[string]json.RawMessage, len(responses))
	for i, response := range responses {
		text, err := c.format.Write(response)
		if err != nil {
			return nil, err
		}
		verified[i] = map[string]json.RawMessage{"message": text}
	}
	return map[string]any{"stream": verified}, nil
}

// Stream makes a call with the next requests.
func (c *Client) Stream(record *measure.Record, messages *measure.Messages) error {
	end, err := c.exchange(c.calls.Add(1)-1, messages, func(any) {})
	if err != nil {
		return err
	}
	record.End = end
	sent, received := messages.Sent, messages.Received
	if c.stream.Form != settings.FromClient {
		record.First, record.Received = received[0], received[len(received)-1]
	}
	if c.stream.Form != settings.Bidirectional {
		// The last request of a bidirectional stream follows the first response, which a record does not allow.
		record.Sent = sent[len(sent)-1]
	}
	return nil
}

// exchange makes a call, and returns when it had ended, before its own connection is closed. Calls take the next
// requests in the order of their numbers.
func (c *Client) exchange(number uint64, messages *measure.Messages, decoded func(response any)) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.deadline)
	defer cancel()
	caller, own, err := c.channels.Caller(number)
	if err != nil {
		return 0, err
	}
	if own != nil {
		// The call has ended, so nothing can be lost.
		defer own.Close()
	}
	first := number * uint64(c.stream.Requests())
	err = caller.exchange(ctx, cancel, &call{
		stream:   c.stream,
		request:  func(k int) any { return c.requests[(first+uint64(k))%uint64(len(c.requests))] },
		messages: messages,
		decoded:  decoded,
	})
	return measure.Now(), err
}
