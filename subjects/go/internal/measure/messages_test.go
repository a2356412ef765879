package measure

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"rpcgauge/subjects/go/internal/settings"
)

func TestMessageRecordsAreThoseOfTheContract(t *testing.T) {
	for _, test := range []struct {
		messages Messages
		want     string
	}{
		{Messages{}, ""},
		{Messages{Sent: []int64{1}, Received: []int64{0x0203}}, "0100000000000000" + "0302000000000000"},
		{Messages{Sent: []int64{1, 2}, Received: []int64{3}},
			"0100000000000000" + "0300000000000000" + "0200000000000000" + "0000000000000000"},
		{Messages{Received: []int64{3, 4}},
			"0000000000000000" + "0300000000000000" + "0000000000000000" + "0400000000000000"},
	} {
		got := test.messages.Append(nil)
		if hex.EncodeToString(got) != test.want || len(got) != test.messages.Len()*MessageRecordBytes {
			t.Errorf("%v: %x, and not %s", test.messages, got, test.want)
		}
	}
}

// streamer makes calls whose numbers of messages differ, and fails every third.
type streamer struct{ calls atomic.Int64 }

func (s *streamer) Verify() (any, error) { return "verified", nil }

func (s *streamer) Reopen() (int, error) { return 0, nil }

func (s *streamer) Stream(record *Record, messages *Messages) error {
	call := s.calls.Add(1)
	for range call {
		messages.Sent = append(messages.Sent, Now())
	}
	messages.Received = append(messages.Received, Now())
	if call%3 == 0 {
		return errors.New("every third")
	}
	record.End = Now()
	return nil
}

func TestTheMessagesOfCallsAreInTheOrderOfTheCalls(t *testing.T) {
	for _, inFlight := range []int{1, 4} {
		folder := t.TempDir()
		part := Part{
			Measurer:       &streamer{},
			Records:        filepath.Join(folder, "records"),
			MessageRecords: filepath.Join(folder, "messages"),
			Stream:         &settings.Stream{Form: settings.FromClient, Messages: 3},
			InFlight:       inFlight,
		}
		var out strings.Builder
		lab := settings.NewConversation(strings.NewReader(
			`{"slice":{"skip":2,"calls":9}}`+"\n"+`{"slice":{"skip":1,"calls":5}}`), &out)
		if err := Answer(lab, settings.Ready{}, []Part{part}, false); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"records":9`, `"records":5`, `"error":"every third"`} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s has no %s", out.String(), want)
			}
		}
		checkCalls(t, part, 14)
	}
}

// checkCalls checks that each call's messages are within the call.
func checkCalls(t *testing.T, part Part, calls int) {
	t.Helper()
	records, err := os.ReadFile(part.Records)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := os.ReadFile(part.MessageRecords)
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != calls*RecordBytes {
		t.Fatalf("there are %d bytes of records", len(records))
	}
	for ; len(records) > 0; records = records[RecordBytes:] {
		begin, end := binary.LittleEndian.Uint64(records), binary.LittleEndian.Uint64(records[40:])
		number := binary.LittleEndian.Uint32(records[76:])
		if failed := binary.LittleEndian.Uint32(records[72:]) == 1; failed != (number%3 == 0) {
			t.Errorf("a call with %d messages: failed is %v", number, failed)
		}
		for k := range number {
			sent, received := binary.LittleEndian.Uint64(messages), binary.LittleEndian.Uint64(messages[8:])
			if sent < begin || sent > end || (received != 0) != (k == 0) {
				t.Errorf("message %d of %d: %d, %d is not in %d to %d", k, number, sent, received, begin, end)
			}
			messages = messages[MessageRecordBytes:]
		}
	}
	if len(messages) > 0 {
		t.Errorf("%d bytes of messages belong to no call", len(messages))
	}
}
