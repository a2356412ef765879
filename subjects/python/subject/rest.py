"""What the clients of REST share: the body and the headers of a call, and what came back."""

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
    """A response that is none."""


class Headers(Protocol):
    """A library's own, whatever the case of a name."""

    def get(self, name: str, default: Any, /) -> Any: ...


class Stamps(NamedTuple):
    """What a client saw of a call, 0 where its library does not let it see."""

    encoded: int
    sent: int
    received: int
    request_bytes: int
    response_bytes: int


class Calls:
    """The calls of a client, without the library that makes them."""

    def __init__(self, settings: ClientSettings, messages: Messages) -> None:
        self.messages = messages
        self.encode, _ = messages.coder("request")
        _, self.decode = messages.coder("response")
        self.path = workloads.find(settings.workload).path
        self.limits = settings.limits
        self.marks = settings.marks
        self.level = compression.level(settings.request_compression)
        gzip = compression.level(settings.response_compression) > 0
        # Libraries would ask for gzip by themselves.
        self.headers = {
            "Content-Type": MEDIA_TYPE,
            "Accept": MEDIA_TYPE,
            "Accept-Encoding": "gzip" if gzip else "identity",
        }
        if self.level:
            self.headers["Content-Encoding"] = "gzip"
        self.requests = [messages.from_json("request", request) for request in settings.requests]
        # Threads may share a cycle: the interpreter takes its next element in one step.
        self.turns = cycle(self.requests)

    def body(self, message: Any) -> bytes:
        body = self.encode(message)
        return compression.compress(body, self.level) if self.level else body

    def message(self, status: int, content: bytes) -> Any:
        """The message of a response, whose content is decompressed."""
        if status != HTTPStatus.OK:
            raise CallFailed(f"{status}: {content[:200]!r}")
        if len(content) > self.limits.max_message_bytes:
            raise CallFailed(f"the response has {len(content)} bytes, more than the limit")
        return self.decode(content)

    def record(self, begin: int, stamps: Stamps, headers: Headers) -> Record:
        """A record of a call that ends now."""
        end = monotonic_ns()
        start = finish = 0
        if self.marks:
            start = int(headers.get(HANDLER_START, 0))
            finish = int(headers.get(HANDLER_END, 0))
        # When the first byte came is inside the libraries, which read and parse all headers.
        times = (begin, stamps.encoded, stamps.sent, 0, stamps.received, end, start, finish)
        return (*times, stamps.request_bytes, stamps.response_bytes, SUCCEEDED, 1)

    def verified(self, message: Any) -> Json:
        return {"message": self.messages.to_json("response", message)}


def base_url(address: str) -> str:
    return "http://localhost" if address.startswith("unix:") else f"http://{address}"


def forget_proxies() -> None:
    """The server is on this host, whatever the environment says of proxies."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
