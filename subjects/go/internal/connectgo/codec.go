// Package connectgo is the stack connect-go: connectrpc.com/connect with the code of
// protoc-gen-connect-go, by gRPC and by the Connect protocol.
//
// A unary call of the Connect protocol is a POST of the encoded message, and so what the contract calls
// REST. Two things are the contract's own and not Connect's: the paths of the built-in workloads'
// resources, and protobuf's media type.
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
