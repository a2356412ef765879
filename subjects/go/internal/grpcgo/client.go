package grpcgo

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/formats"
	"rpcgauge/subjects/go/internal/listen"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
)

// Client rotates calls over channels, or opens a channel for each call.
type Client struct {
	asked    *settings.Client
	call     func(channel grpc.ClientConnInterface) Caller
	format   formats.Format
	requests []any
	turn     atomic.Uint64
	deadline time.Duration
	dialing  []grpc.DialOption
	options  []grpc.CallOption

	channels []*grpc.ClientConn
	callers  []Caller
}

// open creates a client and connects it.
func open(asked *settings.Client, workload *bind.Workload, methods Methods) (*Client, error) {
	c := &Client{
		asked:    asked,
		call:     methods.of(workload, asked.Encoding).Call,
		format:   formats.Of[asked.Encoding],
		deadline: time.Duration(asked.DeadlineMS) * time.Millisecond,
	}
	for _, text := range asked.Requests {
		request, err := c.format.Read(workload, "request", text)
		if err != nil {
			return nil, err
		}
		c.requests = append(c.requests, request)
	}
	if err := setLevel(asked.RequestCompression); err != nil {
		return nil, err
	}
	c.options = []grpc.CallOption{
		grpc.ForceCodecV2(stampingCodec{codecs[asked.Encoding]}),
		grpc.MaxCallRecvMsgSize(asked.Limits.MessageBytes()),
	}
	if asked.RequestCompression > 0 {
		c.options = append(c.options, grpc.UseCompressor(gzip.Name))
	}
	if asked.ResponseCompression == 0 {
		// The library lists gzip in each call if the program contains it.
		c.options = append(c.options, experimental.AcceptCompressors())
	}
	transport := insecure.NewCredentials()
	if asked.Certificate != "" {
		transport = credentials.NewTLS(listen.Trusting(asked.Certificate))
	}
	c.dialing = []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		// The server is on this host, so proxies from the environment must be ignored.
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(c.options...),
	}
	if asked.Marks {
		c.dialing = append(c.dialing, grpc.WithStatsHandler(firstBytes{}))
	}
	if asked.Connection == "per-call" {
		return c, nil
	}
	for range asked.Channels {
		channel, err := c.dial()
		if err != nil {
			return nil, err
		}
		c.channels = append(c.channels, channel)
		c.callers = append(c.callers, c.call(stampingChannel{channel}))
	}
	_, err := c.Reopen()
	return c, err
}

func (c *Client) dial() (*grpc.ClientConn, error) {
	channel, err := grpc.NewClient(c.asked.Address, c.dialing...)
	if err != nil {
		return nil, settings.Refuse(settings.Subject, "no channel to %s: %v", c.asked.Address, err)
	}
	return channel, nil
}

func (c *Client) connect(channel *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.deadline)
	defer cancel()
	for {
		state := channel.GetState()
		if state == connectivity.Ready {
			return nil
		}
		channel.Connect()
		if !channel.WaitForStateChange(ctx, state) {
			return settings.Refuse(settings.Machine, "no connection to %s in %v", c.asked.Address, c.deadline)
		}
	}
}

// Reopen connects the channels that are not connected.
func (c *Client) Reopen() (int, error) {
	opened := 0
	for _, channel := range c.channels {
		if channel.GetState() == connectivity.Ready {
			continue
		}
		if err := c.connect(channel); err != nil {
			return opened, err
		}
		opened++
	}
	return opened, nil
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
	var caller Caller
	if len(c.callers) > 0 {
		caller = c.callers[turn%uint64(len(c.callers))]
	} else {
		channel, err := c.dial()
		if err != nil {
			return nil, err
		}
		defer channel.Close()
		caller = c.call(stampingChannel{channel})
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
		said := status.Convert(err)
		return nil, fmt.Errorf("%v: %s", said.Code(), said.Message())
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
