package rpcgauge.events;

import java.util.ArrayList;
import java.util.List;

/**
 * From a recording's times to the monotonic clock. A recording counts ticks with a frequency that it measured at
 * its start, so that the two drift apart: between two readings the difference is taken to change evenly.
 */
final class Clock {
    private record Reading(long recorded, long monotonic) {}

    private final List<Reading> readings = new ArrayList<>();

    /** Readings come in the recording's order. */
    void add(long recorded, long monotonic) {
        readings.add(new Reading(recorded, monotonic));
    }

    boolean isEmpty() {
        return readings.isEmpty();
    }

    /** The monotonic time of a time of the recording, ns. */
    long monotonic(long recorded) {
        int after = 0;
        int end = readings.size();
        while (after < end) {
            int middle = (after + end) >>> 1;
            if (readings.get(middle).recorded <= recorded) {
                after = middle + 1;
            } else {
                end = middle;
            }
        }
        if (after == 0 || after == readings.size()) {
            Reading nearest = readings.get(after == 0 ? 0 : after - 1);
            return recorded + nearest.monotonic - nearest.recorded;
        }
        Reading before = readings.get(after - 1);
        Reading next = readings.get(after);
        long first = before.monotonic - before.recorded;
        long change = next.monotonic - next.recorded - first;
        double part = (double) (recorded - before.recorded) / (next.recorded - before.recorded);
        return recorded + first + Math.round(change * part);
    }
}
