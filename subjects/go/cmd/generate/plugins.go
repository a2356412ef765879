package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	// The .proto files that ship with the stacks' libraries: each package registers its file. Their Go code is used
	// unchanged, because a program can contain a file only once.
	_ "github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	_ "google.golang.org/genproto/googleapis/api/httpbody"
	_ "google.golang.org/genproto/googleapis/rpc/code"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	_ "google.golang.org/grpc"
	_ "google.golang.org/protobuf/types/gofeaturespb"
	_ "google.golang.org/protobuf/types/known/anypb"
	_ "google.golang.org/protobuf/types/known/apipb"
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb"
	_ "google.golang.org/protobuf/types/known/sourcecontextpb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
	_ "google.golang.org/protobuf/types/known/typepb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"
)

// generate generates all files of a set, by their names in the folder gen. The plugins are in one folder, and may write
// temporary files to scratch.
func generate(plugins, scratch string, descriptors *descriptorpb.FileDescriptorSet, asked *set) (map[string][]byte, error) {
	own := placeFiles(descriptors)
	services, routed, err := route(descriptors, asked)
	if err != nil {
		return nil, err
	}
	model, err := protogen.Options{}.New(request(own, descriptors))
	if err != nil {
		return nil, err
	}
	plain := newPlain()
	files, err := bindings(model, asked, plain)
	if err != nil {
		return nil, err
	}
	if types, ok := files[plainSource]; ok {
		if files["plain/msgpack.go"], err = msgpack(filepath.Join(plugins, "msgp"), scratch, types); err != nil {
			return nil, err
		}
	}
	for _, plugin := range []struct {
		name, file, constraint string
		of                     []string
	}{
		{"protoc-gen-go", "messages.go", "", own},
		{"protoc-gen-go-grpc", "grpc.go", "//go:build grpcgo || gateway || services\n\n", services},
		{"protoc-gen-connect-go", "connect.go", "", services},
		{"protoc-gen-grpc-gateway", "gateway.go", "//go:build gateway\n\n", routed},
	} {
		made, err := drive(filepath.Join(plugins, plugin.name), plugin.of, descriptors)
		if err != nil {
			return nil, err
		}
		for name, content := range made {
			// Each Go package comes from a single .proto file, so the file names can be chosen freely. The plugins' names can
			// end in something like _windows.pb.go, which `go build` would ignore.
			files[path.Join(path.Dir(name), plugin.file)] = append([]byte(plugin.constraint), content...)
		}
	}
	return files, nil
}

// placeFiles gives each file its own Go package, regardless of its options. It returns the files to generate: all
// except those that ship with a library.
func placeFiles(descriptors *descriptorpb.FileDescriptorSet) []string {
	var own []string
	// The main package imports all of them by name, so names must be unique.
	taken := map[string]bool{}
	protoregistry.GlobalFiles.RangeFiles(func(linked protoreflect.FileDescriptor) bool {
		if options, ok := linked.Options().(*descriptorpb.FileOptions); ok {
			folder, _, _ := strings.Cut(options.GetGoPackage(), ";")
			taken[path.Base(folder)] = true
		}
		return true
	})
	for _, file := range descriptors.File {
		if file.Options == nil {
			file.Options = &descriptorpb.FileOptions{}
		}
		if linked, err := protoregistry.GlobalFiles.FindFileByPath(file.GetName()); err == nil {
			options, ok := linked.Options().(*descriptorpb.FileOptions)
			if ok {
				file.Options.GoPackage = options.GoPackage
				continue
			}
		}
		name := packageName(file.GetName())
		for base, number := name, 2; taken[name]; number++ {
			name = fmt.Sprintf("%s%d", base, number)
		}
		taken[name] = true
		file.Options.GoPackage = proto.String(fmt.Sprintf("%s/%s/pb/%s;%[3]s", module, generated, name))
		own = append(own, file.GetName())
	}
	return own
}

// packageName returns hellopb for some/hello.proto.
func packageName(file string) string {
	base := strings.TrimSuffix(path.Base(file), ".proto")
	plain := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return -1
	}, base)
	if plain == "" || unicode.IsDigit(rune(plain[0])) {
		plain = "p" + plain
	}
	return plain + "pb"
}

// route makes grpc-gateway serve the unary methods at their REST paths, and nothing else. It returns the files of all
// methods' services, and those with a method that the gateway serves.
func route(descriptors *descriptorpb.FileDescriptorSet, asked *set) (services, routed []string, err error) {
	paths := map[string]string{}
	for _, method := range asked.Methods {
		if _, _, err := splitPath(method.Path); err != nil {
			return nil, nil, err
		}
		paths[method.Path] = method.Path
		if rest, ok := builtInPaths[method.Path]; ok && asked.isBuiltIn() {
			paths[method.Path] = rest
		}
	}
	for _, file := range descriptors.File {
		for _, service := range file.Service {
			full := service.GetName()
			if file.GetPackage() != "" {
				full = file.GetPackage() + "." + full
			}
			for _, method := range service.Method {
				if method.Options != nil {
					proto.ClearExtension(method.Options, annotations.E_Http)
				}
				rest, ok := paths["/"+full+"/"+method.GetName()]
				if !ok {
					continue
				}
				services = include(services, file.GetName())
				if method.GetClientStreaming() || method.GetServerStreaming() {
					continue
				}
				routed = include(routed, file.GetName())
				if method.Options == nil {
					method.Options = &descriptorpb.MethodOptions{}
				}
				proto.SetExtension(method.Options, annotations.E_Http, &annotations.HttpRule{
					Pattern: &annotations.HttpRule_Post{Post: rest},
					Body:    "*",
				})
			}
		}
	}
	return services, routed, nil
}

// include adds a name to a list that does not contain it.
func include(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

func request(files []string, descriptors *descriptorpb.FileDescriptorSet) *pluginpb.CodeGeneratorRequest {
	return &pluginpb.CodeGeneratorRequest{
		FileToGenerate:  files,
		Parameter:       proto.String("module=" + module + "/" + generated),
		ProtoFile:       descriptors.File,
		CompilerVersion: &pluginpb.Version{Major: proto.Int32(7)},
	}
}

// drive runs a plugin in the same way as protoc, unless there are no files for it.
func drive(program string, files []string, descriptors *descriptorpb.FileDescriptorSet) (map[string][]byte, error) {
	if len(files) == 0 {
		return nil, nil
	}
	name := filepath.Base(program)
	asked, err := proto.Marshal(request(files, descriptors))
	if err != nil {
		return nil, err
	}
	var log bytes.Buffer
	command := exec.Command(program)
	command.Stdin = bytes.NewReader(asked)
	command.Stderr = &log
	made, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(log.String()))
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(made, &response); err != nil {
		return nil, fmt.Errorf("%s: its response: %w", name, err)
	}
	if response.Error != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.New(response.GetError()))
	}
	sources := map[string][]byte{}
	for _, file := range response.File {
		sources[file.GetName()] = []byte(file.GetContent())
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("%s: it generated no files for %v", name, files)
	}
	return sources, nil
}
