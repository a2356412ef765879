package snippets

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// NewConn returns the one connection for all calls of the process: keep it, and share the client made from it,
// pb.NewOrdersClient(conn), between goroutines.
func NewConn(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
}
