package subject

import (
	"fmt"
	"slices"
	"strings"

	"rpcgauge/subjects/go/internal/settings"
)

// stack is what a stack can do, as subject.toml declares it.
type stack struct {
	name      string
	roles     []string
	protocols map[string][]string
	encodings []string
	libraries []string
	// boundsInflation says that a limit of its own holds for compressed bodies.
	boundsInflation bool
}

const (
	mostThreads  = 64
	mostInFlight = 1024
)

var (
	grpcOver2  = map[string][]string{"grpc": {"2"}}
	restOnBoth = map[string][]string{"rest": {"1.1", "2"}}
)

var stacks = []stack{
	{
		name:      "grpc-go",
		roles:     []string{"server", "client"},
		protocols: grpcOver2,
		encodings: []string{"protobuf"},
		libraries: []string{"grpc"},
	},
	{
		name:            "net-http",
		roles:           []string{"server", "client"},
		protocols:       restOnBoth,
		encodings:       []string{"json", "protojson", "protobuf", "msgpack"},
		boundsInflation: true,
	},
	{
		name:      "connect-go",
		roles:     []string{"server", "client"},
		protocols: map[string][]string{"grpc": {"2"}, "rest": {"1.1", "2"}},
		encodings: []string{"protobuf", "protojson"},
		libraries: []string{"connect"},
	},
	{
		name:            "grpc-gateway",
		roles:           []string{"server"},
		protocols:       restOnBoth,
		encodings:       []string{"protojson"},
		libraries:       []string{"grpc", "grpc-gateway"},
		boundsInflation: true,
	},
	{
		name:            "grpc-gateway-apart",
		roles:           []string{"server"},
		protocols:       restOnBoth,
		encodings:       []string{"protojson"},
		libraries:       []string{"grpc", "grpc-gateway"},
		boundsInflation: true,
	},
	{name: "protobuf", roles: []string{"codec"}, encodings: []string{"protobuf"}, boundsInflation: true},
	{name: "protojson", roles: []string{"codec"}, encodings: []string{"protojson"}, boundsInflation: true},
	{name: "encoding-json", roles: []string{"codec"}, encodings: []string{"json"}, boundsInflation: true},
	{name: "msgpack", roles: []string{"codec"}, encodings: []string{"msgpack"}, boundsInflation: true},
}

// choose finds the stack, once it is sure that it can do all that is asked of it.
func choose(asked any) (*stack, error) {
	var common *settings.Common
	var call *settings.Call
	threads, inFlight, style, connection := 1, 1, "blocking", "reuse"
	switch asked := asked.(type) {
	case *settings.Server:
		common, call = &asked.Common, &asked.Call
		threads = asked.Threads
	case *settings.Client:
		common, call = &asked.Common, &asked.Call
		inFlight, connection = asked.InFlight, asked.Connection
		if asked.Style != "" {
			style = asked.Style
		}
	case *settings.Codec:
		common = &asked.Common
	default:
		return nil, fmt.Errorf("no stack for %T", asked)
	}
	chosen, err := named(common)
	if err != nil {
		return nil, err
	}
	limits := common.Limits
	wants := []struct {
		is   bool
		what string
	}{
		{slices.Contains(chosen.encodings, common.Encoding), fmt.Sprintf("encoding %q", common.Encoding)},
		{limits.MaxDepth == 0, "limit max_depth"},
		{limits.MaxInflation == 0 || chosen.boundsInflation, "limit max_inflation"},
		{threads <= mostThreads, fmt.Sprintf("%d threads", threads)},
		{inFlight <= mostInFlight, fmt.Sprintf("%d calls in flight", inFlight)},
		{style == "blocking", fmt.Sprintf("style %q", style)},
		{connection == "reuse" || connection == "per-call", fmt.Sprintf("connection %q", connection)},
	}
	for _, want := range wants {
		if !want.is {
			return nil, settings.Refuse(settings.User, "the stack %s has no %s", chosen.name, want.what)
		}
	}
	if call != nil && !slices.Contains(chosen.protocols[call.Protocol], call.HTTP) {
		return nil, settings.Refuse(settings.User, "the stack %s has no %q over HTTP %q", chosen.name, call.Protocol, call.HTTP)
	}
	return chosen, nil
}

// named is the stack of that name, or the first with the role.
func named(common *settings.Common) (*stack, error) {
	var able []string
	for i := range stacks {
		stack := &stacks[i]
		if !slices.Contains(stack.roles, common.Role) {
			continue
		}
		if common.Stack == "" || common.Stack == stack.name {
			return stack, nil
		}
		able = append(able, stack.name)
	}
	return nil, settings.Refuse(settings.User, "no stack %q is a %s here: use %s", common.Stack, common.Role,
		strings.Join(able, " or "))
}
