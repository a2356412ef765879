package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

const (
	server = `{"contract":1,"role":"server","workload":{"name":"list","n":3},"protocol":"grpc","http":"2",
		"encoding":"protobuf","listen":{"transport":"unix","path":"/tmp/s"},"response_compression":"gzip:9"}`
	client = `{"contract":1,"role":"client","workload":{"name":"hello"},"protocol":"rest","http":"1.1",
		"encoding":"json","address":"127.0.0.1:1","requests":[{"name":"a"}],"deadline_ms":10,"records":"/tmp/r"}`
	codec = `{"contract":1,"role":"codec","workload":{"name":"hello"},"sample":"request","message":{},
		"encoding":"json","operation":"decode","records":"/tmp/r","compression":"gzip"}`
)

// servers has two parts: the settings in server, and a second part over REST.
const servers = `{"contract":1,"role":"servers","parts":[{"workload":{"name":"list","n":3},"protocol":"grpc",
	"http":"2","encoding":"protobuf","listen":{"transport":"tcp"}},{"workload":{"name":"hello"},"protocol":"rest",
	"http":"1.1","encoding":"json","listen":{"transport":"tcp"},"threads":2}]}`

func TestPartsAreReadAsSettings(t *testing.T) {
	asked, err := Parse([]byte(servers))
	if err != nil {
		t.Fatal(err)
	}
	parts, ok := asked.([]*Server)
	if !ok || len(parts) != 2 || parts[0].Role != "server" || parts[1].Threads != 2 || parts[1].Listen.Host != "127.0.0.1" {
		t.Errorf("%+v", asked)
	}
}

func TestSettingsAreRead(t *testing.T) {
	asked, err := Parse([]byte(server))
	if err != nil {
		t.Fatal(err)
	}
	servers, ok := asked.([]*Server)
	if !ok || len(servers) != 1 {
		t.Fatalf("%+v", asked)
	}
	if s := servers[0]; s.Workload.Count() != 3 || s.ResponseCompression != 9 || s.Threads != 1 || s.Listen.Path != "/tmp/s" {
		t.Errorf("%+v", asked)
	}
	if asked, err = Parse([]byte(client)); err != nil {
		t.Fatal(err)
	}
	clients, ok := asked.([]*Client)
	if !ok || len(clients) != 1 {
		t.Fatalf("%+v", asked)
	}
	if c := clients[0]; c.InFlight != 1 || c.Connection != "reuse" || string(c.Requests[0]) != `{"name":"a"}` {
		t.Errorf("%+v", asked)
	}
	if asked, err = Parse([]byte(codec)); err != nil {
		t.Fatal(err)
	}
	if c, ok := asked.(*Codec); !ok || c.Compression != defaultGzip {
		t.Errorf("%+v", asked)
	}
}

func TestAServerReadsWhatAGatewayWrites(t *testing.T) {
	asked, err := Parse([]byte(server))
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(asked.([]*Server)[0])
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(again.([]*Server)[0])
	if err != nil || !bytes.Equal(line, second) {
		t.Errorf("%v: %s became %s", err, line, second)
	}
}

func TestWhatIsWrongIsRefused(t *testing.T) {
	for _, wrong := range []struct{ line, from, to, want string }{
		{server, `"contract":1`, `"contract":3`, "version 3; this subject supports 1 and 2"},
		{server, `"contract":1`, `"contract":0`, "version 0; this subject supports 1 and 2"},
		{server, `"contract":1`, `"contract":"2"`, `version "2"; this subject supports 1 and 2`},
		{server, `"contract":1,`, ``, "version none"},
		{server, `"role":"server"`, `"role":"floor"`, `unknown role "floor"`},
		{server, `"http":"2"`, `"http":"2","pace":3`, `unknown field "pace"`},
		{server, `"http":"2",`, ``, `lacks "http"`},
		{server, `"http":"2"`, `"http":2`, "cannot unmarshal number"},
		{server, `,"path":"/tmp/s"`, ``, "must have a path"},
		{server, `"unix"`, `"udp"`, `transport "udp"`},
		{server, `"gzip:9"`, `"gzip:0"`, "gzip:1 to gzip:9"},
		{server, `"gzip:9"`, `"zstd"`, "gzip:1 to gzip:9"},
		{server, `,"n":3`, ``, "the workload list must have n"},
		{server, `"list","n":3`, `"own"`, "own lacks"},
		{server, `"n":3`, `"n":3,"method":"a/b"`, "only for own"},
		{server, `{"contract"`, `["contract"`, "not a JSON object"},
		{client, `[{"name":"a"}]`, `[]`, "requests is empty"},
		{client, `"deadline_ms":10`, `"deadline_ms":0`, "deadline_ms cannot be 0"},
		{servers, `,{"workload"`, `],"pace":[{"workload"`, `unknown field "pace"`},
		{servers, `[{"workload"`, `[{"role":"server","workload"`, `no "role" of its own`},
		{servers, `"http":"2",`, ``, `lacks "http"`},
		{servers, `"parts"`, `"pieces"`, `lacks "parts"`},
		{`{"contract":1,"role":"clients","parts":[{}]}`, `{}`, `{}`, "2 to 64 are allowed"},
		{codec, `"decode"`, `"guess"`, `operation cannot be "guess"`},
		{codec, `"request"`, `"reply"`, `sample cannot be "reply"`},
	} {
		if !strings.Contains(wrong.line, wrong.from) {
			t.Fatalf("there is no %s", wrong.from)
		}
		_, err := Parse([]byte(strings.Replace(wrong.line, wrong.from, wrong.to, 1)))
		var refused *Refused
		if !errors.As(err, &refused) || refused.Fault != Instrument || !strings.Contains(refused.Text, wrong.want) {
			t.Errorf("%s: %v, and not %q", wrong.to, err, wrong.want)
		}
	}
}

func TestSlicesAreReadStrictly(t *testing.T) {
	for line, inBatches := range map[string]bool{
		`{"slice":{"skip":0,"calls":1}}`:             false,
		`{"slice":{"skip":0,"time_us":0}}`:           false,
		`{"slice":{"skip":1,"calls":2,"batch":4}}`:   true,
		`{"slice":{"skip":1,"time_us":2,"batch":1}}`: true,
	} {
		if ask, err := ParseAsk([]byte(line), 1, inBatches); err != nil || ask.Slice == nil {
			t.Errorf("%s: %v", line, err)
		}
		if _, err := ParseAsk([]byte(line), 1, !inBatches); err == nil {
			t.Errorf("%s is taken by the other role too", line)
		}
	}
	for _, line := range []string{
		`{}`, `{"verify":false}`, `{"verify":true,"slice":{"skip":0,"calls":1}}`, `{"slice":{"calls":1}}`,
		`{"slice":{"skip":0}}`, `{"slice":{"skip":0,"calls":1,"time_us":1}}`, `{"slice":{"skip":0,"calls":0}}`,
		`{"slice":{"skip":-1,"calls":1}}`, `{"slice":{"skip":0,"calls":1,"pace":3}}`, `nothing`,
		`{"verify":true}{}`, `{"part":2,"verify":true}`, `{"part":-1,"verify":true}`,
	} {
		if _, err := ParseAsk([]byte(line), 2, false); err == nil {
			t.Errorf("%s is taken", line)
		}
	}
	if ask, err := ParseAsk([]byte(`{"part":1,"verify":true}`), 2, true); err != nil || ask.Part != 1 || ask.Slice != nil {
		t.Errorf("verify: %v, %v", ask, err)
	}
}

func TestLinesAreRead(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	lab := NewConversation(strings.NewReader("one\n"+long+"\nlast"), io.Discard)
	for _, want := range []string{"one", long, "last"} {
		if line, err := lab.Line(); err != nil || string(line) != want {
			t.Fatalf("%v: %d bytes, and not %d", err, len(line), len(want))
		}
	}
	if _, err := lab.Line(); !errors.Is(err, io.EOF) {
		t.Errorf("%v at the end", err)
	}
}

func TestAnErrorIsOneLine(t *testing.T) {
	var out bytes.Buffer
	lab := NewConversation(strings.NewReader(""), &out)
	if code := lab.Refuse(Refuse(Machine, "no\n  room")); code != 3 {
		t.Errorf("the exit code is %d", code)
	}
	want := `{"contract":1,"error":"no room","fault":"machine"}` + "\n"
	if out.String() != want {
		t.Errorf("%s, and not %s", out.String(), want)
	}
	if code := lab.Refuse(errors.New("broke")); code != 1 {
		t.Errorf("the exit code of another error is %d", code)
	}
}
