"""A load generator's task and report."""

from dataclasses import dataclass, field, replace

METHOD = "hello.Hello/SayHello"
JSON = '{"name":"world"}'
# HelloRequest { name: "world" } as a gRPC message, for load generators without protobuf.
GRPC_MESSAGE = b"\0\0\0\0\x07\x0a\x05world"


PROTOCOLS = {"grpc": "gRPC", "http1": "HTTP/1.1"}


@dataclass(frozen=True)
class Stream:
    """How the calls of a task stream (bench/peers/streams.proto)."""

    form: str  # one of STREAM_METHODS
    messages: int  # of each call, in each direction that streams
    # Messages per second that the client sends in each call; None for as many as possible.
    rate: float | None = None
    # Whether the client sends each message when the previous one has been answered.
    in_turn: bool = False


STREAM_METHODS = {"server": "streams.Streams/Produce", "bidirectional": "streams.Streams/Exchange"}


@dataclass(frozen=True)
class Task:
    """One run of a load generator."""

    protocol: str  # one of PROTOCOLS
    address: str
    connections: int
    in_flight: int
    calls: int
    # Calls per second in an open loop; None for a closed loop.
    rate: float | None = None
    # Replaces `calls` for load generators that cannot stop after a number of calls.
    seconds: float = 4
    # Whether to sample the client's resident memory while it runs.
    wants_resident: bool = False
    # None for unary calls.
    stream: Stream | None = None

    def with_calls(self, calls):
        return replace(self, calls=max(calls, self.in_flight))

    def with_messages(self, messages):
        return replace(self, stream=replace(self.stream, messages=messages))

    def scaled(self, part):
        """Returns the task with this fraction of its calls or, of streams, their messages."""
        if self.stream:
            return self.with_messages(max(1, round(self.stream.messages * part)))
        return self.with_calls(round(self.calls * part))

    def lasting(self, seconds):
        """Returns the task with as many calls as its rate takes for this time or, if it has none, messages."""
        if self.rate:
            return self.with_calls(round(self.rate * seconds))
        return self.with_messages(round(self.stream.rate * seconds))

    @property
    def messages(self):
        """The number of messages of all streams."""
        return self.calls * self.stream.messages if self.stream else 0

    @property
    def per_second(self):
        """How many calls are made or, of streams, messages exchanged per second; None in a closed loop."""
        if not self.stream or self.stream.rate:
            return self.arrivals_per_second
        return self.rate and self.rate * self.stream.messages

    @property
    def arrivals_per_second(self):
        """How many calls arrive at the server or, if the client streams, messages."""
        if not self.stream or not self.stream.rate:
            return self.rate
        last_call = (self.calls - 1) / self.rate if self.rate else 0
        return (self.messages - 1) / (last_call + (self.stream.messages - 1) / self.stream.rate)


@dataclass
class Outcome:
    """A load generator's report. Times are in µs, and None if they are not reported."""

    answered: int
    failed: int
    per_second: float
    mean: float | None = None
    # By percentile; 100 is the maximum.
    percentiles: dict = field(default_factory=dict)
    # How late calls were sent, with the same keys as `percentiles`.
    send_delay: dict = field(default_factory=dict)
    # Of streams: how many messages were received, and their times by name (known.py).
    messages: int = 0
    messages_per_second: float | None = None
    message_times: dict = field(default_factory=dict)

    @property
    def calls(self):
        return self.answered + self.failed


class Unusable(Exception):
    """A load generator failed, or its output cannot be used."""
