// Package settings reads and writes the contract's lines.
package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// The versions of the contract that this subject supports. Replies are the same in both.
const (
	Contract    = 1
	withStreams = 2
)

// The headers that Marks adds to a successful response.
const (
	HandlerStart = "rpcgauge-handler-start"
	HandlerEnd   = "rpcgauge-handler-end"
)

// The limits that apply if the line does not set them.
const (
	defaultMessageBytes = 16 << 20
	defaultInflation    = 10_000
)

// Common contains the settings that all roles share.
type Common struct {
	Contract int      `json:"contract"`
	Role     string   `json:"role"`
	Stack    string   `json:"stack,omitempty"`
	Workload Workload `json:"workload"`
	Encoding string   `json:"encoding"`
	Limits   Limits   `json:"limits,omitzero"`
}

// Workload names the messages and the method of the calls.
type Workload struct {
	Name string  `json:"name"`
	N    *uint32 `json:"n,omitempty"`
	// The keys for a user's own message.
	DescriptorSet []byte          `json:"descriptor_set,omitempty"`
	Method        string          `json:"method,omitempty"`
	Request       json.RawMessage `json:"request,omitempty"`
	Response      json.RawMessage `json:"response,omitempty"`
}

// Limits contains the limits of the run; 0 for those that the line does not set.
type Limits struct {
	MaxMessageBytes uint32 `json:"max_message_bytes,omitempty"`
	MaxDepth        uint32 `json:"max_depth,omitempty"`
	MaxInflation    uint32 `json:"max_inflation,omitempty"`
}

// Call contains the settings that servers and clients share.
type Call struct {
	Protocol            string      `json:"protocol"`
	HTTP                string      `json:"http"`
	ResponseCompression Compression `json:"response_compression,omitzero"`
	Marks               bool        `json:"marks,omitempty"`
	// Stream is nil for unary calls.
	Stream *Stream `json:"stream,omitempty"`
}

// Server contains the settings of role server.
type Server struct {
	Common
	Call
	Listen  Listen `json:"listen"`
	Threads int    `json:"threads"`
	TLS     bool   `json:"tls,omitempty"`
}

// Listen is where a server listens.
type Listen struct {
	Transport string `json:"transport"`
	Host      string `json:"host,omitempty"`
	Path      string `json:"path,omitempty"`
}

// Client contains the settings of role client.
type Client struct {
	Common
	Call
	Address            string            `json:"address"`
	Certificate        string            `json:"certificate,omitempty"`
	Requests           []json.RawMessage `json:"requests"`
	RequestCompression Compression       `json:"request_compression"`
	Connection         string            `json:"connection"`
	Channels           int               `json:"channels"`
	Style              string            `json:"style"`
	InFlight           int               `json:"in_flight"`
	DeadlineMS         int64             `json:"deadline_ms"`
	Records            string            `json:"records"`
	MessageRecords     string            `json:"message_records,omitempty"`
}

// Codec contains the settings of role codec.
type Codec struct {
	Common
	Sample      string          `json:"sample"`
	Message     json.RawMessage `json:"message"`
	Operation   string          `json:"operation"`
	Compression Compression     `json:"compression"`
	Records     string          `json:"records"`
}

// Fault is the side at fault.
type Fault string

// The sides that the contract defines.
const (
	User       Fault = "user"
	Instrument Fault = "instrument"
	Subject    Fault = "subject"
	Machine    Fault = "machine"
)

// ExitCode is the process's exit code after an error line.
func (f Fault) ExitCode() int {
	switch f {
	case User, Instrument:
		return 2
	case Machine:
		return 3
	case Subject:
	}
	return 1
}

// Refused is an error that names what cannot be done and the side at fault.
type Refused struct {
	Fault Fault
	Text  string
}

func (r *Refused) Error() string { return r.Text }

// Refuse returns a *Refused with a formatted text.
func Refuse(fault Fault, format string, args ...any) error {
	return &Refused{Fault: fault, Text: fmt.Sprintf(format, args...)}
}

// The minimum and maximum number of parts of a process that has several.
const (
	maxParts = 64
	minParts = 2
)

// Parse parses a settings line: its version first, then its role, then all of its keys. It returns a []*Server or a
// []*Client with one element for each part, or a *Codec.
func Parse(line []byte) (any, error) {
	var head struct {
		Contract json.RawMessage `json:"contract"`
		Role     json.RawMessage `json:"role"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, Refuse(Instrument, "the settings line is not a JSON object: %v", err)
	}
	version, err := strconv.Atoi(string(head.Contract))
	if err != nil || version < Contract || version > withStreams {
		return nil, Refuse(Instrument, "the settings line has contract version %s; this subject supports %d and %d",
			orNone(head.Contract), Contract, withStreams)
	}
	switch string(head.Role) {
	case `"server"`:
		s, err := parseServer(line, version)
		return []*Server{s}, err
	case `"client"`:
		c, err := parseClient(line, version)
		return []*Client{c}, err
	case `"codec"`:
		c := &Codec{}
		if err := strict(line, c, "workload", "sample", "message", "encoding", "operation",
			"records"); err != nil {
			return nil, err
		}
		return c, c.check()
	case `"servers"`:
		return parts(line, version, parseServer)
	case `"clients"`:
		return parts(line, version, parseClient)
	}
	return nil, Refuse(Instrument, "unknown role %s: this subject supports server, client, codec, servers, clients",
		orNone(head.Role))
}

func parseServer(line []byte, version int) (*Server, error) {
	s := &Server{Listen: Listen{Host: "127.0.0.1"}, Threads: 1}
	if err := strict(line, s, "workload", "protocol", "http", "encoding", "listen"); err != nil {
		return nil, err
	}
	s.Contract, s.Role = version, "server"
	return s, s.check()
}

func parseClient(line []byte, version int) (*Client, error) {
	c := &Client{Connection: "reuse", Channels: 1, InFlight: 1}
	if err := strict(line, c, "workload", "protocol", "http", "encoding", "address", "requests",
		"deadline_ms", "records"); err != nil {
		return nil, err
	}
	c.Contract, c.Role = version, "client"
	return c, c.check()
}

// parts parses the settings of each part, which have no version or role of their own.
func parts[T any](line []byte, version int, parse func([]byte, int) (T, error)) ([]T, error) {
	var several struct {
		Contract int               `json:"contract"`
		Role     string            `json:"role"`
		Parts    []json.RawMessage `json:"parts"`
	}
	if err := strict(line, &several, "parts"); err != nil {
		return nil, err
	}
	if count := len(several.Parts); count < minParts || count > maxParts {
		return nil, Refuse(Instrument, "there are %d parts; %d to %d are allowed", count, minParts, maxParts)
	}
	var all []T
	for _, part := range several.Parts {
		var head map[string]json.RawMessage
		if err := json.Unmarshal(part, &head); err != nil {
			return nil, Refuse(Instrument, "a part is not a JSON object: %v", err)
		}
		for _, key := range []string{"contract", "role"} {
			if _, ok := head[key]; ok {
				return nil, Refuse(Instrument, "a part has no %q of its own", key)
			}
		}
		settings, err := parse(part, version)
		if err != nil {
			return nil, err
		}
		all = append(all, settings)
	}
	return all, nil
}

// strict refuses unknown and missing keys, and values of the wrong kind.
func strict(line []byte, into any, required ...string) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(line, &keys); err != nil {
		return Refuse(Instrument, "the settings line is not a JSON object: %v", err)
	}
	for _, key := range required {
		if _, ok := keys[key]; !ok {
			return Refuse(Instrument, "the settings line lacks %q", key)
		}
	}
	if err := decodeStrict(line, into); err != nil {
		return Refuse(Instrument, "the settings line: %v", err)
	}
	return nil
}

func decodeStrict(line []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	return nil
}

func (s *Server) check() error {
	if err := cmp.Or(s.Common.check(), s.checkStream(s.Contract)); err != nil {
		return err
	}
	unix := s.Listen.Transport == "unix"
	switch {
	case s.Listen.Transport != "tcp" && !unix:
		return Refuse(Instrument, "listen cannot have the transport %q", s.Listen.Transport)
	case unix != (s.Listen.Path != ""):
		return Refuse(Instrument, "listen must have a path for a Unix socket, and none for TCP")
	case s.Threads < 1:
		return Refuse(Instrument, "threads cannot be %d", s.Threads)
	}
	return nil
}

func (c *Client) check() error {
	if err := cmp.Or(c.Common.check(), c.checkStream(c.Contract)); err != nil {
		return err
	}
	switch {
	case (c.Stream != nil) != (c.MessageRecords != ""):
		return Refuse(Instrument, "the settings must have message_records if and only if there is a stream")
	case len(c.Requests) == 0:
		return Refuse(Instrument, "requests is empty")
	case c.Channels < 1:
		return Refuse(Instrument, "channels cannot be %d", c.Channels)
	case c.InFlight < 1:
		return Refuse(Instrument, "in_flight cannot be %d", c.InFlight)
	case c.DeadlineMS < 1:
		return Refuse(Instrument, "deadline_ms cannot be %d", c.DeadlineMS)
	}
	return nil
}

func (c *Codec) check() error {
	if err := c.Common.check(); err != nil {
		return err
	}
	if c.Sample != "request" && c.Sample != "response" {
		return Refuse(Instrument, "sample cannot be %q", c.Sample)
	}
	if c.Operation != "encode" && c.Operation != "decode" {
		return Refuse(Instrument, "operation cannot be %q", c.Operation)
	}
	return nil
}

func (c *Common) check() error {
	w := &c.Workload
	sized := slices.Contains([]string{"echo", "list", "records", "followers"}, w.Name)
	own := w.Name == "own"
	switch {
	case sized != (w.N != nil):
		return Refuse(Instrument, "the workload %s must have n if and only if it has a length", w.Name)
	case own && (len(w.DescriptorSet) == 0 || w.Method == "" || w.Request == nil || w.Response == nil):
		return Refuse(Instrument, "the workload own lacks descriptor_set, method, request or response")
	case !own && (w.DescriptorSet != nil || w.Method != "" || w.Request != nil || w.Response != nil):
		return Refuse(Instrument, "the workload %s has a key that is only for own", w.Name)
	}
	return nil
}

// Count returns the workload's n, or 0 if it has none.
func (w *Workload) Count() int {
	if w.N == nil {
		return 0
	}
	return int(*w.N)
}

// MessageBytes returns the maximum size of a message, as it arrives and after decompression.
func (l Limits) MessageBytes() int {
	if l.MaxMessageBytes == 0 {
		return defaultMessageBytes
	}
	return int(l.MaxMessageBytes)
}

// Inflated returns the maximum size that a number of compressed bytes may decompress to.
func (l Limits) Inflated(compressed int64) int64 {
	// The size that is always allowed, however small the compressed input.
	const free = 64 << 10
	most := int64(l.MaxInflation)
	if most == 0 {
		most = defaultInflation
	}
	return min(int64(l.MessageBytes()), max(free, compressed*most))
}

func orNone(raw json.RawMessage) string {
	if raw == nil {
		return "none"
	}
	return string(raw)
}
