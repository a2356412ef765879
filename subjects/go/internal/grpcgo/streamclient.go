package grpcgo

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/streams"
)

// openStreams creates a client for calls that stream, and connects it.
func openStreams(asked *settings.Client, workload *bind.Workload, method Method) (*streams.Client, error) {
	channels, err := dial(asked, codecs[asked.Encoding], func(channel *grpc.ClientConn) streams.Caller {
		return method.CallStream(channel)
	})
	if err != nil {
		return nil, err
	}
	return streams.NewClient(asked, workload, channels)
}

// CallServer adapts a method of a generated client whose server streams.
func CallServer[Request, Response any](
	call func(context.Context, *Request, ...grpc.CallOption) (grpc.ServerStreamingClient[Response], error),
) streams.Caller {
	return streams.FromServer(func(ctx context.Context, request any) (streams.Receiver, error) {
		stream, err := call(ctx, request.(*Request))
		if err != nil {
			return nil, explained(err)
		}
		return receiver[Response]{stream}, nil
	})
}

// CallClient adapts a method of a generated client that streams.
func CallClient[Request, Response any](
	call func(context.Context, ...grpc.CallOption) (grpc.ClientStreamingClient[Request, Response], error),
) streams.Caller {
	return streams.FromClient(func(ctx context.Context) (streams.Sender, error) {
		stream, err := call(ctx)
		if err != nil {
			return nil, explained(err)
		}
		return sender[Request, Response]{stream}, nil
	})
}

// CallBidirectional adapts a method of a generated client that streams as the server does.
func CallBidirectional[Request, Response any](
	call func(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[Request, Response], error),
) streams.Caller {
	return streams.Bidirectional(func(ctx context.Context) (streams.Exchange, error) {
		stream, err := call(ctx)
		if err != nil {
			return nil, explained(err)
		}
		return exchange[Request, Response]{stream}, nil
	})
}

type receiver[Response any] struct {
	stream grpc.ServerStreamingClient[Response]
}

func (r receiver[Response]) Receive() (any, error) {
	response, err := r.stream.Recv()
	return response, ended(err)
}

type sender[Request, Response any] struct {
	stream grpc.ClientStreamingClient[Request, Response]
}

func (s sender[Request, Response]) Send(request any) error {
	return ended(s.stream.Send(request.(*Request)))
}

func (s sender[Request, Response]) CloseAndReceive() (any, error) {
	response, err := s.stream.CloseAndRecv()
	return response, ended(err)
}

type exchange[Request, Response any] struct {
	stream grpc.BidiStreamingClient[Request, Response]
}

func (e exchange[Request, Response]) Send(request any) error {
	return ended(e.stream.Send(request.(*Request)))
}

func (e exchange[Request, Response]) CloseSend() error { return ended(e.stream.CloseSend()) }

func (e exchange[Request, Response]) Receive() (any, error) {
	response, err := e.stream.Recv()
	return response, ended(err)
}

// ended leaves nil and the end of a stream as they are, and explains other errors.
func ended(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return explained(err)
}
