// Package grpcgo is the stack grpc-go: google.golang.org/grpc with the code of protoc-gen-go-grpc.
package grpcgo

import (
	"context"
	"strings"

	"google.golang.org/grpc"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/formats"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/stack"
)

// Method is a method as protoc-gen-go-grpc generated it, or one by hand.
type Method struct {
	Serve func(grpc.ServiceRegistrar, Handler)
	Call  func(grpc.ClientConnInterface) Caller
}

// Handler is the body of a server's method.
type Handler func(ctx context.Context, request any) (any, error)

// Caller is a client's method.
type Caller func(ctx context.Context, request any, options ...grpc.CallOption) (any, error)

// Methods are those of a set of messages, by their paths.
type Methods map[string]Method

// Stack is the stack with the methods.
func Stack(methods Methods) *stack.Stack {
	return &stack.Stack{
		Name:       "grpc-go",
		Protocols:  stack.GRPC,
		Encodings:  []string{"protobuf", "hybrid"},
		Libraries:  map[string]string{"grpc": "google.golang.org/grpc"},
		Generated:  formats.Generated,
		CallsByTLS: true,
		Serve: func(asked *settings.Server, workload *bind.Workload) (stack.Server, error) {
			return Serve(asked, workload, methods)
		},
		Call: func(asked *settings.Client, workload *bind.Workload) (measure.Measurer, error) {
			return open(asked, workload, methods)
		},
	}
}

// of is the workload's method for messages in an encoding.
func (m Methods) of(workload *bind.Workload, encoding string) Method {
	if encoding == "hybrid" {
		return byHand(workload)
	}
	return m[workload.Path]
}

// byHand is a method of the types for encoding/json, with what the generated code has for its own.
func byHand(workload *bind.Workload) Method {
	service, name, _ := strings.Cut(strings.TrimPrefix(workload.Path, "/"), "/")
	return Method{
		Serve: func(server grpc.ServiceRegistrar, handle Handler) {
			method := func(_ any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				request := workload.NewPlainRequest()
				if err := read(request); err != nil {
					return nil, err
				}
				return handle(ctx, request)
			}
			server.RegisterService(&grpc.ServiceDesc{
				ServiceName: service,
				Methods:     []grpc.MethodDesc{{MethodName: name, Handler: method}},
			}, nil)
		},
		Call: func(channel grpc.ClientConnInterface) Caller {
			return func(ctx context.Context, request any, options ...grpc.CallOption) (any, error) {
				response := workload.NewPlainResponse()
				err := channel.Invoke(ctx, workload.Path, request, response, options...)
				return response, err
			}
		},
	}
}
