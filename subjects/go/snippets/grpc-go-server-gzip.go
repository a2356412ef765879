package snippets

import (
	"context"
	"net"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
)

// ServeGzip compresses the responses to all clients that accept gzip. By default the library compresses only the
// responses to compressed requests.
func ServeGzip(listener net.Listener, register func(grpc.ServiceRegistrar)) error {
	server := grpc.NewServer(grpc.UnaryInterceptor(compressResponse))
	register(server) // pb.RegisterOrdersServer(server, orders)
	return server.Serve(listener)
}

func compressResponse(
	ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (any, error) {
	if accepted, err := grpc.ClientSupportedCompressors(ctx); err == nil && slices.Contains(accepted, gzip.Name) {
		if err := grpc.SetSendCompressor(ctx, gzip.Name); err != nil {
			return nil, err
		}
	}
	return handle(ctx, request)
}
