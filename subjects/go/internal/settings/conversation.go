package settings

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// maxLine is the contract's limit on the length of a line, in bytes.
const maxLine = 64 << 20

// Conversation is the subject's end of standard input and output.
type Conversation struct {
	in  *bufio.Reader
	out io.Writer
}

// Ready is a ready line.
type Ready struct {
	// Parts has an entry for each part of the settings.
	Parts    []Part
	Versions map[string]string
}

// Part is the entry of a ready line for a part of the settings.
type Part struct {
	Address string `json:"address,omitempty"`
	// Certificate is the certificate of a server with TLS, in PEM.
	Certificate string `json:"certificate,omitempty"`
	// Code is Generated if generated code encodes and decodes the messages.
	Code string `json:"code,omitempty"`
}

// Generated is the value of Code for messages with generated types.
const Generated = "generated"

// NewConversation reads lines from in and writes lines to out.
func NewConversation(in io.Reader, out io.Writer) *Conversation {
	return &Conversation{in: bufio.NewReader(in), out: out}
}

// Line returns the next line, or io.EOF at the end.
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

// WaitForEnd waits until the lab closes the input, and discards everything before that.
func (c *Conversation) WaitForEnd() {
	_, _ = io.Copy(io.Discard, c.in)
}

// Ready writes the ready line.
func (c *Conversation) Ready(ready Ready) error {
	reply := struct {
		Contract int  `json:"contract"`
		Ready    bool `json:"ready"`
		*Part
		Parts    []Part            `json:"parts,omitempty"`
		Versions map[string]string `json:"versions"`
	}{Contract: Contract, Ready: true, Versions: ready.Versions}
	if len(ready.Parts) == 1 {
		reply.Part = &ready.Parts[0]
	} else {
		reply.Parts = ready.Parts
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
	// If the line cannot be written, the exit code still reports the fault.
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

// Ask is a line from the lab after the settings.
type Ask struct {
	// Part is the index of the part that the line is for.
	Part int
	// Slice is nil for verify.
	Slice *Slice
}

// Slice is the content of a slice line.
type Slice struct {
	Skip   *uint64 `json:"skip"`
	Calls  *uint64 `json:"calls"`
	TimeUS *uint64 `json:"time_us"`
	// The operations of each batch of a codec; 0 for a client.
	Batch uint32 `json:"batch"`
}

// ParseAsk parses a line for a process that has the given number of parts.
func ParseAsk(line []byte, parts int, inBatches bool) (Ask, error) {
	var asked struct {
		Part   int    `json:"part"`
		Verify *bool  `json:"verify"`
		Slice  *Slice `json:"slice"`
	}
	if err := decodeStrict(line, &asked); err != nil {
		return Ask{}, Refuse(Instrument, "the line: %v", err)
	}
	if asked.Part < 0 || asked.Part >= parts {
		return Ask{}, Refuse(Instrument, "there is no part %d: this process has %d", asked.Part, parts)
	}
	ask := Ask{Part: asked.Part, Slice: asked.Slice}
	slice := asked.Slice
	if asked.Verify != nil && *asked.Verify && slice == nil {
		return ask, nil
	}
	switch {
	case slice == nil || asked.Verify != nil:
		return Ask{}, Refuse(Instrument, "the line has neither verify nor slice")
	case slice.Skip == nil || (slice.Calls == nil) == (slice.TimeUS == nil):
		return Ask{}, Refuse(Instrument, "the slice must have skip, and either calls or time_us")
	case slice.Calls != nil && *slice.Calls == 0:
		return Ask{}, Refuse(Instrument, "the slice must have 1 call or more")
	case (slice.Batch > 0) != inBatches:
		return Ask{}, Refuse(Instrument, "a codec's slice must have batch, at least 1, and a client's must not")
	}
	return ask, nil
}

// OneLine returns the error's text without line feeds.
func OneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
