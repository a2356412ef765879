package snippets

import (
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

const maxRequestBytes = 4 << 20

var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// Gzip decompresses requests, and compresses the responses for clients that accept gzip. It is for handlers that write a
// body in one piece, without a Content-Length and without flushing.
func Gzip(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Content-Encoding") == "gzip" {
			plain, err := gzip.NewReader(r.Body)
			if err != nil {
				http.Error(w, "the body is not gzip", http.StatusBadRequest)
				return
			}
			// A short request can decompress to a very long one.
			r.Body = http.MaxBytesReader(w, plain, maxRequestBytes)
			r.Header.Del("Content-Encoding")
		}
		w.Header().Add("Vary", "Accept-Encoding")
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		writer := gzipWriters.Get().(*gzip.Writer)
		writer.Reset(w)
		next.ServeHTTP(gzipResponse{w, writer}, r)
		_ = writer.Close() // fails only if the client is gone
		gzipWriters.Put(writer)
	})
}

type gzipResponse struct {
	http.ResponseWriter
	compressed *gzip.Writer
}

func (r gzipResponse) Write(body []byte) (int, error) { return r.compressed.Write(body) }
