package grpcgo

import (
	"context"
	"net"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/formats"
	"rpcgauge/subjects/go/internal/listen"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
)

const identity = "identity"

// Server is a running server.
type Server struct {
	*listen.Socket
	server *grpc.Server
}

// Serve starts a server.
func Serve(asked *settings.Server, workload *bind.Workload, methods Methods) (*Server, error) {
	register, err := registration(asked, workload, methods.of(workload, asked.Encoding))
	if err != nil {
		return nil, err
	}
	if err := setLevel(asked.ResponseCompression); err != nil {
		return nil, err
	}
	socket, err := listen.On(asked)
	if err != nil {
		return nil, err
	}
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(asked.Limits.MessageBytes())}
	if socket.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(socket.TLS)))
	}
	server := grpc.NewServer(options...)
	register(server)
	go serve(server, socket)
	return &Server{Socket: socket, server: server}, nil
}

// registration returns the function that registers the method.
func registration(asked *settings.Server, workload *bind.Workload, method Method) (func(*grpc.Server), error) {
	if asked.Stream != nil {
		handler, err := streamHandler(asked, workload)
		return func(server *grpc.Server) { method.ServeStream(server, handler) }, err
	}
	service, err := formats.Of[asked.Encoding].Handler(workload)
	handle := handler(service, asked.ResponseCompression > 0, asked.Marks)
	return func(server *grpc.Server) { method.Serve(server, handle) }, err
}

func serve(server *grpc.Server, listener net.Listener) {
	if err := server.Serve(listener); err != nil {
		panic(err) // The listener failed, so no call can be served.
	}
}

// Stop stops the server.
func (s *Server) Stop() { s.server.Stop() }

func handler(service func(request any) (any, error), compress, marks bool) Handler {
	return func(ctx context.Context, request any) (any, error) {
		start := measure.Now()
		response, err := service(request)
		if err != nil {
			return nil, invalid(err)
		}
		if marks {
			header := metadata.MD{}
			bind.Marks{Start: start, End: measure.Now()}.Each(func(name, value string) { header.Set(name, value) })
			if err := grpc.SetHeader(ctx, header); err != nil {
				return nil, err
			}
		}
		return response, compressResponse(ctx, compress)
	}
}

// invalid is the error for a request that is at fault.
func invalid(err error) error { return status.Error(codes.InvalidArgument, err.Error()) }

// compressResponse compresses the response if the client accepts gzip. By default the library compresses only the
// responses to compressed requests.
func compressResponse(ctx context.Context, compress bool) error {
	name := identity
	if compress {
		taken, err := grpc.ClientSupportedCompressors(ctx)
		if err != nil {
			return err
		}
		if slices.Contains(taken, gzip.Name) {
			name = gzip.Name
		}
	}
	return grpc.SetSendCompressor(ctx, name)
}

// setLevel sets the gzip level of the process: the library has a single level for all calls.
func setLevel(compression settings.Compression) error {
	if compression == 0 {
		return nil
	}
	return gzip.SetLevel(int(compression))
}
