package measure

import (
	"encoding/binary"
	"math"
)

// RecordBytes is the size of a record in the file.
const RecordBytes = 80

// NotKnown is the value of a size that the library does not expose.
const NotKnown = math.MaxUint32

// Record is one call or batch. Times are readings of the monotonic clock; 0 means that the time cannot be observed.
type Record struct {
	Begin, Encoded, Sent, First, Received, End int64
	HandlerStart, HandlerEnd                   int64
	RequestBytes, ResponseBytes                uint32
	Failed                                     bool
	Operations                                 uint32
}

func begun(operations uint32) Record {
	return Record{
		Begin:         Now(),
		RequestBytes:  NotKnown,
		ResponseBytes: NotKnown,
		Operations:    operations,
	}
}

// fail keeps only the fields that are known for a failed call.
func (r *Record) fail() {
	failed := Record{Begin: r.Begin, End: Now(), RequestBytes: NotKnown, ResponseBytes: NotKnown,
		Failed: true, Operations: r.Operations}
	*r = failed
}

// Append appends the record in the format of the file.
func (r *Record) Append(to []byte) []byte {
	for _, time := range []int64{r.Begin, r.Encoded, r.Sent, r.First, r.Received, r.End,
		r.HandlerStart, r.HandlerEnd} {
		to = binary.LittleEndian.AppendUint64(to, uint64(time))
	}
	status := uint32(0)
	if r.Failed {
		status = 1
	}
	for _, number := range []uint32{r.RequestBytes, r.ResponseBytes, status, r.Operations} {
		to = binary.LittleEndian.AppendUint32(to, number)
	}
	return to
}
