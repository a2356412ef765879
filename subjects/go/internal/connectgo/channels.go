package connectgo

import (
	"io"
	"net/http"

	"connectrpc.com/connect"

	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/web"
)

// channels are a client's transports with what makes calls over each.
type channels[Caller any] struct {
	asked   *settings.Client
	call    func(connect.HTTPClient, string, ...connect.ClientOption) Caller
	options []connect.ClientOption
	// doer is complete except for its client.
	doer doer

	transports web.Transports
	callers    []Caller
}

// dial creates the transports, and connects them. call is a method of the generated client.
func dial[Caller any](
	asked *settings.Client, call func(connect.HTTPClient, string, ...connect.ClientOption) Caller,
) (*channels[Caller], error) {
	c := &channels[Caller]{asked: asked, call: call, transports: web.NewTransports(asked, false)}
	c.options = []connect.ClientOption{connect.WithReadMaxBytes(asked.Limits.MessageBytes())}
	if asked.Protocol == "grpc" {
		c.doer.prefix = grpcPrefix
		c.options = append(c.options, connect.WithGRPC())
	}
	if asked.Encoding == "protojson" {
		c.options = append(c.options, connect.WithProtoJSON())
	}
	switch {
	case asked.RequestCompression > 0:
		c.options = append(c.options,
			connect.WithAcceptCompression(gzipName, newReader, writers(asked.RequestCompression)),
			connect.WithSendGzip())
		// By default the library accepts every compression that it supports.
		c.doer.plainResponse = asked.ResponseCompression == 0
	case asked.ResponseCompression == 0:
		c.options = append(c.options, connect.WithAcceptCompression(gzipName, nil, nil))
	}
	for _, transport := range c.transports {
		c.callers = append(c.callers, c.over(transport))
	}
	_, err := c.Reopen()
	return c, err
}

// over returns what makes calls over a transport.
func (c *channels[Caller]) over(transport *web.Transport) Caller {
	doer := c.doer
	doer.client = &http.Client{
		Transport: transport.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	return c.call(doer, "http://"+transport.Host, c.options...)
}

// Caller returns what makes a call that streams, and what to close after it unless it is nil. A call with a connection
// of its own also has a transport of its own: in a shared one, net/http sometimes assigns the same new connection to two
// calls and repeats one of them, which fails because the messages that a stream has sent cannot be sent again.
func (c *channels[Caller]) Caller(call uint64) (Caller, io.Closer, error) {
	if c.asked.Connection == "per-call" {
		transport := web.NewTransport(c.asked, false)
		return c.over(transport), idle{transport}, nil
	}
	return c.callers[call%uint64(len(c.callers))], nil, nil
}

// idle closes the connections of a transport.
type idle struct{ *web.Transport }

func (i idle) Close() error {
	i.CloseIdleConnections()
	return nil
}

// Reopen reopens lost connections.
func (c *channels[Caller]) Reopen() (int, error) {
	ctx, cancel := web.Deadline(c.asked)
	defer cancel()
	return c.transports.Connect(ctx)
}
