package settings

import (
	"errors"
	"strings"
	"testing"
)

const (
	streamServer = `{"contract":2,"role":"server","workload":{"name":"items"},"protocol":"grpc","http":"2",
		"encoding":"protobuf","listen":{"transport":"tcp"},"stream":{"form":"bidirectional","messages":7,"in_turn":true}}`
	streamClient = `{"contract":2,"role":"client","workload":{"name":"items"},"protocol":"grpc","http":"2",
		"encoding":"protobuf","address":"127.0.0.1:1","requests":[{"id":1}],"deadline_ms":10,"records":"/tmp/r",
		"stream":{"form":"client","messages":1000000},"message_records":"/tmp/m"}`
	streamServers = `{"contract":2,"role":"servers","parts":[{"workload":{"name":"items"},"protocol":"grpc",
		"http":"2","encoding":"protobuf","listen":{"transport":"tcp"}},{"workload":{"name":"items"},"protocol":"grpc",
		"http":"2","encoding":"protobuf","listen":{"transport":"tcp"},"stream":{"form":"server","messages":3}}]}`
)

func TestStreamsAreRead(t *testing.T) {
	asked, err := Parse([]byte(streamServer))
	if err != nil {
		t.Fatal(err)
	}
	if s := asked.([]*Server)[0]; *s.Stream != (Stream{Bidirectional, 7, true}) || s.Contract != 2 {
		t.Errorf("%+v", s)
	}
	if asked, err = Parse([]byte(streamClient)); err != nil {
		t.Fatal(err)
	}
	if c := asked.([]*Client)[0]; *c.Stream != (Stream{FromClient, 1_000_000, false}) || c.MessageRecords != "/tmp/m" {
		t.Errorf("%+v", c)
	}
	if asked, err = Parse([]byte(streamServers)); err != nil {
		t.Fatal(err)
	}
	if parts := asked.([]*Server); parts[0].StreamForm() != "" || parts[1].StreamForm() != FromServer {
		t.Errorf("%+v", parts)
	}
	if _, err := Parse([]byte(strings.Replace(server, `"contract":1`, `"contract":2`, 1))); err != nil {
		t.Errorf("unary calls in version 2: %v", err)
	}
}

func TestMessagesAreCountedForEachSide(t *testing.T) {
	for form, want := range map[string][2]int{FromClient: {9, 1}, FromServer: {1, 9}, Bidirectional: {9, 9}} {
		stream := Stream{Form: form, Messages: 9}
		if got := [2]int{stream.Requests(), stream.Responses()}; got != want {
			t.Errorf("%s: %v, and not %v", form, got, want)
		}
	}
}

func TestWrongStreamsAreRefused(t *testing.T) {
	for _, wrong := range []struct{ line, from, to, want string }{
		{streamServer, `"contract":2`, `"contract":1`, "a stream requires contract version 2"},
		{streamServers, `"contract":2`, `"contract":1`, "a stream requires contract version 2"},
		{streamServer, `"bidirectional"`, `"both"`, `cannot have the form "both"`},
		{streamServer, `"form":"bidirectional",`, ``, `cannot have the form ""`},
		{streamServer, `"bidirectional"`, `"server"`, "in_turn is only for bidirectional"},
		{streamServer, `"messages":7,`, ``, "cannot have 0 messages"},
		{streamServer, `"messages":7`, `"messages":1000001`, "cannot have 1000001 messages"},
		{streamServer, `"messages":7`, `"messages":1.5`, "cannot unmarshal number"},
		{streamServer, `"messages":7`, `"messages":7,"rate":1`, `unknown field "rate"`},
		{streamServer, `"http":"2"`, `"http":"2","marks":true`, "no marks"},
		{streamServer, `"http":"2"`, `"http":"2","message_records":"/tmp/m"`, `unknown field "message_records"`},
		{streamClient, `"messages":1000000`, `"messages":-1`, "cannot have -1 messages"},
		{streamClient, `,"message_records":"/tmp/m"`, ``, "message_records if and only if"},
		{streamClient, `"stream":{"form":"client","messages":1000000},`, ``, "message_records if and only if"},
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
