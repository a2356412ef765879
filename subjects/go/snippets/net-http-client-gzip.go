package snippets

import (
	"bytes"
	"compress/gzip"
	"net/http"
)

// NewGzipClient returns the one client for all calls of the process. It accepts gzip, and decompresses responses by itself
// unless a request sets Accept-Encoding. inFlight is how many calls are made at the same time: by default the library keeps
// only two idle connections to a host, and opens new ones for further calls.
func NewGzipClient(inFlight int) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns = inFlight
	transport.MaxIdleConnsPerHost = inFlight
	return &http.Client{Transport: transport}
}

// NewGzipRequest returns a request with a body in gzip. Take http.NewRequest instead if only responses are large.
func NewGzipRequest(url, contentType string, body []byte) (*http.Request, error) {
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	_, _ = writer.Write(body) // to memory, which cannot fail
	_ = writer.Close()
	request, err := http.NewRequest(http.MethodPost, url, &compressed)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Content-Encoding", "gzip")
	return request, nil
}
