package snippets

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
)

// NewGzipConn returns the one connection for all calls of the process. It compresses requests. The import of gzip alone
// makes it accept compressed responses: omit UseCompressor if only responses are large.
func NewGzipConn(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
}
