// Package stack defines a stack's interface to the program: its features and the functions for its roles.
package stack

import (
	"fmt"
	"slices"
	"strings"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
)

// Stack has the features declared in subject.toml, and the functions that implement its roles; nil for a role that it
// does not have.
type Stack struct {
	Name      string
	Protocols map[string][]string
	Encodings []string
	// Streams has the forms of its streams over each protocol.
	Streams map[string][]string
	// Libraries maps the names of versions in subject.toml to module paths.
	Libraries map[string]string
	// BoundsInflation means that the stack applies the decompression limit of the settings.
	BoundsInflation bool
	// Generated reports whether generated code encodes and decodes an encoding.
	Generated func(encoding string) bool
	// CallsByTLS means that its client supports TLS; all servers do.
	CallsByTLS bool

	Serve func(*settings.Server, *bind.Workload) (Server, error)
	Call  func(*settings.Client, *bind.Workload) (measure.Measurer, error)
	Code  func(*settings.Codec, *bind.Workload) (measure.Measurer, error)
}

// Server is a running server.
type Server interface {
	Address() string
	// Certificate is the server's certificate in PEM; empty without TLS.
	Certificate() string
	Stop()
}

// The protocols of the stacks, with their HTTP versions.
var (
	GRPC = map[string][]string{"grpc": {"2"}}
	REST = map[string][]string{"rest": {"1.1", "2"}}
)

// GRPCStreams are the forms of gRPC's streams.
var GRPCStreams = map[string][]string{"grpc": {settings.FromClient, settings.FromServer, settings.Bidirectional}}

// Always is for stacks whose code for messages is always generated.
func Always(string) bool { return true }

const (
	mostThreads  = 64
	mostChannels = 64
	mostInFlight = 1024
)

// Choose finds the stack for the settings, or refuses if the stack does not support all of them.
func Choose(stacks []*Stack, asked any) (*Stack, error) {
	var common *settings.Common
	var call *settings.Call
	threads, channels, inFlight, style, connection := 1, 1, 1, "blocking", "reuse"
	callsByTLS := false
	switch asked := asked.(type) {
	case *settings.Server:
		common, call = &asked.Common, &asked.Call
		threads = asked.Threads
	case *settings.Client:
		common, call = &asked.Common, &asked.Call
		channels, inFlight, connection = asked.Channels, asked.InFlight, asked.Connection
		callsByTLS = asked.Certificate != ""
		if asked.Style != "" {
			style = asked.Style
		}
	case *settings.Codec:
		common = &asked.Common
	default:
		return nil, fmt.Errorf("no stack for %T", asked)
	}
	chosen, err := named(stacks, common)
	if err != nil {
		return nil, err
	}
	limits := common.Limits
	carriesMany := call != nil && call.HTTP == "2" && connection == "reuse"
	wants := []struct {
		has  bool
		what string
	}{
		{slices.Contains(chosen.Encodings, common.Encoding), fmt.Sprintf("encoding %q", common.Encoding)},
		{limits.MaxDepth == 0, "limit max_depth"},
		{limits.MaxInflation == 0 || chosen.BoundsInflation, "limit max_inflation"},
		{threads <= mostThreads, fmt.Sprintf("%d threads", threads)},
		{channels == 1 || carriesMany && channels <= mostChannels, fmt.Sprintf("%d channels", channels)},
		{inFlight <= mostInFlight, fmt.Sprintf("%d calls in flight", inFlight)},
		{chosen.CallsByTLS || !callsByTLS, "client that speaks TLS"},
		{style == "blocking", fmt.Sprintf("style %q", style)},
		{connection == "reuse" || connection == "per-call", fmt.Sprintf("connection %q", connection)},
	}
	for _, want := range wants {
		if !want.has {
			return nil, settings.Refuse(settings.User, "the stack %s has no %s", chosen.Name, want.what)
		}
	}
	if call != nil && !slices.Contains(chosen.Protocols[call.Protocol], call.HTTP) {
		return nil, settings.Refuse(settings.User, "the stack %s has no %q over HTTP %q", chosen.Name, call.Protocol, call.HTTP)
	}
	if call != nil && call.Stream != nil && !slices.Contains(chosen.Streams[call.Protocol], call.Stream.Form) {
		return nil, settings.Refuse(settings.User, "the stack %s has no %s streams over %q", chosen.Name, call.Stream.Form,
			call.Protocol)
	}
	return chosen, nil
}

// named returns the stack with the given name, or, without a name, the first stack with the role.
func named(stacks []*Stack, common *settings.Common) (*Stack, error) {
	var able []string
	for _, stack := range stacks {
		if !stack.has(common.Role) {
			continue
		}
		if common.Stack == "" || common.Stack == stack.Name {
			return stack, nil
		}
		able = append(able, stack.Name)
	}
	return nil, settings.Refuse(settings.User, "no stack %q is a %s in this program: it has %s", common.Stack,
		common.Role, strings.Join(able, " and "))
}

func (s *Stack) has(role string) bool {
	switch role {
	case "server":
		return s.Serve != nil
	case "client":
		return s.Call != nil
	}
	return s.Code != nil
}
