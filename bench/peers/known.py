"""What the servers with known behavior do, calculated by the rules of bench/servers/rust/src/behaviour.rs. All times
are in µs."""

from dataclasses import dataclass

PERCENTILES = (50, 95, 99, 99.9, 100)
# With short delays, a stall of the machine determines the maximum latency.
ALL_BUT_THE_MAX = PERCENTILES[:-1]

STALL_EVERY_US, STALL_US = 1_000_000, 100_000

# The names of the times that load generators report (docs/load.md).
LATENCY, FIRST_MESSAGE, GAP, MESSAGE_LATENCY = "latency", "first message", "gap", "message latency"


@dataclass(frozen=True)
class Known:
    """The true percentiles of a kind of time, and those which a load generator must report."""

    name: str
    percentiles: dict
    held_to: tuple = PERCENTILES


def nearest_ranks(values):
    values = sorted(values)
    # Integers, because 99.9 / 100 * 1000 is more than 999.
    ranks = {p: -(-round(p * 10) * len(values) // 1000) for p in PERCENTILES}
    return {p: values[max(1, rank) - 1] for p, rank in ranks.items()}


def gaps(times):
    return [later - earlier for earlier, later in zip(times, times[1:])]


@dataclass(frozen=True)
class Shape:
    """A distribution: the server's argument, and the quantile function from a fraction to a time."""

    text: str
    quantile: object

    def percentiles(self):
        return {p: self.quantile(p / 100) for p in PERCENTILES}

    def nth(self, n):
        """Returns the n-th time that a server takes from this distribution."""
        return self.quantile(n * 0x9E3779B97F4A7C15 % 2**64 / 2**64)


def constant(ms):
    return Shape(f"constant:{ms}ms", lambda part: ms * 1000)


def uniform(low_ms, high_ms):
    return Shape(f"uniform:{low_ms}ms:{high_ms}ms", lambda part: 1000 * (low_ms + (high_ms - low_ms) * part))


def bimodal(low_ms, high_ms, high_part):
    return Shape(f"bimodal:{low_ms}ms:{high_ms}ms:{high_part}",
                 lambda part: 1000 * (low_ms if part < 1 - high_part else high_ms))


@dataclass(frozen=True)
class Stalling:
    """Does nothing in the last part of every period."""

    most_runs = 1
    # The time whose percentiles the server's record has.
    recorded = LATENCY

    # The time that a call takes, one call at a time; None to serve all calls concurrently, in no time.
    service: float | None = None
    refuse_one_in: int = 0

    def settings(self, load):
        service = [f"service={self.service}us"] if self.service is not None else []
        refuse = [f"refuse-one-in={self.refuse_one_in}"] if self.refuse_one_in else []
        return ["stall", *service, *refuse]

    def known(self, load):
        return [Known(LATENCY, nearest_ranks(latencies(self.answers(load.rate))))]

    def answers(self, rate):
        """Returns when evenly spaced calls come and are answered. They come in every phase of the stalls."""
        answers, free_at, gap = [], 0.0, 1e6 / rate
        # The first period begins with an empty queue, later ones with the queue that the stall left.
        for call in range(round(rate * 5)):
            came = call * gap
            if self.service is None:
                answered = self.working_from(came)
            else:
                answered = free_at = self.work(max(came, free_at), self.service)
            if came >= STALL_EVERY_US:
                answers.append((came, answered))
        return answers

    def working_from(self, now):
        phase = now % STALL_EVERY_US
        return now if phase < STALL_EVERY_US - STALL_US else now + STALL_EVERY_US - phase

    def work(self, now, length):
        at = self.working_from(now)
        until_stall = STALL_EVERY_US - STALL_US - at % STALL_EVERY_US
        return at + length if length <= until_stall else at + length + STALL_US


def latencies(answers):
    return [answered - came for came, answered in answers]


@dataclass(frozen=True)
class Delaying:
    """Delays each response."""

    # If a core is taken away for a few milliseconds, this affects more calls than lie beyond p99.9, and for longer
    # than these delays. While the host of a virtual machine takes too much time, the run is repeated.
    most_runs = 5
    recorded = LATENCY

    shape: Shape

    def settings(self, load):
        return ["delay", f"shape={self.shape.text}"]

    def known(self, load):
        return [Known(LATENCY, self.shape.percentiles(), ALL_BUT_THE_MAX)]


@dataclass(frozen=True)
class Echoing:
    """Answers each message of a bidirectional stream after the same delay."""

    most_runs = Delaying.most_runs
    recorded = MESSAGE_LATENCY

    delay_ms: int

    def settings(self, load):
        return ["delay", f"shape={constant(self.delay_ms).text}", "stream=bidirectional"]

    def known(self, load):
        delay, between = self.delay_ms * 1000, 1e6 / load.stream.rate
        times = {FIRST_MESSAGE: delay, GAP: between, MESSAGE_LATENCY: delay, LATENCY: self.call_time(load)}
        return [Known(name, dict.fromkeys(PERCENTILES, time), ALL_BUT_THE_MAX) for name, time in times.items()]

    def call_time(self, load):
        return (load.stream.messages - 1) * 1e6 / load.stream.rate + self.delay_ms * 1000

    def received_per_second(self, load, earlier_calls):
        return per_second(load, [self.call_time(load)] * load.calls)


@dataclass(frozen=True)
class StallingEcho:
    """Answers each message of one bidirectional stream like a server that stalls answers calls."""

    most_runs = Stalling.most_runs
    recorded = MESSAGE_LATENCY

    server: Stalling = Stalling()

    def settings(self, load):
        return [*self.server.settings(load), "stream=bidirectional"]

    def known(self, load):
        answers = self.server.answers(load.stream.rate)
        between = nearest_ranks(gaps([answered for _, answered in answers]))
        # One gap per second contains a stall. At 1,000 messages per second, p99.9 lies exactly between these gaps
        # and the others.
        held_to = tuple(p for p in PERCENTILES if p != 99.9)
        return [Known(MESSAGE_LATENCY, nearest_ranks(latencies(answers))), Known(GAP, between, held_to)]

    def received_per_second(self, load, earlier_calls):
        """The last message may have to wait for the end of a stall, and the phase of the stalls is not known."""
        return None


@dataclass(frozen=True)
class Producing:
    """Responds to each call with a stream. The times until the first message of a call and between its messages have
    known distributions."""

    most_runs = Delaying.most_runs
    # The record has each message's time since the one before was due.
    recorded = GAP

    first: Shape
    gap: Shape

    def settings(self, load):
        return ["delay", f"shape={self.first.text}", "stream=server", f"messages={load.stream.messages}",
                f"gap={self.gap.text}"]

    def known(self, load):
        times = {FIRST_MESSAGE: self.first.percentiles(), GAP: self.gap.percentiles(),
                 LATENCY: nearest_ranks(self.call_times(load))}
        return [Known(name, percentiles, ALL_BUT_THE_MAX) for name, percentiles in times.items()]

    def call_times(self, load, earlier_calls=0):
        """Returns the durations of the calls. Each call has its own part of the sequence of gaps."""
        gaps = load.stream.messages - 1
        return [self.first.nth(call + 1) + sum(self.gap.nth(call * gaps + n) for n in range(1, gaps + 1))
                for call in range(earlier_calls, earlier_calls + load.calls)]

    def received_per_second(self, load, earlier_calls):
        return per_second(load, self.call_times(load, earlier_calls))


def per_second(load, call_times):
    """Returns the messages per second until the last call ends."""
    return load.messages / max(call / load.rate + time / 1e6 for call, time in enumerate(call_times))
