package grpcgo

import (
	"context"
	"fmt"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"

	"rpcgauge/subjects/go/internal/measure"
)

// call is what can be observed of a call below the generated client.
type call struct {
	record *measure.Record
	// first is written by the library's reader.
	first atomic.Int64
}

type callKey struct{}

// stampingChannel sits between a generated client and its channel. It passes the record to the codec together with each
// message.
type stampingChannel struct{ *grpc.ClientConn }

type stamped struct {
	message any
	record  *measure.Record
}

func (c stampingChannel) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	call, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return c.ClientConn.Invoke(ctx, method, request, response, options...)
	}
	return c.ClientConn.Invoke(ctx, method, &stamped{request, call.record}, &stamped{response, call.record}, options...)
}

// stampingCodec wraps another codec and adds stamps.
type stampingCodec struct{ encoding.CodecV2 }

func (c stampingCodec) Marshal(value any) (mem.BufferSlice, error) {
	request, ok := value.(*stamped)
	if !ok {
		return nil, fmt.Errorf("%T did not come through the channel", value)
	}
	data, err := c.CodecV2.Marshal(request.message)
	request.record.Encoded = measure.Now()
	request.record.RequestBytes = uint32(data.Len())
	return data, err
}

func (c stampingCodec) Unmarshal(data mem.BufferSlice, value any) error {
	response, ok := value.(*stamped)
	if !ok {
		return fmt.Errorf("%T did not come through the channel", value)
	}
	response.record.Received = measure.Now()
	response.record.ResponseBytes = uint32(data.Len())
	return c.CodecV2.Unmarshal(data, response.message)
}

// firstBytes stamps the response's headers. It is installed only if stages are timed, because the library does more
// work per call with a stats handler.
type firstBytes struct{}

func (firstBytes) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (firstBytes) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if _, ok := event.(*stats.InHeader); !ok {
		return
	}
	if call, ok := ctx.Value(callKey{}).(*call); ok {
		call.first.Store(measure.Now())
	}
}

func (firstBytes) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (firstBytes) HandleConn(context.Context, stats.ConnStats) {}
