package rpcgauge.events;

import jdk.jfr.FlightRecorder;

/**
 * Puts the host's monotonic clock into a flight recording, again and again: the recording's own times are of
 * another clock.
 */
public final class ClockAgent {
    private ClockAgent() {}

    public static void premain(String arguments) {
        FlightRecorder.addPeriodicEvent(ClockEvent.class, () -> {
            ClockEvent event = new ClockEvent();
            event.nanos = System.nanoTime();
            event.commit();
        });
    }
}
