// Package subject is the program: it speaks the contract on standard input and output, in the role that
// the settings line names.
package subject

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/codecs"
	"rpcgauge/subjects/go/internal/connectgo"
	"rpcgauge/subjects/go/internal/gateway"
	"rpcgauge/subjects/go/internal/grpcgo"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/nethttp"
	"rpcgauge/subjects/go/internal/settings"
)

const version = "1.0"

// Main plays the role that the settings ask for, with the messages of the set, and ends the process.
func Main(set *bind.Set) {
	lab := settings.NewConversation(os.Stdin, os.Stdout)
	if err := play(lab, set); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(lab.Refuse(err))
	}
}

func play(lab *settings.Conversation, set *bind.Set) error {
	line, err := lab.Line()
	if err != nil {
		return settings.Refuse(settings.Instrument, "no settings line: %v", err)
	}
	asked, err := settings.Parse(line)
	if err != nil {
		return err
	}
	stack, err := choose(asked)
	if err != nil {
		return err
	}
	switch asked := asked.(type) {
	case *settings.Server:
		return serve(lab, stack, asked, set)
	case *settings.Client:
		return call(lab, stack, asked, set)
	case *settings.Codec:
		return code(lab, stack, asked, set)
	}
	return fmt.Errorf("no role for %T", asked)
}

// stopper is a server that is up.
type stopper interface{ Stop() }

func serve(lab *settings.Conversation, stack *stack, asked *settings.Server, set *bind.Set) error {
	workload, err := set.Find(&asked.Workload)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(asked.Threads)
	ready := stack.ready(asked.Encoding)
	server, err := start(stack, asked, workload, &ready.Address)
	if err != nil {
		return err
	}
	defer server.Stop()
	if err := lab.Ready(ready); err != nil {
		return err
	}
	lab.WaitForEnd()
	return nil
}

func start(stack *stack, asked *settings.Server, workload *bind.Workload, address *string) (stopper, error) {
	switch stack.name {
	case "grpc-go":
		server, err := grpcgo.Serve(asked, workload)
		if err != nil {
			return nil, err
		}
		*address = server.Address
		return server, nil
	case "net-http":
		server, err := nethttp.Serve(asked, workload)
		if err != nil {
			return nil, err
		}
		*address = server.Address
		return server, nil
	case "connect-go":
		server, err := connectgo.Serve(asked, workload)
		if err != nil {
			return nil, err
		}
		*address = server.Address
		return server, nil
	}
	serve := gateway.ServeTogether
	if stack.name == "grpc-gateway-apart" {
		serve = gateway.ServeApart
	}
	server, err := serve(asked, workload)
	if err != nil {
		return nil, err
	}
	*address = server.Address
	return server, nil
}

func call(lab *settings.Conversation, stack *stack, asked *settings.Client, set *bind.Set) error {
	workload, err := set.Find(&asked.Workload)
	if err != nil {
		return err
	}
	client, err := open(stack, asked, workload)
	if err != nil {
		return err
	}
	shape := measure.Shape{InFlight: asked.InFlight}
	return measure.Answer(lab, stack.ready(asked.Encoding), asked.Records, shape, client)
}

func open(stack *stack, asked *settings.Client, workload *bind.Workload) (measure.Measurer, error) {
	switch stack.name {
	case "grpc-go":
		return grpcgo.Open(asked, workload)
	case "net-http":
		return nethttp.Open(asked, workload)
	}
	return connectgo.Open(asked, workload)
}

func code(lab *settings.Conversation, stack *stack, asked *settings.Codec, set *bind.Set) error {
	workload, err := set.Find(&asked.Workload)
	if err != nil {
		return err
	}
	codec, err := codecs.Open(asked, workload)
	if err != nil {
		return err
	}
	shape := measure.Shape{InFlight: 1, InBatches: true}
	return measure.Answer(lab, stack.ready(asked.Encoding), asked.Records, shape, codec)
}

// ready is the stack's ready line, without an address.
func (s *stack) ready(encoding string) settings.Ready {
	versions := map[string]string{"go": strings.TrimPrefix(runtime.Version(), "go"), "rpcgauge-go": version}
	modules := map[string]string{}
	if built, ok := debug.ReadBuildInfo(); ok {
		for _, module := range built.Deps {
			modules[module.Path] = strings.TrimPrefix(module.Version, "v")
		}
	}
	for _, library := range append(s.libraries, libraryOf[encoding]) {
		if version, ok := modules[modulePaths[library]]; ok {
			versions[library] = version
		}
	}
	return settings.Ready{Versions: versions, Generated: nethttp.Formats[encoding].Generated}
}

// libraryOf is the library that makes an encoding's bytes; encoding/json is Go's own.
var libraryOf = map[string]string{"protobuf": "protobuf", "protojson": "protobuf", "msgpack": "msgp"}

var modulePaths = map[string]string{
	"connect":      "connectrpc.com/connect",
	"grpc":         "google.golang.org/grpc",
	"grpc-gateway": "github.com/grpc-ecosystem/grpc-gateway/v2",
	"msgp":         "github.com/tinylib/msgp",
	"protobuf":     "google.golang.org/protobuf",
}
