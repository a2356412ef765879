package grpcgo

import (
	"context"

	"google.golang.org/grpc"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/streams"
)

// StreamHandler is the body of a server's method that streams.
type StreamHandler struct {
	*streams.Handler
	compress bool
}

func streamHandler(asked *settings.Server, workload *bind.Workload) (*StreamHandler, error) {
	handler, err := streams.NewHandler(asked, workload, invalid)
	return &StreamHandler{handler, asked.ResponseCompression > 0}, err
}

// begin prepares the responses of a call, before the first of them.
func (h *StreamHandler) begin(ctx context.Context) error { return compressResponse(ctx, h.compress) }

// ServeServer is a generated method whose server streams.
func ServeServer[Request, Response any](
	h *StreamHandler, request *Request, stream grpc.ServerStreamingServer[Response],
) error {
	if err := h.begin(stream.Context()); err != nil {
		return err
	}
	return h.FromServer(request, func(response any) error { return stream.Send(response.(*Response)) })
}

// ServeClient is a generated method whose client streams.
func ServeClient[Request, Response any](h *StreamHandler, stream grpc.ClientStreamingServer[Request, Response]) error {
	if err := h.begin(stream.Context()); err != nil {
		return err
	}
	response, err := h.FromClient(func() (any, error) { return stream.Recv() })
	if err != nil {
		return err
	}
	return stream.SendAndClose(response.(*Response))
}

// ServeBidirectional is a generated method whose client and server stream.
func ServeBidirectional[Request, Response any](
	h *StreamHandler, stream grpc.BidiStreamingServer[Request, Response],
) error {
	if err := h.begin(stream.Context()); err != nil {
		return err
	}
	return h.Bidirectional(
		func() (any, error) { return stream.Recv() },
		func(response any) error { return stream.Send(response.(*Response)) })
}
