package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

const root = "../.."

// odd reads testdata/odd.txtpb: messages without a package, names that are reserved words or clash, maps, oneofs,
// nested types, every well-known type, and proto2 in a file whose name makes `go build` ignore it.
func odd(t *testing.T) *descriptorpb.FileDescriptorSet {
	t.Helper()
	text, err := os.ReadFile("testdata/odd.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	own := &descriptorpb.FileDescriptorSet{}
	if err := prototext.Unmarshal(text, own); err != nil {
		t.Fatal(err)
	}
	annotate(t, own.File[len(own.File)-1])
	all := &descriptorpb.FileDescriptorSet{}
	for _, file := range own.File {
		for _, name := range file.Dependency {
			addKnown(all, name)
		}
	}
	all.File = append(all.File, own.File...)
	return all
}

// annotate adds what users of grpc-gateway have in a file: an import of a library's file, and a route.
func annotate(t *testing.T, file *descriptorpb.FileDescriptorProto) {
	t.Helper()
	file.Dependency = append(file.Dependency, "google/api/annotations.proto")
	method := file.Service[0].Method[0]
	method.Options = &descriptorpb.MethodOptions{}
	proto.SetExtension(method.Options, annotations.E_Http, &annotations.HttpRule{
		Pattern: &annotations.HttpRule_Get{Get: "/v1/{no_such_field}"},
	})
}

// addKnown adds a file that ships with a library, after the files that it imports.
func addKnown(to *descriptorpb.FileDescriptorSet, name string) {
	known, err := protoregistry.GlobalFiles.FindFileByPath(name)
	if err != nil || slices.ContainsFunc(to.File, func(file *descriptorpb.FileDescriptorProto) bool {
		return file.GetName() == name
	}) {
		return
	}
	file := protodesc.ToFileDescriptorProto(known)
	for _, name := range file.Dependency {
		addKnown(to, name)
	}
	to.File = append(to.File, file)
}

const oddMessage = `{
	"chan": "a", "var": "map", "vars": ["range", "map"],
	"defer": {"select": "b", "go": {"chan": "c"}}, "defers": [{}, {"select": "d"}],
	"byBool": {"true": "yes"}, "byNumber": {"18446744073709551615": {"select": "e"}},
	"byName": {"f": "map", "g": "range"}, "wideByNumber": {"-1": "-9007199254740993"},
	"default": "", "someBytes": "", "someNumber": "0", "numbers": ["9007199254740993", "0"],
	"float32": 0.1, "float64": 1e300, "string": "h", "reset": "i", "marshalMsg": "j", "msgsize": "k",
	"2nd": "l", "at": "2026-01-02T03:04:05.678Z", "ats": ["1970-01-01T00:00:00Z"], "took": "1.500s",
	"mask": "aB,c", "struct": {"m": [1.5, null, {"n": true}]}, "value": ["o"], "list": [1, "p"],
	"any": {"@type": "type.googleapis.com/google.protobuf.Duration", "value": "2s"}, "empty": {},
	"int64": "-9007199254740993", "raw": "AP8=", "text": "", "wide": ["18446744073709551615"],
	"@other-name": true, "someFunc": "range",
	"old": {"name": "q", "closed": "ONE", "part": [{"number": "1"}, {}], "nested": {"id": 0}, "zero": 0}
}`

// allPrograms are the programs that are built for every set of messages.
var allPrograms = []string{"codecs", "connectgo", "gateway", "grpcgo", "nethttp", "services"}

// programsOf generates the code for a method and builds programs with it.
func programsOf(t *testing.T, descriptors *descriptorpb.FileDescriptorSet, method string, programs ...string) string {
	t.Helper()
	plugins, folder := t.TempDir(), t.TempDir()
	goTool(t, "build", "-trimpath", "-o", plugins+"/",
		"connectrpc.com/connect/cmd/protoc-gen-connect-go",
		"github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway",
		"github.com/tinylib/msgp",
		"google.golang.org/grpc/cmd/protoc-gen-go-grpc",
		"google.golang.org/protobuf/cmd/protoc-gen-go")
	asked := &set{}
	if err := json.Unmarshal(fmt.Appendf(nil, `{"methods":[{"path":%q}]}`, method), asked); err != nil {
		t.Fatal(err)
	}
	files, err := generate(plugins, folder, descriptors, asked)
	if err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(module, folder, files, false); err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		goTool(t, "build", "-trimpath", "-tags", program, "-overlay", filepath.Join(folder, "overlay.json"),
			"-o", filepath.Join(folder, program), "./"+generated)
	}
	return folder
}

func goTool(t *testing.T, arguments ...string) {
	t.Helper()
	command := exec.Command("go", arguments...)
	command.Dir = root
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", arguments[0], err, said)
	}
}

func TestOddMessagesGoThroughEveryCodec(t *testing.T) {
	descriptors := odd(t)
	folder := programsOf(t, descriptors, "/select/go", allPrograms...)
	files, err := protodesc.NewFiles(descriptors)
	if err != nil {
		t.Fatal(err)
	}
	found, err := files.FindDescriptorByName("type")
	if err != nil {
		t.Fatal(err)
	}
	of := found.(protoreflect.MessageDescriptor)
	want := dynamicpb.NewMessage(of)
	if err := protojson.Unmarshal([]byte(oddMessage), want); err != nil {
		t.Fatal(err)
	}
	for _, stack := range []struct{ name, encoding string }{
		{"protobuf", "protobuf"}, {"protojson", "protojson"}, {"encoding-json", "json"}, {"msgpack", "msgpack"},
	} {
		t.Run(stack.name, func(t *testing.T) {
			reply := converse(t, filepath.Join(folder, "codecs"),
				codecSettings(t, stack.name, stack.encoding, "select/go", oddMessage))
			made := dynamicpb.NewMessage(of)
			if err := protojson.Unmarshal(reply.Verified.Message, made); err != nil {
				t.Fatalf("%v: %s", err, reply.Verified.Message)
			}
			if !proto.Equal(made, want) {
				t.Errorf("it made\n%v\nof\n%v", made, want)
			}
		})
	}
}

// method returns a file with the method p.S/M and the given response type.
func method(t *testing.T, response string, messages string, imports ...string) *descriptorpb.FileDescriptorSet {
	t.Helper()
	own := &descriptorpb.FileDescriptorProto{}
	text := fmt.Sprintf(`name: "p.proto" package: "p" %s
		service { name: "S" method { name: "M" input_type: %q output_type: %[2]q } }`, messages, response)
	if err := prototext.Unmarshal([]byte(text), own); err != nil {
		t.Fatal(err)
	}
	own.Dependency = imports
	all := &descriptorpb.FileDescriptorSet{}
	for _, name := range imports {
		addKnown(all, name)
	}
	all.File = append(all.File, own)
	return all
}

func TestAMethodsMessageMayBeNoObject(t *testing.T) {
	for _, known := range []struct{ name, file, json string }{
		{"Struct", "struct", `{"a":[1.5,{"b":null}]}`},
		{"ListValue", "struct", `[true,"a"]`},
		{"StringValue", "wrappers", `"a"`},
		{"UInt64Value", "wrappers", `"18446744073709551615"`},
		{"Duration", "duration", `"1.500s"`},
		{"Timestamp", "timestamp", `"2026-01-02T03:04:05.678Z"`},
	} {
		t.Run(known.name, func(t *testing.T) {
			descriptors := method(t, ".google.protobuf."+known.name, `syntax: "proto3"`, "google/protobuf/"+known.file+".proto")
			folder := programsOf(t, descriptors, "/p.S/M", allPrograms...)
			for _, encoding := range []string{"json", "msgpack", "protojson"} {
				stack := map[string]string{"json": "encoding-json", "msgpack": "msgpack", "protojson": "protojson"}[encoding]
				reply := converse(t, filepath.Join(folder, "codecs"), codecSettings(t, stack, encoding, "p.S/M", known.json))
				want := known.json
				if known.name == "UInt64Value" && encoding != "protojson" {
					want = strings.Trim(want, `"`)
				}
				if got := compact(t, reply.Verified.Message); got != compact(t, []byte(want)) {
					t.Errorf("%s: it made %s of %s", encoding, got, known.json)
				}
			}
		})
	}
}

func TestWhatEncodingJSONCannotHaveLeavesTheOtherStacks(t *testing.T) {
	for _, test := range []struct{ name, messages, json, want string }{
		{"name", `syntax: "proto3" message_type { name: "Odd"
			field { name: "a" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "a,b" } }`,
			`{"a,b":"c"}`, `encoding/json can have no field with the name \"a,b\"`},
		{"extension", `syntax: "proto2" message_type { name: "Odd" extension_range { start: 100 end: 200 } }
			extension { name: "more" extendee: ".p.Odd" number: 100 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "more" }`,
			`{"[p.more]":"c"}`, `the types for encoding/json: json: unknown field \"[p.more]\"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			codecs := filepath.Join(programsOf(t, method(t, ".p.Odd", test.messages), "/p.S/M", "codecs"), "codecs")
			reply := converse(t, codecs, codecSettings(t, "protobuf", "protobuf", "p.S/M", test.json))
			if got := compact(t, reply.Verified.Message); got != test.json {
				t.Errorf("it made %s", got)
			}
			line, err := json.Marshal(codecSettings(t, "encoding-json", "json", "p.S/M", test.json))
			if err != nil {
				t.Fatal(err)
			}
			command := exec.Command(codecs)
			command.Stdin = strings.NewReader(string(line) + "\n")
			// The exit code is not 0; only the output matters.
			said, _ := command.Output()
			if !strings.Contains(string(said), test.want) {
				t.Errorf("it said %s, and not %s", said, test.want)
			}
		})
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out.String()
}

// codecSettings returns settings for a codec that decodes a response.
func codecSettings(t *testing.T, stack, encoding, method, message string) map[string]any {
	t.Helper()
	return map[string]any{
		"contract": 1, "role": "codec", "stack": stack, "encoding": encoding,
		"workload": map[string]any{
			"name": "own", "method": method, "request": json.RawMessage("{}"),
			"response":       json.RawMessage("{}"),
			"descriptor_set": base64.StdEncoding.EncodeToString([]byte("not looked at")),
		},
		"sample": "response", "operation": "decode", "message": json.RawMessage(message),
		"records": filepath.Join(t.TempDir(), "records"),
	}
}

type reply struct {
	Error    string `json:"error"`
	Verified struct {
		Message json.RawMessage `json:"message"`
	} `json:"verified"`
}

// converse starts a codec and sends it a verify line.
func converse(t *testing.T, built string, settings any) reply {
	t.Helper()
	line, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(built)
	command.Stdin = strings.NewReader(string(line) + "\n{\"verify\":true}\n")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	lines.Buffer(nil, 1<<20)
	var last reply
	for lines.Scan() {
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil || last.Error != "" {
			t.Fatalf("%v: %s", err, lines.Text())
		}
	}
	return last
}

func TestWhatCannotBeGeneratedIsRefused(t *testing.T) {
	for path, want := range map[string]string{
		"/select/none": "no method",
		"/select":      "not a method path",
	} {
		asked := &set{}
		if err := json.Unmarshal(fmt.Appendf(nil, `{"methods":[{"path":%q}]}`, path), asked); err != nil {
			t.Fatal(err)
		}
		if _, err := generate("", t.TempDir(), odd(t), asked); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, and not %q", path, err, want)
		}
	}
}

func TestPackageNamesAreNames(t *testing.T) {
	for file, want := range map[string]string{
		"hello.proto":             "hellopb",
		"a/b/go.proto":            "gopb",
		"internal.proto":          "internalpb",
		"1st_file-windows.proto":  "p1stfilewindowspb",
		"ünïcode/ü.proto":         "ppb",
		"with space, comma.proto": "withspacecommapb",
	} {
		if got := packageName(file); got != want {
			t.Errorf("%s: %s, and not %s", file, got, want)
		}
	}
	clashing := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{
		{Name: proto.String("a/x.proto")}, {Name: proto.String("b/x.proto")},
	}}
	placeFiles(clashing)
	if clashing.File[0].Options.GetGoPackage() == clashing.File[1].Options.GetGoPackage() {
		t.Error("two files are in one package")
	}
}

func TestAFileCannotTakeALibrarysName(t *testing.T) {
	descriptors := odd(t)
	descriptors.File = append(descriptors.File, &descriptorpb.FileDescriptorProto{Name: proto.String("my/empty.proto")})
	placeFiles(descriptors)
	last := descriptors.File[len(descriptors.File)-1]
	if of := last.Options.GetGoPackage(); !strings.HasSuffix(of, ";emptypb2") {
		t.Error(of)
	}
}

func TestFilesOfLibrariesAreTakenFromThem(t *testing.T) {
	descriptors := odd(t)
	for _, name := range placeFiles(descriptors) {
		if strings.HasPrefix(name, "google/") {
			t.Errorf("%s would be generated", name)
		}
	}
}

func TestNoFileIsWrittenOutsideOfItsFolder(t *testing.T) {
	for _, name := range []string{"../outside.go", "a/../../outside.go", "/outside.go"} {
		root, folder := t.TempDir(), t.TempDir()
		err := write(root, folder, map[string][]byte{name: []byte("package outside\n")}, false)
		if err == nil || !strings.Contains(err.Error(), "escapes") {
			t.Errorf("%s: %v", name, err)
		}
		for _, within := range []string{root, folder} {
			err := filepath.WalkDir(within, func(path string, _ fs.DirEntry, err error) error {
				if filepath.Base(path) == "outside.go" {
					t.Errorf("%s: wrote %s", name, path)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}
