// Package bind is what the generated code of a set of messages looks like to the stacks. The generator
// (cmd/generate) writes a Method for each method of the set.
package bind

import (
	"context"
	"net/http"
	"strconv"

	"connectrpc.com/connect"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"rpcgauge/subjects/go/internal/settings"
)

// Set is a set of messages.
type Set struct {
	Methods []Method
	// Text says that the JSON types have 64-bit integers as text, as the proto3 JSON mapping does.
	Text bool
	// Services are the built-in workloads'; there are none for a user's own messages.
	Services map[string]Service
}

// Service makes the handlers of a built-in workload of n items, one for each kind of types.
type Service struct {
	// Path is that of the REST resource.
	Path string
	// Method is /package.Service/Method.
	Method string
	Proto  func(n int) (ProtoHandler, error)
	Plain  func(n int) (PlainHandler, error)
}

// ProtoHandler responds to a request with the messages of protoc-gen-go. Its error is the request's
// fault.
type ProtoHandler func(request proto.Message) (proto.Message, error)

// PlainHandler does the same with the types for encoding/json, which are pointers to structs.
type PlainHandler func(request any) (any, error)

// Method is a method as its generated code has it.
type Method struct {
	// Path is /package.Service/Method.
	Path string

	NewRequest, NewResponse           func() proto.Message
	NewPlainRequest, NewPlainResponse func() any

	ServeGRPC    func(grpc.ServiceRegistrar, GRPCHandler)
	CallGRPC     func(grpc.ClientConnInterface) GRPCCaller
	ServeConnect func(ConnectHandler, ...connect.HandlerOption) http.Handler
	CallConnect  func(client connect.HTTPClient, base string, options ...connect.ClientOption) ConnectCaller
	ServeGateway func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error
}

// GRPCHandler is the body of a method of a server that protoc-gen-go-grpc generated.
type GRPCHandler func(ctx context.Context, request proto.Message) (proto.Message, error)

// GRPCCaller is a method of a client that protoc-gen-go-grpc generated.
type GRPCCaller func(ctx context.Context, request proto.Message, options ...grpc.CallOption) (proto.Message, error)

// ConnectHandler is the body of a method of a handler that protoc-gen-connect-go generated.
type ConnectHandler func(ctx context.Context, request proto.Message) (proto.Message, Marks, error)

// ConnectCaller is a method of a client that protoc-gen-connect-go generated.
type ConnectCaller func(ctx context.Context, request proto.Message) (proto.Message, http.Header, error)

// Marks are the handler's times; 0 where they are not asked for.
type Marks struct {
	Start, End int64
}

// Each gives the names and values of the headers.
func (m Marks) Each(set func(name, value string)) {
	if m.Start == 0 {
		return
	}
	set(settings.HandlerStart, strconv.FormatInt(m.Start, 10))
	set(settings.HandlerEnd, strconv.FormatInt(m.End, 10))
}

// ReadMarks takes them from a response's headers.
func ReadMarks(get func(name string) string) Marks {
	// A header that is missing or no number is a mark that was not observed.
	start, _ := strconv.ParseInt(get(settings.HandlerStart), 10, 64)
	end, _ := strconv.ParseInt(get(settings.HandlerEnd), 10, 64)
	return Marks{Start: start, End: end}
}

// ConnectResponse is what a generated method of a handler returns.
func ConnectResponse[T any](message proto.Message, marks Marks, err error) (*connect.Response[T], error) {
	if err != nil {
		return nil, err
	}
	response := connect.NewResponse(any(message).(*T))
	marks.Each(response.Header().Set)
	return response, nil
}

// ConnectCall adapts a method of a generated client.
func ConnectCall[Request, Response any](
	call func(context.Context, *connect.Request[Request]) (*connect.Response[Response], error),
) ConnectCaller {
	return func(ctx context.Context, request proto.Message) (proto.Message, http.Header, error) {
		response, err := call(ctx, connect.NewRequest(any(request).(*Request)))
		if err != nil {
			return nil, nil, err
		}
		return any(response.Msg).(proto.Message), response.Header(), nil
	}
}
