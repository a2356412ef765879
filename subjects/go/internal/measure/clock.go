// Package measure makes the calls or batches of slices, and records them.
package measure

import (
	"time"

	"golang.org/x/sys/unix"
)

// The runtime's monotonic time is CLOCK_MONOTONIC minus a constant that the runtime does not expose. Reading the clock
// itself would require a system call for each stamp, so the constant is determined once: of many pairs of runtime
// readings with a reading of the clock in between, the closest pair is within a few tens of nanoseconds.
var (
	start  = time.Now()
	offset = findOffset()
)

func findOffset() int64 {
	const readings = 200
	least, most := int64(-1<<63), int64(1<<63-1)
	for range readings {
		before := int64(time.Since(start))
		clock := read(unix.CLOCK_MONOTONIC)
		after := int64(time.Since(start))
		least = max(least, clock-after)
		most = min(most, clock-before)
	}
	return least + (most-least)/2
}

// Now returns the host's monotonic clock in nanoseconds.
func Now() int64 {
	return offset + int64(time.Since(start))
}

// cpu returns the process's CPU time in nanoseconds.
func cpu() int64 {
	return read(unix.CLOCK_PROCESS_CPUTIME_ID)
}

func read(clock int32) int64 {
	var at unix.Timespec
	if err := unix.ClockGettime(clock, &at); err != nil {
		panic(err) // Linux has both clocks.
	}
	return at.Nano()
}
