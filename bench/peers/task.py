"""What a load generator is asked to do, and what it says it did."""

from dataclasses import dataclass, field, replace

METHOD = "hello.Hello/SayHello"
JSON = '{"name":"world"}'
# HelloRequest { name: "world" } as a gRPC message, for peers that know no protobuf.
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
    # Calls per second in an open loop; None for a closed one.
    rate: float | None = None
    # For those that cannot count calls, instead of `calls`.
    seconds: float = 4
    # Whether the client's resident memory is looked at while it runs.
    wants_resident: bool = False

    def with_calls(self, calls):
        return replace(self, calls=max(calls, self.in_flight))


@dataclass
class Outcome:
    """What a load generator reports. Times are in µs; None where it does not say."""

    answered: int
    failed: int
    per_second: float
    mean: float | None = None
    # By percentile; 100 is the maximum.
    percentiles: dict = field(default_factory=dict)
    # How long after it was due a call was sent, as `percentiles`.
    send_delay: dict = field(default_factory=dict)

    @property
    def calls(self):
        return self.answered + self.failed


class Unusable(Exception):
    """A peer's output is not what it should be, or it failed."""
