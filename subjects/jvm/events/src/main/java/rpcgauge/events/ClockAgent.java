package rpcgauge.events;

import jdk.jfr.FlightRecorder;

/**
 * Periodically writes the host's monotonic clock to a flight recording, because the recording's own times use a
 * different clock.
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
