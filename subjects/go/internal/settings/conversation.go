package settings

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// maxLine is the contract's longest line.
const maxLine = 64 << 20

// Conversation is the subject's end of standard input and output.
type Conversation struct {
	in  *bufio.Reader
	out io.Writer
}

// Ready is a ready line.
type Ready struct {
	Address string
	// Certificate is that of a server that speaks TLS, in PEM.
	Certificate string
	Versions    map[string]string
	// Generated says that generated code encodes and decodes the messages.
	Generated bool
}

// NewConversation reads lines from in and writes lines to out.
func NewConversation(in io.Reader, out io.Writer) *Conversation {
	return &Conversation{in: bufio.NewReader(in), out: out}
}

// Line is the next line; io.EOF at the end.
func (c *Conversation) Line() ([]byte, error) {
	var line []byte
	for {
		part, err := c.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, Refuse(Instrument, "a line is longer than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case err != nil:
			return nil, err
		}
		return bytes.TrimSuffix(line, []byte("\n")), nil
	}
}

// WaitForEnd waits until the lab closes the input, and discards what it writes until then.
func (c *Conversation) WaitForEnd() {
	_, _ = io.Copy(io.Discard, c.in)
}

// Ready writes the ready line.
func (c *Conversation) Ready(ready Ready) error {
	reply := struct {
		Contract    int               `json:"contract"`
		Ready       bool              `json:"ready"`
		Address     string            `json:"address,omitempty"`
		Certificate string            `json:"certificate,omitempty"`
		Versions    map[string]string `json:"versions"`
		Code        string            `json:"code,omitempty"`
	}{Contract, true, ready.Address, ready.Certificate, ready.Versions, ""}
	if ready.Generated {
		reply.Code = "generated"
	}
	return c.Reply(reply)
}

// Refuse writes the error line and returns the exit code.
func (c *Conversation) Refuse(err error) int {
	fault := Subject
	var refused *Refused
	if errors.As(err, &refused) {
		fault = refused.Fault
	}
	// Where the line cannot be written, the exit code still says it.
	_ = c.Reply(struct {
		Contract int    `json:"contract"`
		Error    string `json:"error"`
		Fault    Fault  `json:"fault"`
	}{Contract, OneLine(err), fault})
	return fault.ExitCode()
}

// Reply writes a line.
func (c *Conversation) Reply(reply any) error {
	line, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	_, err = c.out.Write(append(line, '\n'))
	return err
}

// Slice is what a slice line asks for.
type Slice struct {
	Skip   *uint64 `json:"skip"`
	Calls  *uint64 `json:"calls"`
	TimeUS *uint64 `json:"time_us"`
	// A codec's; 0 for a client.
	Batch uint32 `json:"batch"`
}

// ParseAsk reads a line of the conversation: a slice, or nil for verify.
func ParseAsk(line []byte, inBatches bool) (*Slice, error) {
	var ask struct {
		Verify *bool  `json:"verify"`
		Slice  *Slice `json:"slice"`
	}
	if err := decodeStrict(line, &ask); err != nil {
		return nil, Refuse(Instrument, "the line: %v", err)
	}
	slice := ask.Slice
	if ask.Verify != nil && *ask.Verify && slice == nil {
		return nil, nil
	}
	switch {
	case slice == nil || ask.Verify != nil:
		return nil, Refuse(Instrument, "the line asks neither for verify nor for a slice")
	case slice.Skip == nil || (slice.Calls == nil) == (slice.TimeUS == nil):
		return nil, Refuse(Instrument, "the slice must have skip, and either calls or time_us")
	case slice.Calls != nil && *slice.Calls == 0:
		return nil, Refuse(Instrument, "the slice must have 1 call or more")
	case (slice.Batch > 0) != inBatches:
		return nil, Refuse(Instrument, "a codec's slice must have batch, 1 or more, and no other may")
	}
	return slice, nil
}

// OneLine is an error's text without line feeds.
func OneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
