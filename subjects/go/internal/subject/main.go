// Package subject implements the program: it follows the contract on standard input and output, in the role given by
// the settings line.
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

// Main plays the role given by the settings, using the stacks and the messages of the set.
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
	switch asked := asked.(type) {
	case []*settings.Server:
		return serve(lab, set, stacks, asked)
	case []*settings.Client:
		return call(lab, set, stacks, asked)
	case *settings.Codec:
		return code(lab, set, stacks, asked)
	}
	return fmt.Errorf("no role for %T", asked)
}

func serve(lab *settings.Conversation, set *bind.Set, stacks []*stack.Stack, asked []*settings.Server) error {
	var ready readyLine
	for _, part := range asked {
		if part.Threads != asked[0].Threads {
			return settings.Refuse(settings.User, "all parts of a process must have the same number of threads, not %d and %d",
				asked[0].Threads, part.Threads)
		}
	}
	runtime.GOMAXPROCS(asked[0].Threads)
	for _, part := range asked {
		chosen, workload, err := chooseCall(set, stacks, part, &part.Workload, &part.Call)
		if err != nil {
			return err
		}
		server, err := chosen.Serve(part, workload)
		if err != nil {
			return err
		}
		defer server.Stop()
		said := ready.add(chosen, part.Encoding)
		said.Address, said.Certificate = server.Address(), server.Certificate()
	}
	if err := lab.Ready(ready.Ready); err != nil {
		return err
	}
	lab.WaitForEnd()
	return nil
}

func call(lab *settings.Conversation, set *bind.Set, stacks []*stack.Stack, asked []*settings.Client) error {
	var ready readyLine
	var parts []measure.Part
	for _, part := range asked {
		chosen, workload, err := chooseCall(set, stacks, part, &part.Workload, &part.Call)
		if err != nil {
			return err
		}
		client, err := chosen.Call(part, workload)
		if err != nil {
			return err
		}
		ready.add(chosen, part.Encoding)
		parts = append(parts, measure.Part{
			Measurer:       client,
			Records:        part.Records,
			Stream:         part.Stream,
			MessageRecords: part.MessageRecords,
			InFlight:       part.InFlight,
		})
	}
	return measure.Answer(lab, ready.Ready, parts, false)
}

func code(lab *settings.Conversation, set *bind.Set, stacks []*stack.Stack, asked *settings.Codec) error {
	chosen, workload, err := choose(set, stacks, asked, &asked.Workload, "")
	if err != nil {
		return err
	}
	codec, err := chosen.Code(asked, workload)
	if err != nil {
		return err
	}
	var ready readyLine
	ready.add(chosen, asked.Encoding)
	parts := []measure.Part{{Measurer: codec, Records: asked.Records, InFlight: 1}}
	return measure.Answer(lab, ready.Ready, parts, true)
}

// chooseCall chooses for calls, whose form must be that of the method. REST and codecs use only the method's messages.
func chooseCall(
	set *bind.Set, stacks []*stack.Stack, asked any, workload *settings.Workload, call *settings.Call,
) (*stack.Stack, *bind.Workload, error) {
	form := call.StreamForm()
	chosen, found, err := choose(set, stacks, asked, workload, form)
	if err != nil || call.Protocol == "rest" {
		return chosen, found, err
	}
	return chosen, found, found.CanCall(form)
}

func choose(
	set *bind.Set, stacks []*stack.Stack, asked any, workload *settings.Workload, form string,
) (*stack.Stack, *bind.Workload, error) {
	chosen, err := stack.Choose(stacks, asked)
	if err != nil {
		return nil, nil, err
	}
	found, err := set.Find(workload, form)
	return chosen, found, err
}

// readyLine is a ready line under construction.
type readyLine struct{ settings.Ready }

// add adds a part without an address, and the versions of the libraries that it uses.
func (r *readyLine) add(chosen *stack.Stack, encoding string) *settings.Part {
	if r.Versions == nil {
		r.Versions = map[string]string{"go": strings.TrimPrefix(runtime.Version(), "go"), "rpcgauge-go": version}
	}
	modules := map[string]string{}
	if built, ok := debug.ReadBuildInfo(); ok {
		for _, module := range built.Deps {
			modules[module.Path] = strings.TrimPrefix(module.Version, "v")
		}
	}
	for name, path := range chosen.Libraries {
		r.Versions[name] = modules[path]
	}
	if library, ok := libraryOf[encoding]; ok {
		r.Versions[library.name] = modules[library.path]
	}
	part := settings.Part{}
	if chosen.Generated(encoding) {
		part.Code = settings.Generated
	}
	r.Parts = append(r.Parts, part)
	return &r.Parts[len(r.Parts)-1]
}

type library struct{ name, path string }

var protobuf = library{"protobuf", "google.golang.org/protobuf"}

// libraryOf maps an encoding to the library that implements it; encoding/json belongs to Go.
var libraryOf = map[string]library{
	"hybrid":    protobuf,
	"msgpack":   {"msgp", "github.com/tinylib/msgp"},
	"protobuf":  protobuf,
	"protojson": protobuf,
}
