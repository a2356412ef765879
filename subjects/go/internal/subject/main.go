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
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/stack"
)

const version = "1.0"

// Main plays the role that the settings ask for with one of the stacks, and the messages of the set.
func Main(set *bind.Set, stacks ...*stack.Stack) {
	lab := settings.NewConversation(os.Stdin, os.Stdout)
	if err := play(lab, set, stacks); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(lab.Refuse(err))
	}
}

func play(lab *settings.Conversation, set *bind.Set, stacks []*stack.Stack) error {
	line, err := lab.Line()
	if err != nil {
		return settings.Refuse(settings.Instrument, "no settings line: %v", err)
	}
	asked, err := settings.Parse(line)
	if err != nil {
		return err
	}
	chosen, err := stack.Choose(stacks, asked)
	if err != nil {
		return err
	}
	switch asked := asked.(type) {
	case *settings.Server:
		return serve(lab, set, chosen, asked)
	case *settings.Client:
		return call(lab, set, chosen, asked)
	case *settings.Codec:
		return code(lab, set, chosen, asked)
	}
	return fmt.Errorf("no role for %T", asked)
}

func serve(lab *settings.Conversation, set *bind.Set, chosen *stack.Stack, asked *settings.Server) error {
	workload, err := set.Find(&asked.Workload)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(asked.Threads)
	server, err := chosen.Serve(asked, workload)
	if err != nil {
		return err
	}
	defer server.Stop()
	ready := readyLine(chosen, asked.Encoding)
	ready.Address, ready.Certificate = server.Address(), server.Certificate()
	if err := lab.Ready(ready); err != nil {
		return err
	}
	lab.WaitForEnd()
	return nil
}

func call(lab *settings.Conversation, set *bind.Set, chosen *stack.Stack, asked *settings.Client) error {
	workload, err := set.Find(&asked.Workload)
	if err != nil {
		return err
	}
	client, err := chosen.Call(asked, workload)
	if err != nil {
		return err
	}
	shape := measure.Shape{InFlight: asked.InFlight}
	return measure.Answer(lab, readyLine(chosen, asked.Encoding), asked.Records, shape, client)
}

func code(lab *settings.Conversation, set *bind.Set, chosen *stack.Stack, asked *settings.Codec) error {
	workload, err := set.Find(&asked.Workload)
	if err != nil {
		return err
	}
	codec, err := chosen.Code(asked, workload)
	if err != nil {
		return err
	}
	shape := measure.Shape{InFlight: 1, InBatches: true}
	return measure.Answer(lab, readyLine(chosen, asked.Encoding), asked.Records, shape, codec)
}

// readyLine is a stack's ready line, without an address.
func readyLine(chosen *stack.Stack, encoding string) settings.Ready {
	versions := map[string]string{"go": strings.TrimPrefix(runtime.Version(), "go"), "rpcgauge-go": version}
	modules := map[string]string{}
	if built, ok := debug.ReadBuildInfo(); ok {
		for _, module := range built.Deps {
			modules[module.Path] = strings.TrimPrefix(module.Version, "v")
		}
	}
	for name, path := range chosen.Libraries {
		versions[name] = modules[path]
	}
	if library, ok := libraryOf[encoding]; ok {
		versions[library.name] = modules[library.path]
	}
	return settings.Ready{Versions: versions, Generated: chosen.Generated(encoding)}
}

type library struct{ name, path string }

var protobuf = library{"protobuf", "google.golang.org/protobuf"}

// libraryOf makes an encoding's bytes; encoding/json is Go's own.
var libraryOf = map[string]library{
	"hybrid":    protobuf,
	"msgpack":   {"msgp", "github.com/tinylib/msgp"},
	"protobuf":  protobuf,
	"protojson": protobuf,
}
