package rpcgauge.events;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ClockTest {
    @Test
    void aTimeBetweenTwoReadingsTakesItsPartOfTheDrift() {
        Clock clock = new Clock();
        clock.add(1_000, 51_000);
        clock.add(2_000, 52_010);
        assertEquals(51_505, clock.monotonic(1_500));
        assertEquals(51_000, clock.monotonic(1_000));
    }

    @Test
    void beyondTheReadingsTheNearestHolds() {
        Clock clock = new Clock();
        clock.add(1_000, 51_000);
        clock.add(2_000, 52_010);
        assertEquals(50_500, clock.monotonic(500));
        assertEquals(53_010, clock.monotonic(3_000));
    }
}
