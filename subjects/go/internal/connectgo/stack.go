// Package connectgo is the stack connect-go: connectrpc.com/connect with the code of protoc-gen-connect-go, over gRPC
// and the Connect protocol.
package connectgo

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/stack"
	"rpcgauge/subjects/go/internal/streams"
)

// Method is a method as protoc-gen-connect-go generated it. It has the first two functions if it is unary, and the
// other two if it streams.
type Method struct {
	Serve func(Handler, ...connect.HandlerOption) http.Handler
	Call  func(client connect.HTTPClient, base string, options ...connect.ClientOption) Caller

	ServeStream func(*streams.Handler, ...connect.HandlerOption) http.Handler
	CallStream  func(client connect.HTTPClient, base string, options ...connect.ClientOption) streams.Caller
}

// Handler is the body of a handler's method.
type Handler func(ctx context.Context, request proto.Message) (proto.Message, bind.Marks, error)

// Caller is a client's method.
type Caller func(ctx context.Context, request proto.Message) (proto.Message, http.Header, error)

// Methods contains the methods of a set of messages by path.
type Methods map[string]Method

// Stack returns the stack with the methods.
func Stack(methods Methods) *stack.Stack {
	return &stack.Stack{
		Name:      "connect-go",
		Protocols: map[string][]string{"grpc": {"2"}, "connect": {"1.1", "2"}},
		Encodings: []string{"protobuf", "protojson"},
		Streams:   stack.GRPCStreams,
		Libraries: map[string]string{"connect": "connectrpc.com/connect"},
		Generated: stack.Always,
		Serve: func(asked *settings.Server, workload *bind.Workload) (stack.Server, error) {
			return serve(asked, workload, methods[workload.Path])
		},
		Call: func(asked *settings.Client, workload *bind.Workload) (measure.Measurer, error) {
			if asked.Stream != nil {
				return openStreams(asked, workload, methods[workload.Path])
			}
			return open(asked, workload, methods[workload.Path])
		},
	}
}

// Response builds the result of a handler's generated method.
func Response[T any](message proto.Message, marks bind.Marks, err error) (*connect.Response[T], error) {
	if err != nil {
		return nil, err
	}
	response := connect.NewResponse(any(message).(*T))
	marks.Each(response.Header().Set)
	return response, nil
}

// Call adapts a method of a generated client.
func Call[Request, Response any](
	call func(context.Context, *connect.Request[Request]) (*connect.Response[Response], error),
) Caller {
	return func(ctx context.Context, request proto.Message) (proto.Message, http.Header, error) {
		response, err := call(ctx, connect.NewRequest(any(request).(*Request)))
		if err != nil {
			return nil, nil, err
		}
		return any(response.Msg).(proto.Message), response.Header(), nil
	}
}
