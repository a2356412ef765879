package connectgo

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/web"
)

// grpcPrefix is the size of the prefix that gRPC adds to each message.
const grpcPrefix = 5

// Client makes unary calls using the generated client.
type Client struct {
	*channels[Caller]
	requests []proto.Message
	turn     atomic.Uint64
}

// open creates a client and connects it.
func open(asked *settings.Client, workload *bind.Workload, method Method) (*Client, error) {
	c := &Client{}
	for _, text := range asked.Requests {
		request, err := workload.ProtoMessage("request", text)
		if err != nil {
			return nil, err
		}
		c.requests = append(c.requests, request)
	}
	var err error
	c.channels, err = dial(asked, method.Call)
	return c, err
}

// Verify makes a call with the first request.
func (c *Client) Verify() (any, error) {
	response, err := c.exchange(0, &measure.Record{})
	if err != nil {
		return nil, settings.Refuse(settings.Subject, "%v", err)
	}
	text, err := protojson.Marshal(response)
	return map[string]json.RawMessage{"message": text}, err
}

// Do makes a call with the next request.
func (c *Client) Do(record *measure.Record) error {
	_, err := c.exchange(c.turn.Add(1)-1, record)
	return err
}

func (c *Client) exchange(turn uint64, record *measure.Record) (proto.Message, error) {
	ctx, cancel := web.Deadline(c.asked)
	defer cancel()
	call := &call{record: record}
	ctx = context.WithValue(ctx, callKey{}, call)
	if c.asked.Marks {
		ctx = call.stamps.Trace(ctx)
	}
	request := c.requests[turn%uint64(len(c.requests))]
	response, header, err := c.callers[turn%uint64(len(c.callers))](ctx, request)
	if err != nil {
		return nil, err
	}
	record.End = measure.Now()
	record.Received = call.body.LastRead
	record.ResponseBytes = uint32(call.body.Bytes - call.prefix)
	if c.asked.Marks {
		call.stamps.Note(record)
		marks := bind.ReadMarks(header.Get)
		record.HandlerStart, record.HandlerEnd = marks.Start, marks.End
	}
	return response, nil
}

// call is what can be observed of a call below the generated client.
type call struct {
	record *measure.Record
	stamps web.Stamps
	body   web.Body
	prefix int64
}

type callKey struct{}

// doer sits between a generated client and its http.Client, where it sees the encoded bytes.
type doer struct {
	client        *http.Client
	prefix        int64
	plainResponse bool
}

func (d doer) Do(request *http.Request) (*http.Response, error) {
	call, ok := request.Context().Value(callKey{}).(*call)
	if ok {
		call.prefix = d.prefix
		call.record.Encoded = measure.Now()
		call.record.RequestBytes = uint32(request.ContentLength - d.prefix)
	}
	if d.plainResponse {
		request.Header.Del("Grpc-Accept-Encoding")
		request.Header.Set("Accept-Encoding", "identity")
	}
	response, err := d.client.Do(request)
	if err != nil || !ok {
		return response, err
	}
	call.body.ReadCloser = response.Body
	response.Body = &call.body
	return response, nil
}
