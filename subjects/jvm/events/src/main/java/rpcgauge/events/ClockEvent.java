package rpcgauge.events;

import jdk.jfr.Event;
import jdk.jfr.Name;
import jdk.jfr.Period;
import jdk.jfr.StackTrace;

/** A reading of the monotonic clock; the recording adds its own time to it. */
@Name(ClockEvent.NAME)
@Period("100 ms")
@StackTrace(false)
public final class ClockEvent extends Event {
    static final String NAME = "rpcgauge.Clock";

    /** The value of System.nanoTime(), which is CLOCK_MONOTONIC on Linux. */
    public long nanos;
}
