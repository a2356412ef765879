"""A load generator's task and report."""

from dataclasses import dataclass, field, replace

METHOD = "hello.Hello/SayHello"
JSON = '{"name":"world"}'
# HelloRequest { name: "world" } as a gRPC message, for load generators without protobuf.
GRPC_MESSAGE = b"\0\0\0\0\x07\x0a\x05world"


PROTOCOLS = {"grpc": "gRPC", "http1": "HTTP/1.1"}


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

    def with_calls(self, calls):
        return replace(self, calls=max(calls, self.in_flight))


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

    @property
    def calls(self):
        return self.answered + self.failed


class Unusable(Exception):
    """A load generator failed, or its output cannot be used."""
