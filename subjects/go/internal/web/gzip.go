package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"rpcgauge/subjects/go/internal/settings"
)

// ErrTooLarge means that a message is larger than the limits allow.
var ErrTooLarge = errors.New("the message is larger than the limit")

// Gzip wraps a handler: it decompresses requests, and compresses responses at a level if the client accepts gzip.
// Without a level, it never compresses. Writers and readers are reused because their tables cost more than most
// messages.
func Gzip(next http.Handler, compression settings.Compression, limits settings.Limits) http.Handler {
	compressors := NewCompressors(compression)
	var readers sync.Pool
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch coding := r.Header.Get("Content-Encoding"); coding {
		case "", "identity":
		case "gzip":
			reader, ok := readers.Get().(*gzip.Reader)
			if !ok {
				reader = new(gzip.Reader)
			}
			defer readers.Put(reader)
			if err := reader.Reset(r.Body); err != nil {
				http.Error(w, "the body is not gzip: "+err.Error(), http.StatusBadRequest)
				return
			}
			r.Body = &inflating{Reader: Inflate(reader, r.ContentLength, limits), body: r.Body}
			r.Header.Del("Content-Encoding")
			r.ContentLength = -1
		default:
			http.Error(w, "only gzip is accepted, not "+strconv.Quote(coding), http.StatusUnsupportedMediaType)
			return
		}
		if compression == 0 || !takesGzip(r.Header.Values("Accept-Encoding")) {
			next.ServeHTTP(w, r)
			return
		}
		compressing := &compressing{ResponseWriter: w, compressors: compressors}
		defer compressing.end()
		next.ServeHTTP(compressing, r)
	})
}

// Inflate limits the output of a reader of compressed bytes. The length is -1 if it is unknown.
func Inflate(reader io.Reader, length int64, limits settings.Limits) io.Reader {
	if length < 0 {
		return &bounded{reader: reader, left: int64(limits.MessageBytes())}
	}
	return &bounded{reader: reader, left: limits.Inflated(length)}
}

type bounded struct {
	reader io.Reader
	left   int64
}

func (b *bounded) Read(into []byte) (int, error) {
	n, err := b.reader.Read(into)
	if b.left -= int64(n); b.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}

type inflating struct {
	io.Reader
	body io.Closer
}

func (i *inflating) Close() error { return i.body.Close() }

// takesGzip reports whether the Accept-Encoding headers allow gzip.
func takesGzip(headers []string) bool {
	for _, header := range headers {
		for element := range strings.SplitSeq(header, ",") {
			name, parameters, _ := strings.Cut(element, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			weight, weighted := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
			return !weighted || strings.Trim(weight, "0.") != ""
		}
	}
	return false
}

// Compressors is a pool of idle writers for a level.
type Compressors struct {
	pool sync.Pool
}

// NewCompressors returns an empty pool.
func NewCompressors(level settings.Compression) *Compressors {
	return &Compressors{pool: sync.Pool{New: func() any {
		writer, err := gzip.NewWriterLevel(io.Discard, int(level))
		if err != nil {
			panic(err) // The settings allow only levels from 1 to 9.
		}
		return writer
	}}}
}

// Get returns a writer that writes to out.
func (c *Compressors) Get(out io.Writer) *gzip.Writer {
	writer := c.pool.Get().(*gzip.Writer)
	writer.Reset(out)
	return writer
}

// Put returns a writer to the pool.
func (c *Compressors) Put(writer *gzip.Writer) { c.pool.Put(writer) }

// Compress compresses a complete body.
func (c *Compressors) Compress(body []byte) ([]byte, error) {
	var compressed bytes.Buffer
	writer := c.Get(&compressed)
	defer c.Put(writer)
	if _, err := writer.Write(body); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return compressed.Bytes(), nil
}

// compressing compresses a successful response.
type compressing struct {
	http.ResponseWriter
	compressors *Compressors
	writer      *gzip.Writer
	decided     bool
}

func (c *compressing) WriteHeader(status int) {
	c.decide(status)
	c.ResponseWriter.WriteHeader(status)
}

func (c *compressing) decide(status int) {
	if c.decided {
		return
	}
	c.decided = true
	header := c.Header()
	header.Add("Vary", "Accept-Encoding")
	if status == http.StatusOK {
		header.Set("Content-Encoding", "gzip")
		header.Del("Content-Length")
		c.writer = c.compressors.Get(c.ResponseWriter)
	}
}

func (c *compressing) Write(bytes []byte) (int, error) {
	c.decide(http.StatusOK)
	if c.writer == nil {
		return c.ResponseWriter.Write(bytes)
	}
	n, err := c.writer.Write(bytes)
	if err != nil {
		return n, fmt.Errorf("gzip: %w", err)
	}
	return n, nil
}

// Flush sends the bytes that the handler has written so far; grpc-gateway requires it.
func (c *compressing) Flush() {
	if c.writer != nil {
		_ = c.writer.Flush()
	}
	if flusher, ok := c.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
}

func (c *compressing) end() {
	if c.writer == nil {
		return
	}
	// Fails only if the client is gone.
	_ = c.writer.Close()
	c.compressors.Put(c.writer)
}
