package nethttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/formats"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/web"
)

// Client makes calls using http.Client.
type Client struct {
	asked       *settings.Client
	workload    *bind.Workload
	format      formats.Format
	requests    []any
	turn        atomic.Uint64
	url         string
	transports  web.Transports
	clients     []*http.Client
	compressors *web.Compressors
}

// open creates a client and connects it.
func open(asked *settings.Client, workload *bind.Workload) (*Client, error) {
	c := &Client{asked: asked, workload: workload, format: formats.Of[asked.Encoding]}
	var err error
	if c.requests, err = c.format.Requests(workload, asked.Requests); err != nil {
		return nil, err
	}
	if asked.RequestCompression > 0 {
		c.compressors = web.NewCompressors(asked.RequestCompression)
	}
	c.transports = web.NewTransports(asked, asked.ResponseCompression > 0)
	for _, transport := range c.transports {
		c.clients = append(c.clients, &http.Client{Transport: transport.Transport})
		c.url = "http://" + transport.Host + workload.REST
	}
	_, err = c.Reopen()
	return c, err
}

// Reopen reopens lost connections.
func (c *Client) Reopen() (int, error) {
	ctx, cancel := web.Deadline(c.asked)
	defer cancel()
	return c.transports.Connect(ctx)
}

// Verify makes a call with the first request.
func (c *Client) Verify() (any, error) {
	response, err := c.exchange(0, &measure.Record{})
	if err != nil {
		return nil, settings.Refuse(settings.Subject, "%v", err)
	}
	text, err := c.format.Write(response)
	return map[string]json.RawMessage{"message": text}, err
}

// Do makes a call with the next request.
func (c *Client) Do(record *measure.Record) error {
	_, err := c.exchange(c.turn.Add(1)-1, record)
	return err
}

func (c *Client) exchange(turn uint64, record *measure.Record) (any, error) {
	body, err := c.encode(c.requests[turn%uint64(len(c.requests))])
	if err != nil {
		return nil, err
	}
	record.Encoded = measure.Now()
	record.RequestBytes = uint32(len(body))
	ctx, cancel := web.Deadline(c.asked)
	defer cancel()
	var stamps web.Stamps
	if c.asked.Marks {
		ctx = stamps.Trace(ctx)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", c.format.MediaType)
	request.Header.Set("Accept", c.format.MediaType)
	if c.compressors != nil {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.clients[turn%uint64(len(c.clients))].Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	most := int64(c.asked.Limits.MessageBytes())
	carried, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		return nil, err
	}
	if !response.Uncompressed {
		// Otherwise the library has decompressed the body while reading it.
		record.Received = measure.Now()
		record.ResponseBytes = uint32(len(carried))
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %q", response.Status, carried)
	}
	if int64(len(carried)) > most {
		return nil, web.ErrTooLarge
	}
	decoded := c.format.New(c.workload, "response")
	if err := c.format.Unmarshal(carried, decoded); err != nil {
		return nil, err
	}
	record.End = measure.Now()
	if c.asked.Marks {
		stamps.Note(record)
		marks := bind.ReadMarks(response.Header.Get)
		record.HandlerStart, record.HandlerEnd = marks.Start, marks.End
	}
	return decoded, nil
}

func (c *Client) encode(message any) ([]byte, error) {
	body, err := c.format.Marshal(message)
	if err != nil || c.compressors == nil {
		return body, err
	}
	return c.compressors.Compress(body)
}
