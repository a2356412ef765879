package grpcgo

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/formats"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
)

// Client makes unary calls.
type Client struct {
	*channels[Caller]
	format   formats.Format
	requests []any
	turn     atomic.Uint64
}

// open creates a client and connects it.
func open(asked *settings.Client, workload *bind.Workload, method Method) (*Client, error) {
	c := &Client{format: formats.Of[asked.Encoding]}
	var err error
	if c.requests, err = c.format.Requests(workload, asked.Requests); err != nil {
		return nil, err
	}
	c.channels, err = dial(asked, stampingCodec{codecs[asked.Encoding]}, func(channel *grpc.ClientConn) Caller {
		return method.Call(stampingChannel{channel})
	})
	return c, err
}

// Verify makes a call with the first request.
func (c *Client) Verify() (any, error) {
	response, err := c.exchange(0, &measure.Record{})
	if err != nil {
		return nil, settings.Refuse(settings.Subject, "%v", err)
	}
	text, err := c.format.Write(response)
	return map[string]json.RawMessage{"message": text}, err
}

// Do makes a call with the next request.
func (c *Client) Do(record *measure.Record) error {
	_, err := c.exchange(c.turn.Add(1)-1, record)
	return err
}

func (c *Client) exchange(turn uint64, record *measure.Record) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.deadline)
	defer cancel()
	request := c.requests[turn%uint64(len(c.requests))]
	caller, own, err := c.Caller(turn)
	if err != nil {
		return nil, err
	}
	if own != nil {
		defer own.Close()
	}
	call := &call{record: record}
	ctx = context.WithValue(ctx, callKey{}, call)
	var header metadata.MD
	var options []grpc.CallOption
	if c.asked.Marks {
		options = append(options, grpc.Header(&header))
	}
	response, err := caller(ctx, request, options...)
	if err != nil {
		return nil, explained(err)
	}
	record.End = measure.Now()
	record.First = call.first.Load()
	if c.asked.Marks {
		marks := bind.ReadMarks(func(name string) string {
			if values := header.Get(name); len(values) > 0 {
				return values[0]
			}
			return ""
		})
		record.HandlerStart, record.HandlerEnd = marks.Start, marks.End
	}
	if c.asked.RequestCompression > 0 {
		// What happens below the codec cannot be observed.
		record.Encoded, record.RequestBytes = 0, measure.NotKnown
	}
	if c.asked.ResponseCompression > 0 {
		record.Received, record.ResponseBytes = 0, measure.NotKnown
	}
	return response, nil
}

// explained returns the error of a call, without the words that the library adds to its status.
func explained(err error) error {
	said := status.Convert(err)
	return fmt.Errorf("%v: %s", said.Code(), said.Message())
}
