package connectgo

import (
	"io"

	"connectrpc.com/connect"

	"rpcgauge/subjects/go/internal/streams"
)

// ServeServer is a generated method whose server streams.
func ServeServer[Request, Response any](
	h *streams.Handler, request *connect.Request[Request], stream *connect.ServerStream[Response],
) error {
	return h.FromServer(request.Msg, func(response any) error { return stream.Send(response.(*Response)) })
}

// ServeClient is a generated method whose client streams.
func ServeClient[Request, Response any](
	h *streams.Handler, stream *connect.ClientStream[Request],
) (*connect.Response[Response], error) {
	response, err := h.FromClient(func() (any, error) {
		if stream.Receive() {
			return stream.Msg(), nil
		}
		if err := stream.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(response.(*Response)), nil
}

// ServeBidirectional is a generated method whose client and server stream.
func ServeBidirectional[Request, Response any](
	h *streams.Handler, stream *connect.BidiStream[Request, Response],
) error {
	return h.Bidirectional(
		func() (any, error) { return stream.Receive() },
		func(response any) error { return stream.Send(response.(*Response)) })
}
