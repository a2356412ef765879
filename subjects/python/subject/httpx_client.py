"""Stack `httpx`, client: one client for all calls."""

from importlib import metadata
from time import monotonic_ns
from typing import Any

import httpx

from subject.contract import ClientSettings, Json, Refused
from subject.messages import Messages
from subject.rest import Calls, Stamps, base_url, forget_proxies
from subject.slices import NOT_KNOWN, Record, Threads


def transport_options(settings: ClientSettings) -> dict[str, Any]:
    keeps = settings.connection == "reuse"
    path = settings.address.removeprefix("unix:")
    return {
        # By default it keeps 20 connections for 5 seconds; there may be more calls in flight.
        "limits": httpx.Limits(
            max_connections=settings.in_flight,
            max_keepalive_connections=settings.in_flight if keeps else 0,
            keepalive_expiry=None,
        ),
        "uds": path if path != settings.address else None,
    }


class Client:
    """Code that both of the library's clients share. Subclasses make the calls."""

    in_batches = False

    def __init__(self, settings: ClientSettings, messages: Messages) -> None:
        packages = {name: metadata.version(name) for name in ("httpx", "httpcore")}
        self.versions = {**messages.versions, **packages}
        self.code = messages.code
        forget_proxies()
        self.calls = Calls(settings, messages)
        self.decompresses = settings.response_compression != "none"
        self.url = base_url(settings.address) + self.calls.path
        self.options: dict[str, Any] = {
            "headers": self.calls.headers,
            "timeout": settings.deadline_ms / 1_000,
        }
        self.transport: Any = None

    def reopen(self) -> int:
        """Reopen lost connections through unrecorded calls; the library offers no other way."""
        pool = self.transport._pool
        lost: int = sum(connection.has_expired() for connection in pool.connections)
        if lost:
            try:
                self.open(lost)
            except httpx.TransportError as error:
                raise Refused(f"cannot connect: {error}", "machine") from error
        return lost

    def open(self, connections: int) -> None:
        """Make this many calls concurrently."""
        raise NotImplementedError

    def exchange(self, body: bytes) -> httpx.Response:
        """Make one call."""
        raise NotImplementedError

    def verify(self) -> Json:
        try:
            response = self.exchange(self.calls.body(self.calls.requests[0]))
        except httpx.ConnectError as error:
            raise Refused(f"cannot connect: {error}", "machine") from error
        return self.calls.verified(self.calls.message(response.status_code, response.content))

    def record(self, begin: int, encoded: int, size: int, response: httpx.Response) -> Record:
        # With gzip, the library decompresses while reading.
        received = 0 if self.decompresses else monotonic_ns()
        self.calls.message(response.status_code, response.content)
        carried = response.num_bytes_downloaded
        stamps = Stamps(encoded, 0, received, size, min(carried, NOT_KNOWN))
        return self.calls.record(begin, stamps, response.headers)


class Blocking(Client):
    def __init__(self, settings: ClientSettings, messages: Messages) -> None:
        super().__init__(settings, messages)
        self.transport = httpx.HTTPTransport(**transport_options(settings))
        self.client = httpx.Client(transport=self.transport, **self.options)
        self.run = Threads([self.call] * settings.in_flight).run

    def open(self, connections: int) -> None:
        body = self.calls.body(self.calls.requests[0])
        requests = [
            self.client.build_request("POST", self.url, content=body) for _ in range(connections)
        ]
        # No response is read before all have arrived, so that each is on its own connection.
        for response in [self.client.send(request, stream=True) for request in requests]:
            response.read()

    def exchange(self, body: bytes) -> httpx.Response:
        return self.client.post(self.url, content=body)

    def call(self, begin: int) -> Record:
        body = self.calls.body(next(self.calls.turns))
        encoded = monotonic_ns()
        return self.record(begin, encoded, len(body), self.exchange(body))
