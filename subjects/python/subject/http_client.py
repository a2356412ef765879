"""Stack `http`, client: the standard library's `http.client`."""

import select
import socket
from http.client import HTTPConnection, HTTPException
from time import monotonic_ns
from typing import Any

from subject import compression
from subject.contract import ClientSettings, Json, Refused
from subject.messages import Messages
from subject.rest import Calls, Stamps
from subject.slices import Record, Threads


class Connection(HTTPConnection):
    """A connection over TCP, where http.client sets TCP_NODELAY, or over a Unix socket."""

    def __init__(self, address: str, timeout: float) -> None:
        self.path = address.removeprefix("unix:") if address.startswith("unix:") else ""
        super().__init__("localhost" if self.path else address, timeout=timeout)

    def connect(self) -> None:
        if self.path:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(self.timeout)
            self.sock.connect(self.path)
        else:
            super().connect()

    def is_lost(self) -> bool:
        """Return whether the other side has closed the connection between calls."""
        return self.sock is None or bool(select.select([self.sock], [], [], 0)[0])


class Caller:
    """Makes calls on its own connection, one after another."""

    def __init__(self, settings: ClientSettings, calls: Calls) -> None:
        self.calls = calls
        self.keeps = settings.connection == "reuse"
        # In this library, the timeout applies to each wait on the socket.
        self.connection = Connection(settings.address, settings.deadline_ms / 1_000)
        if self.keeps:
            self.connection.connect()

    def reopen(self) -> int:
        if not self.keeps or not self.connection.is_lost():
            return 0
        self.connection.close()
        self.connection.connect()
        return 1

    def call(self, begin: int) -> Record:
        record, _ = self.exchange(begin, next(self.calls.turns))
        return record

    def exchange(self, begin: int, message: Any) -> tuple[Record, Any]:
        try:
            return self.post(begin, message)
        finally:
            if not self.keeps:
                self.connection.close()

    def post(self, begin: int, message: Any) -> tuple[Record, Any]:
        calls = self.calls
        body = calls.body(message)
        encoded = monotonic_ns()
        try:
            self.connection.request("POST", calls.path, body, calls.headers)
            sent = monotonic_ns()
            response = self.connection.getresponse()
            data = response.read()
            received = monotonic_ns()
        except (OSError, HTTPException):
            # The next call reopens it.
            self.connection.close()
            raise
        content = data
        if response.getheader("Content-Encoding") == "gzip":
            content = compression.decompress(data, calls.limits)
        answer = calls.message(response.status, content)
        stamps = Stamps(encoded, sent, received, len(body), len(data))
        return calls.record(begin, stamps, response.headers), answer


class Client:
    in_batches = False

    def __init__(self, settings: ClientSettings, messages: Messages) -> None:
        self.versions = messages.versions
        self.code = messages.code
        self.calls = Calls(settings, messages)
        try:
            self.callers = [Caller(settings, self.calls) for _ in range(settings.in_flight)]
        except OSError as error:
            raise Refused(f"cannot connect to {settings.address}: {error}", "machine") from error
        self.run = Threads([caller.call for caller in self.callers]).run

    def verify(self) -> Json:
        _, message = self.callers[0].exchange(monotonic_ns(), self.calls.requests[0])
        return self.calls.verified(message)

    def reopen(self) -> int:
        return sum(caller.reopen() for caller in self.callers)
