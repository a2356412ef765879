package snippets

import "net/http"

// NewClient returns the one client for all calls of the process. inFlight is how many calls are made at the same time: by
// default the library keeps only two idle connections to a host, and opens new ones for further calls. Read each body to
// its end, and close it, so that its connection is used again.
func NewClient(inFlight int) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns = inFlight
	transport.MaxIdleConnsPerHost = inFlight
	transport.DisableCompression = true // by default the client accepts gzip
	return &http.Client{Transport: transport}
}
