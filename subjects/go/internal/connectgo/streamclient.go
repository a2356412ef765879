package connectgo

import (
	"context"
	"io"

	"connectrpc.com/connect"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/streams"
)

// openStreams creates a client for calls that stream, and connects it.
func openStreams(asked *settings.Client, workload *bind.Workload, method Method) (*streams.Client, error) {
	channels, err := dial(asked, method.CallStream)
	if err != nil {
		return nil, err
	}
	return streams.NewClient(asked, workload, channels)
}

// CallServer adapts a method of a generated client whose server streams.
func CallServer[Request, Response any](
	call func(context.Context, *connect.Request[Request]) (*connect.ServerStreamForClient[Response], error),
) streams.Caller {
	return streams.FromServer(func(ctx context.Context, request any) (streams.Receiver, error) {
		stream, err := call(ctx, connect.NewRequest(request.(*Request)))
		return receiver[Response]{stream}, err
	})
}

// CallClient adapts a method of a generated client that streams.
func CallClient[Request, Response any](
	call func(context.Context) *connect.ClientStreamForClient[Request, Response],
) streams.Caller {
	return streams.FromClient(func(ctx context.Context) (streams.Sender, error) {
		return sender[Request, Response]{call(ctx)}, nil
	})
}

// CallBidirectional adapts a method of a generated client that streams as the server does.
func CallBidirectional[Request, Response any](
	call func(context.Context) *connect.BidiStreamForClient[Request, Response],
) streams.Caller {
	return streams.Bidirectional(func(ctx context.Context) (streams.Exchange, error) {
		return exchange[Request, Response]{call(ctx)}, nil
	})
}

type receiver[Response any] struct {
	stream *connect.ServerStreamForClient[Response]
}

func (r receiver[Response]) Receive() (any, error) {
	if r.stream.Receive() {
		return r.stream.Msg(), nil
	}
	if err := r.stream.Err(); err != nil {
		return nil, closing(err, r.stream.Close)
	}
	return nil, closing(io.EOF, r.stream.Close)
}

type sender[Request, Response any] struct {
	stream *connect.ClientStreamForClient[Request, Response]
}

func (s sender[Request, Response]) Send(request any) error { return s.stream.Send(request.(*Request)) }

func (s sender[Request, Response]) CloseAndReceive() (any, error) {
	response, err := s.stream.CloseAndReceive()
	if err != nil {
		return nil, err
	}
	return response.Msg, nil
}

type exchange[Request, Response any] struct {
	stream *connect.BidiStreamForClient[Request, Response]
}

func (e exchange[Request, Response]) Send(request any) error {
	return e.stream.Send(request.(*Request))
}

func (e exchange[Request, Response]) CloseSend() error { return e.stream.CloseRequest() }

func (e exchange[Request, Response]) Receive() (any, error) {
	response, err := e.stream.Receive()
	if err != nil {
		return nil, closing(err, e.stream.CloseResponse)
	}
	return response, nil
}

// closing closes a call's responses after err has ended them. The error says more than that of the close.
func closing(err error, close func() error) error {
	_ = close()
	return err
}
