// Package formats encodes messages as bodies: JSON, protobuf, MessagePack, and JSON inside protobuf.
package formats

import (
	"encoding/json"
	"fmt"

	"github.com/tinylib/msgp/msgp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"rpcgauge/subjects/go/internal/bind"
)

// Format describes how to encode a message as a body, using the types of the library that encodes it.
type Format struct {
	MediaType string
	Marshal   func(message any) ([]byte, error)
	Unmarshal func(body []byte, into any) error
	// New returns an empty request or response.
	New func(workload *bind.Workload, sample string) any
	// Read converts a sample in the proto3 JSON mapping to a message.
	Read func(workload *bind.Workload, sample string, text []byte) (any, error)
	// Write does the reverse.
	Write func(message any) ([]byte, error)
	// Handler returns the service for these types.
	Handler func(workload *bind.Workload) (func(request any) (any, error), error)
	// Series returns the service of a server that streams: its response number k to a request.
	Series func(workload *bind.Workload) (func(request any, k int) (any, error), error)
	// Generated means that the code for the messages is generated.
	Generated bool
}

// Generated reports whether generated code encodes and decodes an encoding.
func Generated(encoding string) bool { return Of[encoding].Generated }

// Of contains the formats by the name of the encoding in the settings.
var Of = map[string]Format{
	"hybrid":    plain("application/vnd.rpcgauge.hybrid+protobuf", marshalHybrid, unmarshalHybrid, false),
	"json":      plain("application/json", json.Marshal, json.Unmarshal, false),
	"msgpack":   plain("application/msgpack", marshalMsgpack, unmarshalMsgpack, true),
	"protojson": generated("application/json", protojson.Marshal, protojson.Unmarshal),
	"protobuf":  generated("application/protobuf", proto.Marshal, proto.Unmarshal),
}

// Requests converts the requests of a client's settings to messages.
func (f Format) Requests(workload *bind.Workload, asked []json.RawMessage) ([]any, error) {
	var requests []any
	for _, text := range asked {
		request, err := f.Read(workload, "request", text)
		if err != nil {
			return nil, err
		}
		requests = append(requests, request)
	}
	return requests, nil
}

// plain returns a format that uses the types for encoding/json.
func plain(mediaType string, marshal func(any) ([]byte, error), unmarshal func([]byte, any) error, generated bool) Format {
	return Format{
		MediaType: mediaType,
		Marshal:   marshal,
		Unmarshal: unmarshal,
		New:       (*bind.Workload).NewPlain,
		Read:      (*bind.Workload).PlainMessage,
		Write:     json.Marshal,
		Handler: func(workload *bind.Workload) (func(any) (any, error), error) {
			return workload.Plain()
		},
		Series: func(workload *bind.Workload) (func(any, int) (any, error), error) {
			return workload.PlainSeries()
		},
		Generated: generated,
	}
}

// generated returns a format that uses the messages of protoc-gen-go.
func generated(
	mediaType string,
	marshal func(proto.Message) ([]byte, error),
	unmarshal func([]byte, proto.Message) error,
) Format {
	return Format{
		MediaType: mediaType,
		Marshal:   func(message any) ([]byte, error) { return marshal(message.(proto.Message)) },
		Unmarshal: func(body []byte, into any) error { return unmarshal(body, into.(proto.Message)) },
		New: func(workload *bind.Workload, sample string) any {
			return workload.New(sample)
		},
		Read: func(workload *bind.Workload, sample string, text []byte) (any, error) {
			return workload.ProtoMessage(sample, text)
		},
		Write: func(message any) ([]byte, error) { return protojson.Marshal(message.(proto.Message)) },
		Handler: func(workload *bind.Workload) (func(any) (any, error), error) {
			handle, err := workload.Proto()
			if err != nil {
				return nil, err
			}
			return func(request any) (any, error) { return handle(request.(proto.Message)) }, nil
		},
		Series: func(workload *bind.Workload) (func(any, int) (any, error), error) {
			handle, err := workload.ProtoSeries()
			if err != nil {
				return nil, err
			}
			return func(request any, k int) (any, error) { return handle(request.(proto.Message), k) }, nil
		},
		Generated: true,
	}
}

// Hybrid encodes a message as JSON in the only string field of a protobuf message. StringValue has the same field as
// contract/proto/hybrid.proto, and therefore the same bytes.
func Hybrid(message any) (*wrapperspb.StringValue, error) {
	text, err := json.Marshal(message)
	return wrapperspb.String(string(text)), err
}

// ReadHybrid does the reverse.
func ReadHybrid(hybrid *wrapperspb.StringValue, into any) error {
	return json.Unmarshal([]byte(hybrid.GetValue()), into)
}

func marshalHybrid(message any) ([]byte, error) {
	hybrid, err := Hybrid(message)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(hybrid)
}

func unmarshalHybrid(body []byte, into any) error {
	var hybrid wrapperspb.StringValue
	if err := proto.Unmarshal(body, &hybrid); err != nil {
		return err
	}
	return ReadHybrid(&hybrid, into)
}

func marshalMsgpack(message any) ([]byte, error) {
	return message.(msgp.Marshaler).MarshalMsg(nil)
}

func unmarshalMsgpack(body []byte, into any) error {
	left, err := into.(msgp.Unmarshaler).UnmarshalMsg(body)
	if err == nil && len(left) > 0 {
		return fmt.Errorf("%d bytes follow the message", len(left))
	}
	return err
}
