"""Stack `http`, client: the standard library's `http.client` with JSON."""

import json
import select
import socket
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from itertools import cycle
from time import monotonic_ns

from subject import compression, plain, workloads
from subject.contract import HANDLER_END, HANDLER_START, ClientSettings, Json, Refused
from subject.slices import SUCCEEDED, Record, Threads


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
        """Whether the other side has closed it while nothing was called."""
        return self.sock is None or bool(select.select([self.sock], [], [], 0)[0])


class Caller:
    """Makes calls on a connection of its own, one after the other."""

    def __init__(self, settings: ClientSettings, messages: Iterator[Json]) -> None:
        self.messages = messages
        self.path = workloads.find(settings.workload).path
        self.limits = settings.limits
        self.marks = settings.marks
        self.level = compression.level(settings.request_compression)
        self.headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.level:
            self.headers["Content-Encoding"] = "gzip"
        if compression.level(settings.response_compression):
            self.headers["Accept-Encoding"] = "gzip"
        self.keeps = settings.connection == "reuse"
        # The time limit is one for each wait on the socket, as the library has it.
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
        record, _ = self.exchange(begin, next(self.messages))
        return record

    def exchange(self, begin: int, message: Json) -> tuple[Record, Json]:
        body = plain.encode_json(message)
        if self.level:
            body = compression.compress(body, self.level)
        encoded = monotonic_ns()
        try:
            self.connection.request("POST", self.path, body, self.headers)
            sent = monotonic_ns()
            response = self.connection.getresponse()
            data = response.read()
            received = monotonic_ns()
        except (OSError, HTTPException):
            # The next call opens it again.
            self.connection.close()
            raise
        if response.status != HTTPStatus.OK:
            raise HTTPException(f"{response.status} {response.reason}: {data[:200]!r}")
        if len(data) > self.limits.max_message_bytes:
            raise HTTPException(f"the response has {len(data)} bytes, more than the limit")
        answer = data
        if response.getheader("Content-Encoding") == "gzip":
            answer = compression.decompress(data, self.limits)
        response_message = json.loads(answer)
        end = monotonic_ns()
        if not self.keeps:
            self.connection.close()
        start = finish = 0
        if self.marks:
            start = int(response.getheader(HANDLER_START, 0))
            finish = int(response.getheader(HANDLER_END, 0))
        # When the first byte came is inside getresponse, which reads and parses all headers.
        times = (begin, encoded, sent, 0, received, end, start, finish)
        return (*times, len(body), len(data), SUCCEEDED, 1), response_message


class Client:
    code = ""
    in_batches = False

    def __init__(self, settings: ClientSettings) -> None:
        self.versions: dict[str, str] = {}
        # Threads may share a cycle: the interpreter takes its next element in one step.
        self.requests = [plain.from_json("request", request) for request in settings.requests]
        messages = cycle(self.requests)
        try:
            self.callers = [Caller(settings, messages) for _ in range(settings.in_flight)]
        except OSError as error:
            raise Refused(f"cannot connect to {settings.address}: {error}", "machine") from error
        self.run = Threads([caller.call for caller in self.callers]).run

    def verify(self) -> Json:
        _, message = self.callers[0].exchange(monotonic_ns(), self.requests[0])
        return {"message": message}

    def reopen(self) -> int:
        return sum(caller.reopen() for caller in self.callers)
