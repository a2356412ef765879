"""Code that both grpcio clients share: a call as the library sees it, its options, and its record."""

from collections.abc import Callable
from itertools import cycle
from time import monotonic_ns
from typing import Any, NamedTuple

import grpc

from subject import compression, protobufs
from subject.contract import HANDLER_END, HANDLER_START, ClientSettings, Json, Refused
from subject.slices import NOT_KNOWN, SUCCEEDED, Record


class Call:
    """A call on its way through the library: its request, and when the request was encoded."""

    def __init__(self, message: Any, begin: int, recorded: bool) -> None:
        self.message = message
        self.begin = begin
        self.recorded = recorded
        self.encoded = 0
        self.size = NOT_KNOWN


class Response(NamedTuple):
    """A response, and the time when its bytes were passed to the decoder."""

    message: Any
    received: int
    size: int


class StampingChannel:
    """Sits between a generated stub and its channel, to see when messages are encoded and decoded."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel

    def unary_unary(
        self,
        path: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        **options: Any,
    ) -> Any:
        def encode(call: Call) -> bytes:
            data = request_serializer(call.message)
            call.encoded = monotonic_ns()
            call.size = len(data)
            return data

        def decode(data: bytes) -> Response:
            received = monotonic_ns()
            return Response(response_deserializer(data), received, len(data))

        return self.channel.unary_unary(path, encode, decode, **options)

    def __getattr__(self, kind: str) -> Any:
        """Return the channel's own function for methods that stream, which the stub has as well."""
        return getattr(self.channel, kind)


class Calls:
    """The calls of a client. `connect` is one of the library's two functions that create a channel."""

    def __init__(self, settings: ClientSettings, connect: Callable[..., Any]) -> None:
        self.versions = protobufs.versions("grpcio")
        self.messages = protobufs.for_calls(settings)
        self.requests = [
            self.messages.from_json("request", request) for request in settings.requests
        ]
        # Threads may share a cycle, because the interpreter takes the next element atomically.
        self.turns = cycle(self.requests)
        self.marks = settings.marks
        self.keeps = settings.connection == "reuse"
        # Compression happens below the encoder and the decoder, so it cannot be observed.
        self.compresses = compression.level(settings.request_compression) > 0
        self.decompresses = compression.level(settings.response_compression) > 0
        self.address = settings.address
        self.deadline = settings.deadline_ms / 1_000
        self.how = {
            "timeout": self.deadline,
            "compression": grpc.Compression.Gzip if self.compresses else None,
        }
        self.options: list[tuple[str, Any]] = [
            ("grpc.max_receive_message_length", settings.limits.max_message_bytes),
            # The server is on this host, so proxies from the environment must be ignored.
            ("grpc.enable_http_proxy", 0),
            # Otherwise channels to the same address share a connection, even those of other parts.
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if settings.address.startswith("unix:"):
            # By default the library sends the path as the authority, which strict servers refuse.
            self.options.append(("grpc.default_authority", "localhost"))
        self.kept = range(settings.channels if self.keeps else 0)
        self.connect = connect

    def channel(self) -> Any:
        return self.connect(self.address, self.options)

    def stub(self, channel: Any) -> Any:
        return self.messages.method.stub(StampingChannel(channel))

    def next(self, begin: int, recorded: bool = True) -> Call:
        return Call(next(self.turns), begin, recorded)

    def first(self) -> Call:
        return Call(self.requests[0], monotonic_ns(), False)

    def verified(self, response: Response) -> Json:
        return {"message": self.messages.to_json("response", response.message)}

    def record(self, call: Call, response: Response, end: int, metadata: Any) -> Record:
        """Return the record of a call; `metadata` is that of the response, or None without marks."""
        marks = dict(metadata or ())
        return (
            call.begin,
            0 if self.compresses else call.encoded,
            0,
            0,
            0 if self.decompresses else response.received,
            end,
            int(marks.get(HANDLER_START, 0)),
            int(marks.get(HANDLER_END, 0)),
            NOT_KNOWN if self.compresses else call.size,
            NOT_KNOWN if self.decompresses else response.size,
            SUCCEEDED,
            1,
        )

    def unreachable(self) -> Refused:
        return Refused(f"no connection to {self.address} in {self.deadline} s", "machine")


def failure(error: Any) -> Refused:
    """Return the error of a failed call without the many lines that the library adds."""
    return Refused(f"{error.code().name}: {error.details()}", "subject")
