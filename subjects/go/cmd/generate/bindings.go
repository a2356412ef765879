package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"path"
	"text/template"

	"google.golang.org/protobuf/compiler/protogen"
)

// builtInPaths are the REST resources of the built-in workloads' methods (contract/README.md).
var builtInPaths = map[string]string{
	"/several.SeveralService/GetSeveralData":        "/several/data",
	"/hello.Hello/SayHello":                         "/hello",
	"/ExampleService/ExampleResponse1List":          "/example/list",
	"/records.RecordService/GetRecords":             "/records",
	"/GetMemberProfileService/GetMemberProfileCall": "/members/profile",
	"/GetFollowerService/GetFollowerCall":           "/members/followers",
}

//go:embed main.go.tmpl
var mainTemplate string

// boundMethod is a method as the template writes it: with the names of its generated code.
type boundMethod struct {
	Path, Name, Service         string
	Package, Connect            string
	Request, Response           string
	PlainRequest, PlainResponse string
}

// imports are the packages that the generated code is in, by the names that the template uses.
type imports map[string]protogen.GoImportPath

func (i imports) name(of protogen.GoImportPath) string {
	name := path.Base(string(of))
	if known, ok := i[name]; ok && known != of {
		// Only libraries' packages can share a name, and one name cannot be as long as this.
		name = fmt.Sprintf("%s_%d", name, len(i))
	}
	i[name] = of
	return name
}

func (i imports) ident(of protogen.GoIdent) string {
	return i.name(of.GoImportPath) + "." + of.GoName
}

// bindings is the main package: the program of the subject for this set of messages.
func bindings(model *protogen.Plugin, asked *set, plain *plainTypes) ([]byte, error) {
	used := imports{}
	var methods []boundMethod
	for _, method := range asked.Methods {
		file, found, err := find(model, method.Path)
		if err != nil {
			return nil, err
		}
		connect := file.GoImportPath + "/" + protogen.GoImportPath(file.GoPackageName) + "connect"
		methods = append(methods, boundMethod{
			Path:          method.Path,
			Name:          found.GoName,
			Service:       found.Parent.GoName,
			Package:       used.name(file.GoImportPath),
			Connect:       used.name(connect),
			Request:       used.ident(found.Input.GoIdent),
			Response:      used.ident(found.Output.GoIdent),
			PlainRequest:  plain.message(found.Input),
			PlainResponse: plain.message(found.Output),
		})
	}
	var source bytes.Buffer
	err := template.Must(template.New("main.go").Parse(mainTemplate)).Execute(&source, map[string]any{
		"Module":  module,
		"Gen":     module + "/" + generated,
		"Imports": used,
		"Methods": methods,
		"BuiltIn": asked.isBuiltIn(),
	})
	if err != nil {
		return nil, err
	}
	return format.Source(source.Bytes())
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
				if method.Desc.IsStreamingClient() || method.Desc.IsStreamingServer() {
					return nil, nil, fmt.Errorf("%s is a streaming method; this subject has unary ones", path)
				}
				return file, method, nil
			}
		}
	}
	return nil, nil, fmt.Errorf("the descriptors have no method %s", path)
}
