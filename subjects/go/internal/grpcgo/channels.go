package grpcgo

import (
	"context"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/experimental"

	"rpcgauge/subjects/go/internal/listen"
	"rpcgauge/subjects/go/internal/settings"
)

// channels are a client's channels with what makes calls over each, or open a channel for each call.
type channels[Caller any] struct {
	asked    *settings.Client
	call     func(*grpc.ClientConn) Caller
	deadline time.Duration
	dialing  []grpc.DialOption

	open    []*grpc.ClientConn
	callers []Caller
}

// dial opens the channels, and connects them.
func dial[Caller any](
	asked *settings.Client, codec encoding.CodecV2, call func(*grpc.ClientConn) Caller,
) (*channels[Caller], error) {
	if err := setLevel(asked.RequestCompression); err != nil {
		return nil, err
	}
	c := &channels[Caller]{
		asked:    asked,
		call:     call,
		deadline: time.Duration(asked.DeadlineMS) * time.Millisecond,
		dialing:  dialOptions(asked, codec),
	}
	if asked.Connection == "per-call" {
		return c, nil
	}
	for range asked.Channels {
		channel, err := c.dial()
		if err != nil {
			return nil, err
		}
		c.open = append(c.open, channel)
		c.callers = append(c.callers, c.call(channel))
	}
	_, err := c.Reopen()
	return c, err
}

func dialOptions(asked *settings.Client, codec encoding.CodecV2) []grpc.DialOption {
	calling := []grpc.CallOption{
		grpc.ForceCodecV2(codec),
		grpc.MaxCallRecvMsgSize(asked.Limits.MessageBytes()),
	}
	if asked.RequestCompression > 0 {
		calling = append(calling, grpc.UseCompressor(gzip.Name))
	}
	if asked.ResponseCompression == 0 {
		// The library lists gzip in each call if the program contains it.
		calling = append(calling, experimental.AcceptCompressors())
	}
	transport := insecure.NewCredentials()
	if asked.Certificate != "" {
		transport = credentials.NewTLS(listen.Trusting(asked.Certificate))
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		// The server is on this host, so proxies from the environment must be ignored.
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(calling...),
	}
	if asked.Marks {
		options = append(options, grpc.WithStatsHandler(firstBytes{}))
	}
	return options
}

func (c *channels[Caller]) dial() (*grpc.ClientConn, error) {
	channel, err := grpc.NewClient(c.asked.Address, c.dialing...)
	if err != nil {
		return nil, settings.Refuse(settings.Subject, "no channel to %s: %v", c.asked.Address, err)
	}
	return channel, nil
}

// Caller returns what makes a call, and a channel to close after the call unless it is nil.
func (c *channels[Caller]) Caller(call uint64) (Caller, io.Closer, error) {
	if len(c.callers) > 0 {
		return c.callers[call%uint64(len(c.callers))], nil, nil
	}
	channel, err := c.dial()
	if err != nil {
		var none Caller
		return none, nil, err
	}
	return c.call(channel), channel, nil
}

func (c *channels[Caller]) connect(channel *grpc.ClientConn) error {
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
func (c *channels[Caller]) Reopen() (int, error) {
	opened := 0
	for _, channel := range c.open {
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
