package settings

import "slices"

// Stream is how the messages of a call are exchanged.
type Stream struct {
	// Form is which side streams: one of the forms below.
	Form string `json:"form"`
	// Messages is the number of messages that this side sends in each call; if both stream, the client.
	Messages int `json:"messages"`
	// InTurn means that the client sends each message after the response to the previous one.
	InTurn bool `json:"in_turn,omitempty"`
}

// The forms of gRPC's streams.
const (
	FromClient    = "client"
	FromServer    = "server"
	Bidirectional = "bidirectional"
)

// forms are all that the contract defines.
var forms = []string{FromClient, FromServer, Bidirectional, "ndjson", "sse"}

const maxMessages = 1_000_000

// Requests returns the number of messages that the client sends in each call.
func (s *Stream) Requests() int {
	if s.Form == FromClient || s.Form == Bidirectional {
		return s.Messages
	}
	return 1
}

// Responses returns the number of messages that the server sends in each call.
func (s *Stream) Responses() int {
	if s.Form == FromClient {
		return 1
	}
	return s.Messages
}

// StreamForm returns the form of the calls' streams, or an empty string for unary calls.
func (c *Call) StreamForm() string {
	if c.Stream == nil {
		return ""
	}
	return c.Stream.Form
}

// checkStream refuses what the contract does not allow in its version.
func (c *Call) checkStream(version int) error {
	stream := c.Stream
	switch {
	case stream == nil:
		return nil
	case version < withStreams:
		return Refuse(Instrument, "a stream requires contract version %d", withStreams)
	case !slices.Contains(forms, stream.Form):
		return Refuse(Instrument, "a stream cannot have the form %q", stream.Form)
	case stream.Messages < 1 || stream.Messages > maxMessages:
		return Refuse(Instrument, "a stream cannot have %d messages; 1 to %d are allowed", stream.Messages, maxMessages)
	case stream.InTurn && stream.Form != Bidirectional:
		return Refuse(Instrument, "in_turn is only for bidirectional streams")
	case c.Marks:
		return Refuse(Instrument, "a stream has no marks")
	}
	return nil
}
