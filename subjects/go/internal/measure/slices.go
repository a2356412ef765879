package measure

import (
	"errors"
	"io"
	"sync"

	"rpcgauge/subjects/go/internal/settings"
)

// Measurer is a client or a codec: a Caller, or a Streamer if its calls are streams.
type Measurer interface {
	// Verify makes one call or operation, and returns the value of "verified".
	Verify() (any, error)
	// Reopen reopens lost connections and returns their number.
	Reopen() (int, error)
}

// Caller is a Measurer whose calls have one request and one response.
type Caller interface {
	Measurer
	// Do makes a call or runs a batch, and completes the record.
	Do(record *Record) error
}

// Streamer is a Measurer whose calls are streams.
type Streamer interface {
	Measurer
	// Stream makes a call, completes the record, and adds the times of the call's messages.
	Stream(record *Record, messages *Messages) error
}

// Part is a measurer with its settings.
type Part struct {
	Measurer Measurer
	// Records is the path of the file for the records.
	Records  string
	InFlight int
	// Stream is nil unless the calls are streams. Then MessageRecords is the path of the file for their messages.
	Stream         *settings.Stream
	MessageRecords string
}

// Answer replies to the lab's lines until its input ends. inBatches is true for codecs.
func Answer(lab *settings.Conversation, ready settings.Ready, parts []Part, inBatches bool) error {
	var runs []*runner
	for _, part := range parts {
		out, err := create(part)
		if err != nil {
			return err
		}
		defer out.close()
		runs = append(runs, &runner{part: part, out: out, spare: spare{stream: part.Stream}})
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
		reply, err := runs[ask.Part].answer(ask.Slice)
		if err != nil {
			return err
		}
		if err := lab.Reply(reply); err != nil {
			return err
		}
	}
}

// runner replies to the lines for one part.
type runner struct {
	part  Part
	out   *files
	spare spare
}

func (r *runner) answer(slice *settings.Slice) (any, error) {
	if slice == nil {
		verified, err := r.part.Measurer.Verify()
		if err != nil {
			return nil, err
		}
		return map[string]any{"verified": verified}, nil
	}
	done, err := r.run(slice)
	if err != nil {
		return nil, err
	}
	if err := r.out.append(&done.log); err != nil {
		return nil, err
	}
	r.spare.put(done.messages)
	reply := map[string]any{"records": len(done.records), "cpu_ns": done.cpu}
	if done.reopened > 0 {
		reply["reopened"] = done.reopened
	}
	if done.failure != nil {
		reply["error"] = settings.OneLine(done.failure)
	}
	return map[string]any{"slice": reply}, nil
}

// done is the outcome of a slice.
type done struct {
	log
	cpu      int64
	reopened int
	failure  error
}

func (r *runner) run(slice *settings.Slice) (*done, error) {
	reopened, err := r.part.Measurer.Reopen()
	if err != nil {
		return nil, err
	}
	t := &tally{slice: slice}
	if r.part.InFlight == 1 {
		t.work(r.part.Measurer, &r.spare)
	} else {
		var workers sync.WaitGroup
		for range r.part.InFlight {
			workers.Go(func() { t.work(r.part.Measurer, &r.spare) })
		}
		workers.Wait()
	}
	made := &done{log: t.log, cpu: cpu() - t.cpu, reopened: reopened, failure: t.failure}
	made.sort()
	return made, nil
}

// tally is the state of a slice: the calls still to be made, and the outcome of the others.
type tally struct {
	slice *settings.Slice

	mu      sync.Mutex
	begun   uint64
	until   int64
	cpu     int64
	log     log
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
func (t *tally) work(measurer Measurer, spare *spare) {
	operations := max(t.slice.Batch, 1)
	var made log
	var failure error
	do := made.doer(measurer, spare)
	for {
		recorded, more := t.next()
		if !more {
			break
		}
		record := begun(operations)
		err := do(&record)
		if !recorded {
			continue
		}
		if err != nil {
			record.fail()
			if failure == nil {
				failure = err
			}
		}
		made.records = append(made.records, record)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log.add(&made)
	if t.failure == nil {
		t.failure = failure
	}
}
