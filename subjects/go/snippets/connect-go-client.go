package snippets

import (
	"net/http"

	"connectrpc.com/connect"
)

// ConnectClient returns what all calls share: shopconnect.NewOrdersClient(client, "http://shop:8080", options...). Add
// connect.WithGRPC() to the options for gRPC instead of Connect's own protocol.
func ConnectClient() (*http.Client, []connect.ClientOption) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	// By default the client accepts gzip, so that the server compresses.
	return client, []connect.ClientOption{connect.WithAcceptCompression("gzip", nil, nil)}
}
