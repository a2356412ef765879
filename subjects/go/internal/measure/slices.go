package measure

import (
	"bufio"
	"errors"
	"io"
	"os"
	"slices"
	"sync"

	"rpcgauge/subjects/go/internal/settings"
)

// Measurer is a client or a codec.
type Measurer interface {
	// Verify makes one call or operation, and returns the value of "verified".
	Verify() (any, error)
	// Reopen reopens lost connections and returns their number.
	Reopen() (int, error)
	// Do makes a call or runs a batch, and completes the record.
	Do(record *Record) error
}

// Part is a measurer with its settings.
type Part struct {
	Measurer Measurer
	// Records is the path of the file for the records.
	Records  string
	InFlight int
}

// Answer replies to the lab's lines until its input ends. inBatches is true for codecs.
func Answer(lab *settings.Conversation, ready settings.Ready, parts []Part, inBatches bool) error {
	var outs []*bufio.Writer
	for _, part := range parts {
		file, err := os.Create(part.Records)
		if err != nil {
			return unwritten(err)
		}
		defer file.Close()
		outs = append(outs, bufio.NewWriter(file))
	}
	if err := lab.Ready(ready); err != nil {
		return err
	}
	for {
		line, err := lab.Line()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		ask, err := settings.ParseAsk(line, len(parts), inBatches)
		if err != nil {
			return err
		}
		reply, err := answer(ask.Slice, parts[ask.Part], outs[ask.Part])
		if err != nil {
			return err
		}
		if err := lab.Reply(reply); err != nil {
			return err
		}
	}
}

func answer(slice *settings.Slice, part Part, out *bufio.Writer) (any, error) {
	if slice == nil {
		verified, err := part.Measurer.Verify()
		if err != nil {
			return nil, err
		}
		return map[string]any{"verified": verified}, nil
	}
	done, err := run(slice, part.InFlight, part.Measurer)
	if err != nil {
		return nil, err
	}
	var bytes []byte
	for i := range done.records {
		bytes = done.records[i].Append(bytes[:0])
		if _, err := out.Write(bytes); err != nil {
			return nil, unwritten(err)
		}
	}
	if err := out.Flush(); err != nil {
		return nil, unwritten(err)
	}
	reply := map[string]any{"records": len(done.records), "cpu_ns": done.cpu}
	if done.reopened > 0 {
		reply["reopened"] = done.reopened
	}
	if done.failure != nil {
		reply["error"] = settings.OneLine(done.failure)
	}
	return map[string]any{"slice": reply}, nil
}

func unwritten(err error) error {
	return settings.Refuse(settings.Machine, "cannot write the records: %v", err)
}

// done is the outcome of a slice.
type done struct {
	records  []Record
	cpu      int64
	reopened int
	failure  error
}

func run(slice *settings.Slice, inFlight int, measurer Measurer) (done, error) {
	reopened, err := measurer.Reopen()
	if err != nil {
		return done{}, err
	}
	t := &tally{slice: slice}
	if inFlight == 1 {
		t.work(measurer)
	} else {
		var workers sync.WaitGroup
		for range inFlight {
			workers.Go(func() { t.work(measurer) })
		}
		workers.Wait()
	}
	made := done{records: t.records, cpu: cpu() - t.cpu, reopened: reopened, failure: t.failure}
	slices.SortFunc(made.records, func(a, b Record) int { return int(a.Begin - b.Begin) })
	return made, nil
}

// tally is the state of a slice: the calls still to be made, and the outcome of the others.
type tally struct {
	slice *settings.Slice

	mu      sync.Mutex
	begun   uint64
	until   int64
	cpu     int64
	records []Record
	failure error
}

// next reports whether there is another call, and whether to record it.
func (t *tally) next() (recorded, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	number := t.begun
	t.begun++
	if number < *t.slice.Skip {
		return false, true
	}
	number -= *t.slice.Skip
	if number == 0 {
		t.cpu = cpu()
		if t.slice.TimeUS != nil {
			t.until = Now() + int64(*t.slice.TimeUS)*1000
		}
		return true, true
	}
	if t.slice.Calls != nil {
		return true, number < *t.slice.Calls
	}
	return true, Now() < t.until
}

// work makes calls one after another until none is left.
func (t *tally) work(measurer Measurer) {
	operations := max(t.slice.Batch, 1)
	var records []Record
	var failure error
	for {
		recorded, more := t.next()
		if !more {
			break
		}
		record := begun(operations)
		err := measurer.Do(&record)
		if !recorded {
			continue
		}
		if err != nil {
			record.fail()
			if failure == nil {
				failure = err
			}
		}
		records = append(records, record)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = append(t.records, records...)
	if t.failure == nil {
		t.failure = failure
	}
}
