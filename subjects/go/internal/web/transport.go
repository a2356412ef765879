package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"rpcgauge/subjects/go/internal/listen"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
)

// Transport makes calls over its own connections and counts the open ones.
type Transport struct {
	*http.Transport
	// Host is the authority of the calls' URLs.
	Host string

	network, target string
	wanted          int
	perCall         bool
	open            atomic.Int64

	mu    sync.Mutex
	spare []*counted
}

// Transports contains a transport for each of a client's channels.
type Transports []*Transport

// NewTransports creates a transport for each channel in the settings.
func NewTransports(asked *settings.Client, transparent bool) Transports {
	var all Transports
	for range asked.Channels {
		all = append(all, NewTransport(asked, transparent))
	}
	return all
}

// Connect opens the connections that are not open, and returns their number.
func (all Transports) Connect(ctx context.Context) (int, error) {
	opened := 0
	for _, transport := range all {
		more, err := transport.Connect(ctx)
		if err != nil {
			return opened, err
		}
		opened += more
	}
	return opened, nil
}

// NewTransport creates a transport for a client's calls. If transparent is set, it adds Accept-Encoding and
// decompresses by itself, which is the library's default.
func NewTransport(asked *settings.Client, transparent bool) *Transport {
	t := &Transport{Host: "localhost", perCall: asked.Connection == "per-call", wanted: asked.InFlight}
	t.network, t.target = listen.Target(asked.Address)
	if t.network == "tcp" {
		t.Host = t.target
	}
	if asked.HTTP == "2" {
		t.wanted = 1
	}
	t.Transport = &http.Transport{
		DialContext:         t.dial,
		Protocols:           only(asked.HTTP),
		DisableCompression:  !transparent,
		DisableKeepAlives:   t.perCall,
		MaxIdleConnsPerHost: asked.InFlight,
	}
	if asked.HTTP == "1.1" && !t.perCall {
		// A connection becomes idle a moment after its response was read: without a limit, the next call might not find an
		// idle connection and open another one.
		t.Transport.MaxConnsPerHost = asked.InFlight
	}
	return t
}

// Connect opens the connections that are not open, and returns their number. By default the library opens connections
// during its first calls.
func (t *Transport) Connect(ctx context.Context) (int, error) {
	if t.perCall {
		return 0, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spare = slices.DeleteFunc(t.spare, isLost)
	missing := t.wanted - int(t.open.Load())
	for range missing {
		connection, err := t.fresh(ctx)
		if err != nil {
			return 0, settings.Refuse(settings.Machine, "cannot connect to %s: %v", t.target, err)
		}
		t.spare = append(t.spare, connection)
	}
	return max(missing, 0), nil
}

// isLost reports whether the other side has closed an idle connection. If so, it closes the connection.
func isLost(connection *counted) bool {
	raw, err := connection.raw.SyscallConn()
	if err != nil {
		return false
	}
	lost := false
	err = raw.Control(func(file uintptr) {
		var next [1]byte
		n, _, err := unix.Recvfrom(int(file), next[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		lost = n == 0 && err == nil || errors.Is(err, unix.ECONNRESET)
	})
	if lost = lost || err != nil; lost {
		_ = connection.Close()
	}
	return lost
}

func (t *Transport) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if spare := t.takeSpare(); spare != nil {
		return spare, nil
	}
	connection, err := t.fresh(ctx)
	if err != nil {
		return nil, err
	}
	return connection, nil
}

func (t *Transport) takeSpare() *counted {
	t.mu.Lock()
	defer t.mu.Unlock()
	for last := len(t.spare) - 1; last >= 0; last-- {
		spare := t.spare[last]
		t.spare = t.spare[:last]
		if !isLost(spare) {
			return spare
		}
	}
	return nil
}

func (t *Transport) fresh(ctx context.Context) (*counted, error) {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, t.network, t.target)
	if err != nil {
		return nil, err
	}
	raw, ok := connection.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("%T has no file", connection)
	}
	t.open.Add(1)
	return &counted{Conn: connection, raw: raw, open: &t.open}, nil
}

// counted is a connection that is counted while it is open.
type counted struct {
	net.Conn
	raw  syscall.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// Stamps are the times of a call that net/http exposes.
type Stamps struct {
	sent, first atomic.Int64
}

// Trace returns a context that stamps the calls made with it.
func (s *Stamps) Trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest:         func(httptrace.WroteRequestInfo) { s.sent.Store(measure.Now()) },
		GotFirstResponseByte: func() { s.first.Store(measure.Now()) },
	})
}

// Note copies the stamps to the record.
func (s *Stamps) Note(record *measure.Record) {
	record.Sent, record.First = s.sent.Load(), s.first.Load()
	// Another goroutine reports that the request was written, possibly late.
	if record.First != 0 {
		record.Sent = min(record.Sent, record.First)
	}
}

// Body records when the last bytes of a body were read, and how many bytes there were.
type Body struct {
	io.ReadCloser
	Bytes    int64
	LastRead int64
}

func (b *Body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if n > 0 {
		b.Bytes += int64(n)
		b.LastRead = measure.Now()
	}
	return n, err
}
