package measure

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"rpcgauge/subjects/go/internal/settings"
)

func TestRecordsAreThoseOfTheContract(t *testing.T) {
	text, err := os.ReadFile("../../../../contract/golden/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Records []struct {
			What  string
			Hex   string
			Means map[string]int64
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Records) == 0 {
		t.Fatal("there are no records")
	}
	size := func(bytes int64, known bool) uint32 {
		if !known {
			return NotKnown
		}
		return uint32(bytes)
	}
	for _, want := range golden.Records {
		means := want.Means
		sent, sentKnown := means["request bytes"]
		received, receivedKnown := means["response bytes"]
		record := Record{
			Begin: means["begin"], Encoded: means["encoded"], Sent: means["sent"],
			First: means["first byte"], Received: means["received"], End: means["end"],
			HandlerStart: means["handler start"], HandlerEnd: means["handler end"],
			RequestBytes:  size(sent, sentKnown),
			ResponseBytes: size(received, receivedKnown),
			Failed:        means["status"] == 1,
			Operations:    uint32(means["operations"]),
		}
		if got := hex.EncodeToString(record.Append(nil)); got != want.Hex {
			t.Errorf("%s: %s, and not %s", want.What, got, want.Hex)
		}
	}
}

func TestTheClockIsTheHosts(t *testing.T) {
	for range 100 {
		before := read(unix.CLOCK_MONOTONIC)
		now := Now()
		after := read(unix.CLOCK_MONOTONIC)
		// The constant is accurate to a few tens of nanoseconds.
		const tolerance = 1000
		if now < before-tolerance || now > after+tolerance {
			t.Fatalf("%d is not between %d and %d", now, before, after)
		}
	}
}

// counter fails every third call.
type counter struct {
	calls    atomic.Int64
	reopened int
}

func (c *counter) Verify() (any, error) { return "verified", nil }

func (c *counter) Reopen() (int, error) { return c.reopened, nil }

func (c *counter) Do(record *Record) error {
	if c.calls.Add(1)%3 == 0 {
		return errors.New("every\nthird")
	}
	record.End = Now()
	return nil
}

func TestSlicesHaveAsManyRecordsAsAsked(t *testing.T) {
	for _, inFlight := range []int{1, 4} {
		path := filepath.Join(t.TempDir(), "records")
		var out strings.Builder
		lab := settings.NewConversation(strings.NewReader(strings.Join([]string{
			`{"verify":true}`,
			`{"slice":{"skip":2,"calls":7}}`,
			`{"slice":{"skip":0,"time_us":0}}`,
		}, "\n")), &out)
		calls := &counter{reopened: 2}
		parts := []Part{{Measurer: calls, Records: path, InFlight: inFlight}}
		if err := Answer(lab, settings.Ready{}, parts, false); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 4 || lines[1] != `{"verified":"verified"}` {
			t.Fatalf("%q", lines)
		}
		for _, part := range []string{`"records":7`, `"error":"every third"`, `"reopened":2`, `"cpu_ns":`} {
			if !strings.Contains(lines[2], part) {
				t.Errorf("%s has no %s", lines[2], part)
			}
		}
		bytes, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if made := int(calls.calls.Load()); made < 10 || len(bytes) != (made-2)*RecordBytes {
			t.Errorf("%d calls have %d bytes of records", made, len(bytes))
		}
		if failed := bytes[72]; inFlight == 1 && failed != 1 {
			t.Error("the third call has not failed")
		}
	}
}

func TestEachPartHasItsOwnCallsAndRecords(t *testing.T) {
	folder := t.TempDir()
	lab := settings.NewConversation(strings.NewReader(strings.Join([]string{
		`{"part":1,"verify":true}`,
		`{"part":1,"slice":{"skip":0,"calls":2}}`,
		`{"slice":{"skip":0,"calls":1}}`,
	}, "\n")), &strings.Builder{})
	var parts []Part
	calls := []*counter{{}, {}}
	for i, calls := range calls {
		path := filepath.Join(folder, strconv.Itoa(i))
		parts = append(parts, Part{Measurer: calls, Records: path, InFlight: 1})
	}
	if err := Answer(lab, settings.Ready{}, parts, false); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{1, 2} {
		bytes, err := os.ReadFile(parts[i].Records)
		if err != nil {
			t.Fatal(err)
		}
		if made := int64(calls[i].calls.Load()); made != want || len(bytes) != int(want)*RecordBytes {
			t.Errorf("part %d: %d calls, %d bytes", i, made, len(bytes))
		}
	}
}
