// Package grpcgo is the stack grpc-go: google.golang.org/grpc with the code of protoc-gen-go-grpc.
package grpcgo

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/stack"
)

// Method is a method as protoc-gen-go-grpc generated it.
type Method struct {
	Serve func(grpc.ServiceRegistrar, Handler)
	Call  func(grpc.ClientConnInterface) Caller
}

// Handler is the body of a server's method.
type Handler func(ctx context.Context, request proto.Message) (proto.Message, error)

// Caller is a client's method.
type Caller func(ctx context.Context, request proto.Message, options ...grpc.CallOption) (proto.Message, error)

// Methods are those of a set of messages, by their paths.
type Methods map[string]Method

// Stack is the stack with the methods.
func Stack(methods Methods) *stack.Stack {
	return &stack.Stack{
		Name:      "grpc-go",
		Protocols: stack.GRPC,
		Encodings: []string{"protobuf"},
		Libraries: map[string]string{"grpc": "google.golang.org/grpc"},
		Generated: stack.Always,
		Serve: func(asked *settings.Server, workload *bind.Workload) (stack.Server, error) {
			return Serve(asked, workload, methods)
		},
		Call: func(asked *settings.Client, workload *bind.Workload) (measure.Measurer, error) {
			return open(asked, workload, methods[workload.Path])
		},
	}
}
