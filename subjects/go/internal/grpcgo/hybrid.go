package grpcgo

import (
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"rpcgauge/subjects/go/internal/formats"
)

var protobuf = encoding.GetCodecV2(protocodec.Name)

// codecs maps the encodings in the settings to codecs of the library.
var codecs = map[string]encoding.CodecV2{"protobuf": protobuf, "hybrid": hybrid{}}

// hybrid writes JSON in a message of the library's own codec. Servers select it by the content-subtype.
type hybrid struct{}

func init() { encoding.RegisterCodecV2(hybrid{}) }

func (hybrid) Name() string { return "hybrid" }

func (hybrid) Marshal(message any) (mem.BufferSlice, error) {
	text, err := formats.Hybrid(message)
	if err != nil {
		return nil, err
	}
	return protobuf.Marshal(text)
}

func (hybrid) Unmarshal(data mem.BufferSlice, into any) error {
	var text wrapperspb.StringValue
	if err := protobuf.Unmarshal(data, &text); err != nil {
		return err
	}
	return formats.ReadHybrid(&text, into)
}
