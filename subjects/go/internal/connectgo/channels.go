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
	asked      *settings.Client
	transports web.Transports
	callers    []Caller
}

// dial creates the transports, and connects them. call is a method of the generated client.
func dial[Caller any](
	asked *settings.Client, call func(connect.HTTPClient, string, ...connect.ClientOption) Caller,
) (*channels[Caller], error) {
	c := &channels[Caller]{asked: asked, transports: web.NewTransports(asked, false)}
	var doer doer
	options := []connect.ClientOption{connect.WithReadMaxBytes(asked.Limits.MessageBytes())}
	if asked.Protocol == "grpc" {
		doer.prefix = grpcPrefix
		options = append(options, connect.WithGRPC())
	}
	if asked.Encoding == "protojson" {
		options = append(options, connect.WithProtoJSON())
	}
	switch {
	case asked.RequestCompression > 0:
		options = append(options,
			connect.WithAcceptCompression(gzipName, newReader, writers(asked.RequestCompression)),
			connect.WithSendGzip())
		// By default the library accepts every compression that it supports.
		doer.plainResponse = asked.ResponseCompression == 0
	case asked.ResponseCompression == 0:
		options = append(options, connect.WithAcceptCompression(gzipName, nil, nil))
	}
	for _, transport := range c.transports {
		doer.client = &http.Client{
			Transport: transport.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
		}
		c.callers = append(c.callers, call(doer, "http://"+transport.Host, options...))
	}
	_, err := c.Reopen()
	return c, err
}

// Caller returns what makes a call. There is nothing to close: the transport closes connections that are not reused.
func (c *channels[Caller]) Caller(call uint64) (Caller, io.Closer, error) {
	return c.callers[call%uint64(len(c.callers))], nil, nil
}

// Reopen reopens lost connections.
func (c *channels[Caller]) Reopen() (int, error) {
	ctx, cancel := web.Deadline(c.asked)
	defer cancel()
	return c.transports.Connect(ctx)
}
