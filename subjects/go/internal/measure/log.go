package measure

import (
	"fmt"
	"slices"
	"sort"
)

// log has the records of calls and, if they are streams, the messages of each.
type log struct {
	records  []Record
	messages []*Messages
}

// doer returns the function that makes a measurer's calls.
func (l *log) doer(measurer Measurer, spare *spare) func(*Record) error {
	switch measurer := measurer.(type) {
	case Caller:
		return measurer.Do
	case Streamer:
		return l.recorder(measurer, spare)
	}
	panic(fmt.Sprintf("%T makes no calls", measurer))
}

// recorder returns a function that makes a call of a stream and keeps its messages. Those of a call that is not
// recorded are replaced by the next call's.
func (l *log) recorder(streamer Streamer, spare *spare) func(*Record) error {
	return func(record *Record) error {
		number := len(l.records)
		if number == len(l.messages) {
			l.messages = append(l.messages, spare.take())
		} else {
			l.messages[number].reset()
		}
		messages := l.messages[number]
		err := streamer.Stream(record, messages)
		record.Operations = uint32(messages.Len())
		return err
	}
}

func (l *log) add(other *log) {
	l.records = append(l.records, other.records...)
	// A worker whose calls were all unrecorded has the messages of the last one.
	l.messages = append(l.messages, other.messages[:min(len(other.records), len(other.messages))]...)
}

// sort sorts the calls by their begin.
func (l *log) sort() {
	if l.messages == nil {
		slices.SortFunc(l.records, func(a, b Record) int { return int(a.Begin - b.Begin) })
		return
	}
	sort.Sort(byBegin{l})
}

type byBegin struct{ *log }

func (b byBegin) Len() int { return len(b.records) }

func (b byBegin) Less(i, j int) bool { return b.records[i].Begin < b.records[j].Begin }

func (b byBegin) Swap(i, j int) {
	b.records[i], b.records[j] = b.records[j], b.records[i]
	b.messages[i], b.messages[j] = b.messages[j], b.messages[i]
}
