// Package nethttp is the stack net-http: the standard library's server and client.
package nethttp

import (
	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/formats"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/stack"
)

// Stack returns the stack.
func Stack() *stack.Stack {
	return &stack.Stack{
		Name:            "net-http",
		Protocols:       stack.REST,
		Encodings:       []string{"json", "protojson", "protobuf", "msgpack"},
		BoundsInflation: true,
		Generated:       formats.Generated,
		Serve: func(asked *settings.Server, workload *bind.Workload) (stack.Server, error) {
			return serve(asked, workload)
		},
		Call: func(asked *settings.Client, workload *bind.Workload) (measure.Measurer, error) {
			return open(asked, workload)
		},
	}
}
