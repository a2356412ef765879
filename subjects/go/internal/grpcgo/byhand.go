package grpcgo

import (
	"context"
	"strings"

	"google.golang.org/grpc"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/streams"
)

// byHand returns a method for the types for encoding/json, equivalent to the generated code for protobuf messages.
func byHand(workload *bind.Workload) Method {
	if workload.Stream != "" {
		return streamByHand(workload)
	}
	service, name := split(workload)
	return Method{
		Serve: func(server grpc.ServiceRegistrar, handle Handler) {
			method := func(_ any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				request := workload.NewPlainRequest()
				if err := read(request); err != nil {
					return nil, err
				}
				return handle(ctx, request)
			}
			server.RegisterService(&grpc.ServiceDesc{
				ServiceName: service,
				Methods:     []grpc.MethodDesc{{MethodName: name, Handler: method}},
			}, nil)
		},
		Call: func(channel grpc.ClientConnInterface) Caller {
			return func(ctx context.Context, request any, options ...grpc.CallOption) (any, error) {
				response := workload.NewPlainResponse()
				err := channel.Invoke(ctx, workload.Path, request, response, options...)
				return response, err
			}
		},
	}
}

func split(workload *bind.Workload) (service, method string) {
	service, method, _ = strings.Cut(strings.TrimPrefix(workload.Path, "/"), "/")
	return service, method
}

func streamByHand(workload *bind.Workload) Method {
	service, name := split(workload)
	desc := grpc.StreamDesc{
		StreamName:    name,
		ServerStreams: workload.Stream != settings.FromClient,
		ClientStreams: workload.Stream != settings.FromServer,
	}
	return Method{
		ServeStream: func(server grpc.ServiceRegistrar, handler *StreamHandler) {
			served := desc
			served.Handler = func(_ any, stream grpc.ServerStream) error {
				return handler.serveByHand(workload, stream)
			}
			server.RegisterService(&grpc.ServiceDesc{ServiceName: service, Streams: []grpc.StreamDesc{served}}, nil)
		},
		CallStream: func(channel grpc.ClientConnInterface) streams.Caller {
			return callByHand(workload, func(ctx context.Context) (plainStream, error) {
				stream, err := channel.NewStream(ctx, &desc, workload.Path)
				return plainStream{stream, workload}, ended(err)
			})
		},
	}
}

func (h *StreamHandler) serveByHand(workload *bind.Workload, stream grpc.ServerStream) error {
	if err := h.begin(stream.Context()); err != nil {
		return err
	}
	receive := func() (any, error) {
		request := workload.NewPlainRequest()
		return request, stream.RecvMsg(request)
	}
	switch workload.Stream {
	case settings.FromServer:
		request, err := receive()
		if err != nil {
			return err
		}
		return h.FromServer(request, stream.SendMsg)
	case settings.FromClient:
		response, err := h.FromClient(receive)
		if err != nil {
			return err
		}
		return stream.SendMsg(response)
	}
	return h.Bidirectional(receive, stream.SendMsg)
}

func callByHand(workload *bind.Workload, open func(context.Context) (plainStream, error)) streams.Caller {
	switch workload.Stream {
	case settings.FromServer:
		return streams.FromServer(func(ctx context.Context, request any) (streams.Receiver, error) {
			stream, err := open(ctx)
			if err == nil {
				err = stream.Send(request)
			}
			if err == nil {
				err = stream.CloseSend()
			}
			return stream, err
		})
	case settings.FromClient:
		return streams.FromClient(func(ctx context.Context) (streams.Sender, error) { return open(ctx) })
	}
	return streams.Bidirectional(func(ctx context.Context) (streams.Exchange, error) { return open(ctx) })
}

// plainStream is a client's stream of messages with the types for encoding/json.
type plainStream struct {
	stream   grpc.ClientStream
	workload *bind.Workload
}

func (p plainStream) Send(request any) error { return ended(p.stream.SendMsg(request)) }

func (p plainStream) CloseSend() error { return ended(p.stream.CloseSend()) }

func (p plainStream) Receive() (any, error) {
	response := p.workload.NewPlainResponse()
	return response, ended(p.stream.RecvMsg(response))
}

func (p plainStream) CloseAndReceive() (any, error) {
	if err := p.CloseSend(); err != nil {
		return nil, err
	}
	return p.Receive()
}
