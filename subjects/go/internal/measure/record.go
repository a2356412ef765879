package measure

import (
	"encoding/binary"
	"math"
)

// RecordBytes is the size of a record in the file.
const RecordBytes = 80

// NotKnown is a size that the library does not tell.
const NotKnown = math.MaxUint32

// Record is one call or batch. Times are of the monotonic clock; 0 stands for one that cannot be
// observed.
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

// fail leaves only what is known of a call that failed.
func (r *Record) fail() {
	failed := Record{Begin: r.Begin, End: Now(), RequestBytes: NotKnown, ResponseBytes: NotKnown,
		Failed: true, Operations: r.Operations}
	*r = failed
}

// Append adds the record as the file has it.
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
