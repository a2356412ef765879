package connectgo

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// protobuf is the library's codec for protobuf under the name that makes its media type
// application/protobuf, where Connect has application/proto.
type protobuf struct{}

func (protobuf) Name() string { return "protobuf" }

func (protobuf) Marshal(message any) ([]byte, error) {
	of, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", message)
	}
	return proto.Marshal(of)
}

// MarshalAppend is what the library calls, to use its buffers again.
func (protobuf) MarshalAppend(to []byte, message any) ([]byte, error) {
	of, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", message)
	}
	return proto.MarshalOptions{}.MarshalAppend(to, of)
}

func (protobuf) Unmarshal(data []byte, message any) error {
	of, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", message)
	}
	return proto.Unmarshal(data, of)
}
