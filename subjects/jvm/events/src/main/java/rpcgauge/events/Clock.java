package rpcgauge.events;

import java.util.ArrayList;
import java.util.List;

/**
 * Converts a recording's times to the monotonic clock. A recording counts ticks at a frequency that it measured at its
 * start, so the two clocks drift apart. Between two readings, the difference is interpolated linearly.
 */
final class Clock {
    private record Reading(long recorded, long monotonic) {}

    private final List<Reading> readings = new ArrayList<>();

    /** Readings must be added in the recording's order. */
    void add(long recorded, long monotonic) {
        readings.add(new Reading(recorded, monotonic));
    }

    boolean isEmpty() {
        return readings.isEmpty();
    }

    /** Converts a time of the recording to monotonic time, in ns. */
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
