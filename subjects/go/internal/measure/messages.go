package measure

import (
	"encoding/binary"
	"sync"

	"rpcgauge/subjects/go/internal/settings"
)

// MessageRecordBytes is the size of the record of a message in the file.
const MessageRecordBytes = 16

// Messages are the times of a call's messages. They are two lists, because one goroutine sends while another receives.
type Messages struct {
	// Sent is when each request was passed to the library.
	Sent []int64
	// Received is when each response was decoded.
	Received []int64
}

// NewMessages returns lists with room for the messages of a call.
func NewMessages(stream *settings.Stream) *Messages {
	return &Messages{
		Sent:     make([]int64, 0, stream.Requests()),
		Received: make([]int64, 0, stream.Responses()),
	}
}

func (m *Messages) reset() { m.Sent, m.Received = m.Sent[:0], m.Received[:0] }

// Len returns the number of records.
func (m *Messages) Len() int { return max(len(m.Sent), len(m.Received)) }

// Append appends the records in the format of the file.
func (m *Messages) Append(to []byte) []byte {
	for k := range m.Len() {
		for _, times := range [][]int64{m.Sent, m.Received} {
			time := int64(0)
			if k < len(times) {
				time = times[k]
			}
			to = binary.LittleEndian.AppendUint64(to, uint64(time))
		}
	}
	return to
}

// spare are lists for the messages of calls. They are reused after each slice, so that recording allocates no memory
// during later slices.
type spare struct {
	stream *settings.Stream

	mu   sync.Mutex
	free []*Messages
}

func (s *spare) take() *Messages {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.free) - 1
	if last < 0 {
		return NewMessages(s.stream)
	}
	messages := s.free[last]
	s.free = s.free[:last]
	messages.reset()
	return messages
}

func (s *spare) put(messages []*Messages) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, messages...)
}
