package connectgo

import (
	"compress/gzip"
	"io"

	"connectrpc.com/connect"

	"rpcgauge/subjects/go/internal/settings"
)

const gzipName = "gzip"

func newReader() connect.Decompressor { return &gzip.Reader{} }

// writers returns the library's own gzip at a level. A server that does not compress needs it too, to accept requests
// with gzip.
func writers(level settings.Compression) func() connect.Compressor {
	return func() connect.Compressor {
		writer, err := gzip.NewWriterLevel(io.Discard, int(level))
		if err != nil {
			panic(err) // The settings allow only levels from 1 to 9.
		}
		return writer
	}
}
