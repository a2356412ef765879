package main

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"rpcgauge/subjects/go/internal/measure"
)

// TestStreamsGoFromServerToClient runs a server and a client of each stack that streams, for a method of each form.
func TestStreamsGoFromServerToClient(t *testing.T) {
	const messages = 50
	for _, form := range []struct {
		name               string
		client, server     bool
		requests, response int
	}{
		{"client", true, false, messages, 1},
		{"server", false, true, 1, messages},
		{"bidirectional", true, true, messages, messages},
	} {
		descriptors := method(t, ".google.protobuf.StringValue", `syntax: "proto3"`, "google/protobuf/wrappers.proto")
		streaming := descriptors.File[len(descriptors.File)-1].Service[0].Method[0]
		streaming.ClientStreaming, streaming.ServerStreaming = proto.Bool(form.client), proto.Bool(form.server)
		program := filepath.Join(programsOf(t, descriptors, "/p.S/M", "services"), "services")
		for _, stack := range []struct{ name, encoding string }{
			{"grpc-go", "protobuf"}, {"grpc-go", "hybrid"}, {"connect-go", "protobuf"}, {"connect-go", "protojson"},
		} {
			for _, connection := range []string{"reuse", "per-call"} {
				for _, inTurn := range []bool{false, true} {
					if inTurn && form.name != "bidirectional" {
						continue
					}
					name := fmt.Sprintf("%s/%s/%s/%s/%v", form.name, stack.name, stack.encoding, connection, inTurn)
					t.Run(name, func(t *testing.T) {
						stream := map[string]any{"form": form.name, "messages": messages, "in_turn": inTurn}
						checkStreams(t, program, stack.name, stack.encoding, connection, stream, form.requests, form.response)
					})
				}
			}
		}
	}
}

func TestAMethodThatStreamsIsGeneratedForAllPrograms(t *testing.T) {
	descriptors := odd(t)
	folder := programsOf(t, descriptors, "/select/stream", allPrograms...)
	reply := converse(t, filepath.Join(folder, "codecs"),
		codecSettings(t, "protojson", "protojson", "select/stream", `{"chan":"a"}`))
	if got := compact(t, reply.Verified.Message); got != `{"chan":"a"}` {
		t.Errorf("a codec made %s", got)
	}
	const refused = "the method /select/stream has bidirectional streams, and the calls have no streams"
	for _, serves := range []struct{ program, protocol, encoding, want string }{
		{"grpcgo", "grpc", "protobuf", refused},
		{"gateway", "rest", "protojson", refused},
		// REST carries the method's messages, one in each call.
		{"nethttp", "rest", "json", ""},
	} {
		said := startSubject(t, filepath.Join(folder, serves.program), map[string]any{
			"contract": 1, "role": "server", "workload": own("select/stream", "{}"), "http": "2",
			"protocol": serves.protocol, "encoding": serves.encoding, "listen": map[string]any{"transport": "tcp"},
		})
		if said.ready.Error != serves.want {
			t.Errorf("%s: %q, and not %q", serves.program, said.ready.Error, serves.want)
		}
	}
}

// checkStreams runs a server and a client, and checks the client's replies and records.
func checkStreams(
	t *testing.T, program, stack, encoding, connection string, stream map[string]any, requests, responses int,
) {
	t.Helper()
	const calls, inFlight = 12, 4
	common := map[string]any{"contract": 2, "stack": stack, "workload": own("p.S/M", `"b"`), "protocol": "grpc",
		"http": "2", "encoding": encoding, "stream": stream, "response_compression": "gzip"}
	server := maps.Clone(common)
	maps.Copy(server, map[string]any{"role": "server", "listen": map[string]any{"transport": "tcp"}})
	served := startSubject(t, program, server)
	folder := t.TempDir()
	client := maps.Clone(common)
	maps.Copy(client, map[string]any{"role": "client", "address": served.ready.Address, "requests": []string{"a"},
		"connection": connection, "in_flight": inFlight, "deadline_ms": 20_000, "request_compression": "gzip",
		"records": filepath.Join(folder, "records"), "message_records": filepath.Join(folder, "messages")})
	calling := startSubject(t, program, client)
	if calling.ready.Error != "" {
		t.Fatal(calling.ready.Error)
	}
	verified := calling.ask(t, `{"verify":true}`).Verified.Stream
	if len(verified) != responses || string(verified[responses-1].Message) != `"b"` {
		t.Errorf("it received %d responses: %s", len(verified), verified)
	}
	if slice := calling.ask(t, fmt.Sprintf(`{"slice":{"skip":2,"calls":%d}}`, calls)).Slice; slice.Records != calls || slice.Error != "" {
		t.Errorf("the slice is %+v", slice)
	}
	records := read(t, filepath.Join(folder, "records"))
	for call := range calls {
		record := records[call*measure.RecordBytes:]
		if number := int(binary.LittleEndian.Uint32(record[76:])); number != max(requests, responses) {
			t.Errorf("call %d has %d messages", call, number)
		}
	}
	times := [2]int{}
	for messages := read(t, filepath.Join(folder, "messages")); len(messages) > 0; messages = messages[8:] {
		if binary.LittleEndian.Uint64(messages) != 0 {
			times[len(messages)/8%2]++
		}
	}
	if want := [2]int{calls * requests, calls * responses}; times != want {
		t.Errorf("%v messages were sent and received, and not %v", times, want)
	}
}

func own(method, response string) map[string]any {
	return map[string]any{
		"name": "own", "method": method, "request": json.RawMessage(response), "response": json.RawMessage(response),
		"descriptor_set": base64.StdEncoding.EncodeToString([]byte("not looked at")),
	}
}

// process is a running subject.
type process struct {
	in    io.WriteCloser
	out   *bufio.Reader
	ready struct{ Address, Error string }
}

// startSubject starts a subject and reads its first line. The subject ends with the test.
func startSubject(t *testing.T, program string, settings any) *process {
	t.Helper()
	line, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		// The exit code is not 0 after an error line, which the tests look at.
		_ = command.Wait()
	})
	started := &process{in: in, out: bufio.NewReader(out)}
	started.exchange(t, string(line), &started.ready)
	return started
}

func (p *process) ask(t *testing.T, line string) (reply struct {
	Verified struct {
		Stream []struct{ Message json.RawMessage }
	}
	Slice struct {
		Records int
		Error   string
	}
}) {
	t.Helper()
	p.exchange(t, line, &reply)
	return reply
}

func (p *process) exchange(t *testing.T, line string, reply any) {
	t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
	text, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(text, reply)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}
