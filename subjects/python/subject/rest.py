"""Code that the REST clients share: the body and the headers of a call, and its response."""

import os
from http import HTTPStatus
from itertools import cycle
from time import monotonic_ns
from typing import Any, NamedTuple, Protocol

from subject import compression, workloads
from subject.contract import HANDLER_END, HANDLER_START, ClientSettings, Json
from subject.messages import Messages
from subject.slices import SUCCEEDED, Record

MEDIA_TYPE = "application/json"


class CallFailed(Exception):
    """The response is not a successful one."""


class Headers(Protocol):
    """A library's own headers, which ignore the case of names."""

    def get(self, name: str, default: Any, /) -> Any: ...


class Stamps(NamedTuple):
    """The times of a call that a client observed; 0 if its library does not expose them."""

    encoded: int
    sent: int
    received: int
    request_bytes: int
    response_bytes: int


class Calls:
    """The calls of a client, independent of the library that makes them."""

    def __init__(self, settings: ClientSettings, messages: Messages) -> None:
        self.messages = messages
        self.encode, _ = messages.coder("request")
        _, self.decode = messages.coder("response")
        self.path = workloads.find(settings.workload).path
        self.limits = settings.limits
        self.marks = settings.marks
        self.level = compression.level(settings.request_compression)
        gzip = compression.level(settings.response_compression) > 0
        # By default libraries request gzip.
        self.headers = {
            "Content-Type": MEDIA_TYPE,
            "Accept": MEDIA_TYPE,
            "Accept-Encoding": "gzip" if gzip else "identity",
        }
        if self.level:
            self.headers["Content-Encoding"] = "gzip"
        self.requests = [messages.from_json("request", request) for request in settings.requests]
        # Threads may share a cycle, because the interpreter takes the next element atomically.
        self.turns = cycle(self.requests)

    def body(self, message: Any) -> bytes:
        body = self.encode(message)
        return compression.compress(body, self.level) if self.level else body

    def message(self, status: int, content: bytes) -> Any:
        """Return the message of a response, given its decompressed content."""
        if status != HTTPStatus.OK:
            raise CallFailed(f"{status}: {content[:200]!r}")
        if len(content) > self.limits.max_message_bytes:
            raise CallFailed(f"the response has {len(content)} bytes, more than the limit")
        return self.decode(content)

    def record(self, begin: int, stamps: Stamps, headers: Headers) -> Record:
        """Return the record of a call that ends now."""
        end = monotonic_ns()
        start = finish = 0
        if self.marks:
            start = int(headers.get(HANDLER_START, 0))
            finish = int(headers.get(HANDLER_END, 0))
        # The libraries read and parse all headers, so the time of the first byte cannot be observed.
        times = (begin, stamps.encoded, stamps.sent, 0, stamps.received, end, start, finish)
        return (*times, stamps.request_bytes, stamps.response_bytes, SUCCEEDED, 1)

    def verified(self, message: Any) -> Json:
        return {"message": self.messages.to_json("response", message)}


def base_url(address: str) -> str:
    return "http://localhost" if address.startswith("unix:") else f"http://{address}"


def forget_proxies() -> None:
    """Ignore proxies from the environment, because the server is on this host."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
