// Package bind is what the generated code of a set of messages looks like to the stacks. The generator
// (cmd/generate) writes a Method for each method of the set, and for each stack what it needs beside.
package bind

import (
	"strconv"

	"google.golang.org/protobuf/proto"

	"rpcgauge/subjects/go/internal/settings"
)

// Set is a set of messages.
type Set struct {
	Methods []Method
	// Text says that the JSON types have 64-bit integers as text, as the proto3 JSON mapping does.
	Text bool
	// NoPlain says why the messages have no types for encoding/json; empty where they have.
	NoPlain string
	// Services are the built-in workloads'; there are none for a user's own messages.
	Services map[string]Service
}

// Method has the types of a method's messages.
type Method struct {
	// Path is /package.Service/Method.
	Path string

	NewRequest, NewResponse           func() proto.Message
	NewPlainRequest, NewPlainResponse func() any
}

// Service makes the handlers of a built-in workload of n items, one for each kind of types.
type Service struct {
	// Path is that of the REST resource.
	Path string
	// Method is /package.Service/Method.
	Method string
	Proto  func(n int) (ProtoHandler, error)
	Plain  func(n int) (PlainHandler, error)
}

// ProtoHandler responds to a request with the messages of protoc-gen-go. Its error is the request's
// fault.
type ProtoHandler func(request proto.Message) (proto.Message, error)

// PlainHandler does the same with the types for encoding/json, which are pointers to structs.
type PlainHandler func(request any) (any, error)

// Marks are the handler's times; 0 where they are not asked for.
type Marks struct {
	Start, End int64
}

// Each gives the names and values of the headers.
func (m Marks) Each(set func(name, value string)) {
	if m.Start == 0 {
		return
	}
	set(settings.HandlerStart, strconv.FormatInt(m.Start, 10))
	set(settings.HandlerEnd, strconv.FormatInt(m.End, 10))
}

// ReadMarks takes them from a response's headers.
func ReadMarks(get func(name string) string) Marks {
	// A header that is missing or no number is a mark that was not observed.
	start, _ := strconv.ParseInt(get(settings.HandlerStart), 10, 64)
	end, _ := strconv.ParseInt(get(settings.HandlerEnd), 10, 64)
	return Marks{Start: start, End: end}
}
