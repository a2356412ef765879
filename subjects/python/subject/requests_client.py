"""Stack `requests`, client."""

from importlib import metadata
from time import monotonic_ns
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError
from urllib3.util.connection import is_connection_dropped

from subject.contract import ClientSettings, Json, Refused
from subject.messages import Messages
from subject.rest import Calls, Stamps, base_url, forget_proxies
from subject.slices import NOT_KNOWN, Record, Threads


class Caller:
    """Has its own session and connection, because a session must not be shared between threads."""

    def __init__(self, settings: ClientSettings, calls: Calls) -> None:
        self.calls = calls
        self.keeps = settings.connection == "reuse"
        self.url = base_url(settings.address) + calls.path
        self.timeout = settings.deadline_ms / 1_000
        self.decompresses = settings.response_compression != "none"
        self.session = self.opened()

    def opened(self) -> requests.Session:
        session = requests.Session()
        session.headers.update(self.calls.headers)
        return session

    def reopen(self) -> int:
        """Reopen the connection; the pool would do so only in the next call."""
        if not self.keeps:
            return 0
        adapter = self.session.get_adapter(self.url)
        assert isinstance(adapter, HTTPAdapter)
        # All calls go to one server and therefore use one pool.
        pools: Any = adapter.poolmanager.pools
        queues = [pools[key].pool.queue for key in pools.keys()]
        connection = next((kept for queue in queues for kept in queue if kept), None)
        if connection is None or not is_connection_dropped(connection):
            return 0
        connection.close()
        connection.timeout = self.timeout
        try:
            connection.connect()
        except HTTPError as error:
            raise Refused(str(error), "machine") from error
        return 1

    def call(self, begin: int) -> Record:
        record, _ = self.exchange(begin, next(self.calls.turns))
        return record

    def exchange(self, begin: int, message: Any) -> tuple[Record, Any]:
        if self.keeps:
            return self.post(self.session, begin, message)
        # Like the package's own `requests.post`.
        with self.opened() as session:
            return self.post(session, begin, message)

    def post(self, session: requests.Session, begin: int, message: Any) -> tuple[Record, Any]:
        body = self.calls.body(message)
        encoded = monotonic_ns()
        response = session.post(self.url, body, timeout=self.timeout)
        received = monotonic_ns()
        answer = self.calls.message(response.status_code, response.content)
        # With gzip, the library decompresses while reading.
        received, size = (0, NOT_KNOWN) if self.decompresses else (received, len(response.content))
        stamps = Stamps(encoded, 0, received, len(body), size)
        return self.calls.record(begin, stamps, response.headers), answer


class Client:
    in_batches = False

    def __init__(self, settings: ClientSettings, messages: Messages) -> None:
        packages = {name: metadata.version(name) for name in ("requests", "urllib3")}
        self.versions = {**messages.versions, **packages}
        self.code = messages.code
        forget_proxies()
        self.calls = Calls(settings, messages)
        self.callers = [Caller(settings, self.calls) for _ in range(settings.in_flight)]
        self.run = Threads([caller.call for caller in self.callers]).run

    def verify(self) -> Json:
        try:
            _, message = self.callers[0].exchange(monotonic_ns(), self.calls.requests[0])
        except requests.ConnectionError as error:
            raise Refused(str(error), "machine") from error
        return self.calls.verified(message)

    def reopen(self) -> int:
        return sum(caller.reopen() for caller in self.callers)
