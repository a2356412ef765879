package main

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"maps"
	"path"
	"strings"
	"text/template"

	"google.golang.org/protobuf/compiler/protogen"
)

// builtInPaths maps the methods of the built-in workloads to their REST paths (contract/README.md).
var builtInPaths = map[string]string{
	"/several.SeveralService/GetSeveralData":        "/several/data",
	"/hello.Hello/SayHello":                         "/hello",
	"/ExampleService/ExampleResponse1List":          "/example/list",
	"/ItemService/GetItem":                          "/items",
	"/records.RecordService/GetRecords":             "/records",
	"/GetMemberProfileService/GetMemberProfileCall": "/members/profile",
	"/GetFollowerService/GetFollowerCall":           "/members/followers",
}

//go:embed *.go.tmpl
var programs embed.FS

// programTemplates are the files of the main package. Build constraints limit each program to the code of its own
// stacks, so that its size and memory are those of a program with only these stacks.
var programTemplates = []string{"set", "codecs", "net-http", "grpc-go", "grpc-gateway", "grpc-methods",
	"connect-go", "connect-methods", "services"}

// boundMethod is a method as seen by the templates: it has the names of the generated code.
type boundMethod struct {
	Path, Name, Service         string
	Package, Connect            string
	Request, Response           string
	PlainRequest, PlainResponse string
	// Stream is the form of a method that streams; empty for a unary one.
	Stream string
}

// Form returns the form of a method that streams as a part of a Go name.
func (m boundMethod) Form() string {
	return strings.ToUpper(m.Stream[:1]) + m.Stream[1:]
}

// imports maps the package names used in the templates, which are the names of the folders, to import paths.
type imports map[string]protogen.GoImportPath

func (i imports) name(of protogen.GoImportPath) string {
	name := path.Base(string(of))
	i[name] = of
	return name
}

func (i imports) ident(of protogen.GoIdent) string {
	return i.name(of.GoImportPath) + "." + of.GoName
}

func (i imports) with(others imports) imports {
	all := maps.Clone(i)
	maps.Copy(all, others)
	return all
}

// bindings generates the files of the main package and of the types for encoding/json, by name. If the messages have no
// types for encoding/json, the stacks that need them report why.
func bindings(model *protogen.Plugin, asked *set, plain *plainTypes) (map[string][]byte, error) {
	messages, services, connects, routed := imports{}, imports{}, imports{}, imports{}
	var methods []boundMethod
	unary, streams := false, false
	for _, method := range asked.Methods {
		file, found, err := find(model, method.Path)
		if err != nil {
			return nil, err
		}
		stream := form(found)
		if stream == "" {
			unary = true
			routed.name(file.GoImportPath)
		} else {
			streams = true
		}
		connect := file.GoImportPath + "/" + protogen.GoImportPath(file.GoPackageName) + "connect"
		methods = append(methods, boundMethod{
			Path:          method.Path,
			Name:          found.GoName,
			Service:       found.Parent.GoName,
			Stream:        stream,
			Package:       services.name(file.GoImportPath),
			Connect:       connects.name(connect),
			Request:       messages.ident(found.Input.GoIdent),
			Response:      messages.ident(found.Output.GoIdent),
			PlainRequest:  plain.root(found.Input),
			PlainResponse: plain.root(found.Output),
		})
	}
	templates := template.Must(template.ParseFS(programs, "*.go.tmpl"))
	files := map[string][]byte{}
	types, err := plain.source()
	if err == nil {
		files[plainSource] = types
	}
	for _, name := range programTemplates {
		var source bytes.Buffer
		err := templates.ExecuteTemplate(&source, name, map[string]any{
			"Module":   module,
			"Messages": messages,
			"Routed":   routed,
			"GRPC":     services.with(messages),
			"Connect":  connects.with(messages),
			"Methods":  methods,
			"Unary":    unary,
			"Streams":  streams,
			"BuiltIn":  asked.isBuiltIn(),
			"NoPlain":  err,
		})
		if err != nil {
			return nil, err
		}
		if files[name+".go"], err = format.Source(source.Bytes()); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// form returns the form of a method that streams, as in the settings.
func form(method *protogen.Method) string {
	switch client, server := method.Desc.IsStreamingClient(), method.Desc.IsStreamingServer(); {
	case client && server:
		return "bidirectional"
	case client:
		return "client"
	case server:
		return "server"
	}
	return ""
}

func find(model *protogen.Plugin, path string) (*protogen.File, *protogen.Method, error) {
	serviceName, methodName, err := splitPath(path)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range model.Files {
		for _, service := range file.Services {
			if string(service.Desc.FullName()) != serviceName {
				continue
			}
			for _, method := range service.Methods {
				if string(method.Desc.Name()) != methodName {
					continue
				}
				return file, method, nil
			}
		}
	}
	return nil, nil, fmt.Errorf("the descriptors have no method %s", path)
}
