package snippets

import (
	"net/http"

	"connectrpc.com/connect"
)

// GzipConnectClient returns what all calls share: shopconnect.NewOrdersClient(client, "http://shop:8080", options...). Add
// connect.WithGRPC() to the options for gRPC instead of Connect's own protocol. By default the client accepts gzip, and
// with WithSendGzip it also compresses requests.
func GzipConnectClient() (*http.Client, []connect.ClientOption) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	return client, []connect.ClientOption{connect.WithSendGzip()}
}
