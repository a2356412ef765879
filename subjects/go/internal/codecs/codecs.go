// Package codecs contains the codec stacks: protobuf, protojson, encoding-json, hybrid and msgpack.
package codecs

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/formats"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/stack"
	"rpcgauge/subjects/go/internal/web"
)

// Stacks returns the codecs, each with one encoding.
func Stacks() []*stack.Stack {
	var stacks []*stack.Stack
	for _, codec := range []struct{ name, encoding string }{
		{"protobuf", "protobuf"},
		{"protojson", "protojson"},
		{"encoding-json", "json"},
		{"hybrid", "hybrid"},
		{"msgpack", "msgpack"},
	} {
		stacks = append(stacks, &stack.Stack{
			Name:            codec.name,
			Encodings:       []string{codec.encoding},
			BoundsInflation: true,
			Generated:       formats.Generated,
			Code: func(asked *settings.Codec, workload *bind.Workload) (measure.Measurer, error) {
				return open(asked, workload)
			},
		})
	}
	return stacks
}

// Codec encodes or decodes one message.
type Codec struct {
	asked       *settings.Codec
	workload    *bind.Workload
	format      formats.Format
	message     any
	encoded     []byte
	compressors *web.Compressors
	reader      gzip.Reader
	operation   func() error
}

// open creates a codec.
func open(asked *settings.Codec, workload *bind.Workload) (*Codec, error) {
	c := &Codec{asked: asked, workload: workload, format: formats.Of[asked.Encoding]}
	if asked.Compression > 0 {
		c.compressors = web.NewCompressors(asked.Compression)
	}
	var err error
	if c.message, err = c.format.Read(workload, asked.Sample, asked.Message); err != nil {
		return nil, err
	}
	if c.encoded, err = c.encode(); err != nil {
		return nil, settings.Refuse(settings.User, "the %s cannot be encoded: %v", asked.Sample, err)
	}
	if len(c.encoded) > asked.Limits.MessageBytes() {
		return nil, settings.Refuse(settings.User, "the %s has %d bytes, more than the limit", asked.Sample, len(c.encoded))
	}
	c.operation = func() error { _, err := c.encode(); return err }
	if asked.Operation == "decode" {
		c.operation = func() error { _, err := c.decode(); return err }
	}
	return c, nil
}

// Verify returns the result of the operation.
func (c *Codec) Verify() (any, error) {
	if c.asked.Operation == "encode" {
		encoded, err := c.encode()
		return map[string][]byte{"bytes": encoded}, err
	}
	message, err := c.decode()
	if err != nil {
		return nil, err
	}
	text, err := c.format.Write(message)
	return map[string]json.RawMessage{"message": text}, err
}

// Reopen has nothing to open.
func (c *Codec) Reopen() (int, error) { return 0, nil }

// Do runs a batch.
func (c *Codec) Do(record *measure.Record) error {
	for range record.Operations {
		if err := c.operation(); err != nil {
			return err
		}
	}
	record.End = measure.Now()
	return nil
}

func (c *Codec) encode() ([]byte, error) {
	encoded, err := c.format.Marshal(c.message)
	if err != nil || c.compressors == nil {
		return encoded, err
	}
	return c.compressors.Compress(encoded)
}

func (c *Codec) decode() (any, error) {
	encoded := c.encoded
	if c.compressors != nil {
		if err := c.reader.Reset(bytes.NewReader(encoded)); err != nil {
			return nil, err
		}
		var err error
		if encoded, err = io.ReadAll(web.Inflate(&c.reader, int64(len(encoded)), c.asked.Limits)); err != nil {
			return nil, err
		}
	}
	message := c.format.New(c.workload, c.asked.Sample)
	return message, c.format.Unmarshal(encoded, message)
}
