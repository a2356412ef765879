"""Code that both grpcio clients share for streams: a stream as the library sees it, and its outcome."""

from array import array
from collections.abc import Iterator
from itertools import cycle
from time import monotonic_ns
from typing import Any

import grpc

from subject.contract import ClientSettings, Json, Refused, Stream
from subject.grpc_calls import Calls, failure
from subject.stream_records import Streamed, Times


class StreamCall:
    """A stream on its way through the library, which takes the requests from it as from any iterator."""

    def __init__(self, stream: Stream, turns: Iterator[Any], recorded: bool) -> None:
        self.turns = turns
        self.recorded = recorded
        self.lists = stream.form != "client"
        self.requests = stream.messages if stream.form != "server" else 1
        self.responses = stream.messages if self.lists else 1
        self.sent = self.received = 0
        # Allocated for the records of all messages, so that only a number is written for each during the call.
        self.times = array("Q", bytes(16 * stream.messages))
        # Read last, because the allocation is not part of the call.
        self.begin = monotonic_ns()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.sent == self.requests:
            raise StopIteration
        message = next(self.turns)
        self.times[2 * self.sent] = monotonic_ns()
        self.sent += 1
        return message

    def receive(self, message: Any) -> None:
        """Record when a response was decoded, which is now."""
        if message is None:
            # The coroutine API returns None for invalid bytes; the synchronous API raises an error.
            raise wrong("a response cannot be decoded")
        if self.received == self.responses:
            raise wrong(f"the server sent more than {self.responses} messages")
        self.times[2 * self.received + 1] = monotonic_ns()
        self.received += 1

    def check(self) -> None:
        """Raise an error if the call ended with success but without some of its messages."""
        if self.sent < self.requests:
            raise wrong(f"the call ended after {self.sent} of {self.requests} requests")
        if self.received < self.responses:
            raise wrong(f"the server sent {self.received} of {self.responses} messages")

    def succeeded(self) -> Streamed:
        end = monotonic_ns()
        return Streamed(self.times_until(end, self.requests), self.times, None)

    def failed(self, error: Exception) -> Streamed:
        # The library's thread may still take requests, so their number is read once, and `end` after the copy.
        requests = self.sent
        messages = self.times[: 2 * max(requests, self.received)]
        end = monotonic_ns()
        return Streamed(self.times_until(end, requests), messages, error)

    def times_until(self, end: int, requests: int) -> Times:
        sent = self.times[2 * requests - 2] if requests else 0
        first = last = 0
        if self.lists and self.received:
            first, last = self.times[1], self.times[2 * self.received - 1]
        return Times(self.begin, sent, first, last, end)


# How many messages the lab wants to see of a call.
MAX_VERIFIED = 1000


class VerifiedCall(StreamCall):
    """Keeps the first responses."""

    def __init__(self, stream: Stream, turns: Iterator[Any]) -> None:
        super().__init__(stream, turns, False)
        self.kept: list[Any] = []

    def receive(self, message: Any) -> None:
        super().receive(message)
        if len(self.kept) < MAX_VERIFIED:
            self.kept.append(message)


class StreamCalls(Calls):
    def __init__(self, settings: ClientSettings, connect: Any) -> None:
        super().__init__(settings, connect)
        assert settings.stream
        self.stream = settings.stream

    def stub(self, channel: Any) -> Any:
        # Without stamps in the encoder and the decoder: only passing messages to the library and back is timed.
        return self.messages.method.stub(channel)

    def next(self, begin: int, recorded: bool = True) -> Any:
        # A stream reads its own begin.
        return StreamCall(self.stream, self.turns, recorded)

    def first(self) -> Any:
        return VerifiedCall(self.stream, cycle(self.requests))

    def verified(self, call: Any) -> Json:
        to_json = self.messages.to_json
        return {"stream": [{"message": to_json("response", message)} for message in call.kept]}


def wrong(error: str) -> Refused:
    return Refused(error, "subject")


def reason(error: Exception) -> Exception:
    return failure(error) if isinstance(error, grpc.RpcError) else error
