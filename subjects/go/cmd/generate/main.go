// Command generate generates the Go code for a set of messages, in the same way for the built-in workloads and for a
// user's own messages. It runs the protoc plugins that the build produced, writes the types for encoding/json, and
// binds both to the stacks. All files are written to the set's folder, with an overlay that adds them to this module
// for `go build`.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

const (
	module = "rpcgauge/subjects/go"
	// generated is a folder of the module that exists only in overlays.
	generated = "gen"
	builtin   = "_builtin"
	plugins   = "target/bin"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate FOLDER, which has descriptors.binpb and files.json")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// set is the content of files.json, which describes a set of messages.
type set struct {
	Generate []string `json:"generate"`
	Methods  []struct {
		Path string `json:"path"`
	} `json:"methods"`
}

// isBuiltIn reports whether this is the set of the built-in workloads. A user's set has only one method.
func (s *set) isBuiltIn() bool { return len(s.Methods) > 1 }

func run(folder string) error {
	descriptors := &descriptorpb.FileDescriptorSet{}
	bytes, err := os.ReadFile(filepath.Join(folder, "descriptors.binpb"))
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(bytes, descriptors); err != nil {
		return fmt.Errorf("descriptors.binpb: %w", err)
	}
	var asked set
	if bytes, err = os.ReadFile(filepath.Join(folder, "files.json")); err != nil {
		return err
	}
	if err := json.Unmarshal(bytes, &asked); err != nil {
		return fmt.Errorf("files.json: %w", err)
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	files, err := generate(filepath.Join(root, plugins), folder, descriptors, &asked)
	if err != nil {
		return err
	}
	return write(root, folder, files, asked.isBuiltIn())
}

// write writes the files and their overlay to the set's folder. Names are relative to the module's folder gen, and must
// not lead out of it.
func write(root, folder string, files map[string][]byte, isBuiltIn bool) error {
	out := filepath.Join(folder, "go")
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	inside, err := os.OpenRoot(out)
	if err != nil {
		return err
	}
	defer inside.Close()
	overlay := map[string]string{}
	for name, content := range files {
		if err := inside.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := inside.WriteFile(name, content, 0o644); err != nil {
			return err
		}
		overlay[filepath.Join(root, generated, name)] = filepath.Join(out, name)
	}
	if isBuiltIn {
		services, err := filepath.Glob(filepath.Join(root, builtin, "*.go"))
		if err != nil {
			return err
		}
		for _, path := range services {
			overlay[filepath.Join(root, generated, filepath.Base(path))] = path
		}
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": overlay}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "overlay.json"), text, 0o644)
}

// splitPath splits /package.Service/Method into package.Service and Method.
func splitPath(path string) (service, method string, err error) {
	service, method, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !ok {
		return "", "", fmt.Errorf("%q is not a method path", path)
	}
	return service, method, nil
}
