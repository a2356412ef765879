// Package bind is the interface between the stacks and the generated code of a set of messages. The generator
// (cmd/generate) writes a Method for each method of the set, plus whatever each stack needs.
package bind

import (
	"strconv"

	"google.golang.org/protobuf/proto"

	"rpcgauge/subjects/go/internal/settings"
)

// Set is a set of messages.
type Set struct {
	Methods []Method
	// NoPlain is the reason why the messages have no types for encoding/json; empty if they have them.
	NoPlain string
	// Services contains the built-in workloads; it is empty for a user's own messages.
	Services map[string]Service
}

// Method has the types of a method's messages.
type Method struct {
	// Path is /package.Service/Method.
	Path string
	// Stream is the form of a method that streams; empty for a unary one.
	Stream string

	NewRequest, NewResponse           func() proto.Message
	NewPlainRequest, NewPlainResponse func() any
}

// Service makes the handlers of a built-in workload of n items, one for each kind of types.
type Service struct {
	// Path is the path of the REST resource.
	Path string
	// Method is /package.Service/Method.
	Method string
	Proto  func(n int) (ProtoHandler, error)
	Plain  func(n int) (PlainHandler, error)

	// Streams has the methods that stream, by their form; empty if the workload has none.
	Streams     map[string]string
	ProtoSeries func() ProtoSeries
	PlainSeries func() PlainSeries
}

// ProtoHandler responds to a request using the messages of protoc-gen-go. An error means that the request is at fault.
type ProtoHandler func(request proto.Message) (proto.Message, error)

// PlainHandler does the same using the types for encoding/json, which are pointers to structs.
type PlainHandler func(request any) (any, error)

// ProtoSeries returns response number k, from 0, of a server that streams responses to a request. The first is the
// response to a unary call.
type ProtoSeries func(request proto.Message, k int) (proto.Message, error)

// PlainSeries does the same using the types for encoding/json.
type PlainSeries func(request any, k int) (any, error)

// Marks are the handler's times; 0 if they were not requested.
type Marks struct {
	Start, End int64
}

// Each calls set with the name and value of each header.
func (m Marks) Each(set func(name, value string)) {
	if m.Start == 0 {
		return
	}
	set(settings.HandlerStart, strconv.FormatInt(m.Start, 10))
	set(settings.HandlerEnd, strconv.FormatInt(m.End, 10))
}

// ReadMarks reads the marks from a response's headers.
func ReadMarks(get func(name string) string) Marks {
	// If a header is missing or not a number, the mark was not observed.
	start, _ := strconv.ParseInt(get(settings.HandlerStart), 10, 64)
	end, _ := strconv.ParseInt(get(settings.HandlerEnd), 10, 64)
	return Marks{Start: start, End: end}
}
