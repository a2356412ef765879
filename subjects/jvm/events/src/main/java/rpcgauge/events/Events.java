package rpcgauge.events;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/** Prints the events of a JVM's runtime from its flight recording, as one line of JSON each. */
public final class Events {
    private record Span(String kind, long begin, long end, String detail) {}

    private Events() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 1) {
            throw fail("usage: Events RECORDING");
        }
        Clock clock = new Clock();
        List<Span> spans = read(Path.of(arguments[0]), clock);
        if (clock.isEmpty()) {
            throw fail("the recording has no readings of the monotonic clock: the JVM ran for too short a time");
        }
        PrintStream out = System.out;
        try (BufferedWriter lines = new BufferedWriter(new OutputStreamWriter(out, StandardCharsets.UTF_8))) {
            for (Span span : spans) {
                lines.write(line(span, clock));
            }
        }
    }

    private static List<Span> read(Path recording, Clock clock) throws IOException {
        List<Span> spans = new ArrayList<>();
        List<RecordedEvent> readings = new ArrayList<>();
        // The begin of each safepoint, by its id.
        Map<Long, Long> stopped = new HashMap<>();
        Map<Long, Long> resumed = new HashMap<>();
        try (RecordingFile file = new RecordingFile(recording)) {
            while (file.hasMoreEvents()) {
                RecordedEvent event = file.readEvent();
                long begin = nanos(event.getStartTime());
                long end = nanos(event.getEndTime());
                switch (event.getEventType().getName()) {
                    case ClockEvent.NAME -> readings.add(event);
                    case "jdk.GCPhasePause" -> spans.add(new Span("gc-pause", begin, end, event.getString("name")));
                    case "jdk.SafepointBegin" -> stopped.put(event.getLong("safepointId"), begin);
                    case "jdk.SafepointEnd" -> resumed.put(event.getLong("safepointId"), end);
                    case "jdk.ExecuteVMOperation" -> {
                        if (event.getBoolean("safepoint")) {
                            spans.add(new Span("safepoint", begin, end, event.getString("operation")));
                        }
                    }
                    case "jdk.Compilation" -> spans.add(new Span("compilation", begin, end, compiled(event)));
                    case "jdk.Deoptimization" ->
                        spans.add(new Span("deoptimization", begin, end, event.getString("reason")));
                    default -> {}
                }
            }
        }
        stopped.forEach((number, begin) -> {
            Long end = resumed.get(number);
            if (end != null) {
                spans.add(new Span("safepoint", begin, end, ""));
            }
        });
        readings.sort((one, other) -> one.getStartTime().compareTo(other.getStartTime()));
        readings.forEach(event -> clock.add(nanos(event.getStartTime()), event.getLong("nanos")));
        return spans;
    }

    private static String compiled(RecordedEvent event) {
        var method = event.getValue("method");
        if (method instanceof jdk.jfr.consumer.RecordedMethod compiled) {
            String type = compiled.getType().getName();
            return type.substring(type.lastIndexOf('.') + 1) + "." + compiled.getName() + ", level "
                    + event.getShort("compileLevel");
        }
        return "";
    }

    private static String line(Span span, Clock clock) {
        long begin = clock.monotonic(span.begin);
        long end = Math.max(begin, clock.monotonic(span.end));
        return "{\"kind\":\"" + span.kind + "\",\"begin_ns\":" + begin + ",\"end_ns\":" + end + ",\"detail\":\""
                + escaped(span.detail) + "\"}\n";
    }

    private static String escaped(String text) {
        StringBuilder escaped = new StringBuilder();
        for (char c : (text == null ? "" : text).toCharArray()) {
            if (c == '"' || c == '\\') {
                escaped.append('\\');
            }
            escaped.append(c < ' ' ? ' ' : c);
        }
        return escaped.toString();
    }

    private static long nanos(Instant time) {
        return time.getEpochSecond() * 1_000_000_000L + time.getNano();
    }

    private static RuntimeException fail(String why) {
        System.err.println(why);
        System.exit(1);
        return new IllegalStateException(why);
    }
}
