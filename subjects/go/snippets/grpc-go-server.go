package snippets

import (
	"net"

	"google.golang.org/grpc"
)

// Serve serves with the library's defaults. It compresses only the responses to compressed requests, and only in a
// program that imports gzip.
func Serve(listener net.Listener, register func(grpc.ServiceRegistrar)) error {
	server := grpc.NewServer()
	register(server) // pb.RegisterOrdersServer(server, orders)
	return server.Serve(listener)
}
