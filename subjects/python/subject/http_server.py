"""Stack `http`, server: the standard library's `http.server`."""

import json
import socketserver
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_UNIX
from threading import Thread
from time import monotonic_ns
from typing import Any

from subject import compression, listening, workloads
from subject.contract import (
    HANDLER_END,
    HANDLER_START,
    ReadyPart,
    ServerSettings,
)
from subject.messages import Messages


class Wrong(ValueError):
    """A request that cannot be answered, for a reason other than its message."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class Server(ThreadingHTTPServer):
    """Has a thread for each connection; the interpreter runs one thread at a time."""

    request_queue_size = 128

    def __init__(self, settings: ServerSettings, messages: Messages) -> None:
        self.path = workloads.find(settings.workload).path
        self.answer = messages.service()
        _, self.decode = messages.coder("request")
        self.encode, _ = messages.coder("response")
        self.refusals: tuple[type[Exception], ...] = (Wrong, *messages.refusals)
        self.limits = settings.limits
        self.marks = settings.marks
        self.level = compression.level(settings.response_compression)
        if settings.listen.transport == "unix":
            self.address_family = AF_UNIX
            super().__init__(settings.listen.path, UnixHandler)  # type: ignore[arg-type]
        else:
            super().__init__((settings.listen.host, 0), Handler)

    def port(self) -> int:
        """The TCP port."""
        return int(self.socket.getsockname()[1]) if self.address_family != AF_UNIX else 0

    def server_bind(self) -> None:
        # HTTPServer's own method looks up the host's name, which a Unix socket does not have.
        socketserver.TCPServer.server_bind(self)


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    # Headers and body are sent in one write.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        try:
            request = self.read()
            start = monotonic_ns()
            answer = self.server.answer(request)
            end = monotonic_ns()
        except self.server.refusals as error:
            self.refuse(error)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        if self.server.marks:
            self.send_header(HANDLER_START, str(start))
            self.send_header(HANDLER_END, str(end))
        body = self.server.encode(answer)
        if self.server.level and "gzip" in listed(self.headers.get("Accept-Encoding", "")):
            body = compression.compress(body, self.server.level)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def read(self) -> Any:
        """Return the request; raise a ValueError if it is invalid."""
        headers = self.headers
        body = self.read_body()
        if self.path != self.server.path:
            raise Wrong(HTTPStatus.NOT_FOUND, f"the only path is {self.server.path}")
        media_type, _, _ = headers.get("Content-Type", "").partition(";")
        if media_type.strip().lower() != "application/json":
            raise Wrong(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "only application/json is accepted")
        if not listed(headers.get("Accept", "*/*")) & {"application/json", "application/*", "*/*"}:
            raise Wrong(HTTPStatus.NOT_ACCEPTABLE, "only application/json is served")
        match headers.get("Content-Encoding", "identity"):
            case "gzip":
                body = compression.decompress(body, self.server.limits)
            case "identity":
                pass
            case coding:
                raise Wrong(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"{coding} is not supported; use gzip")
        return self.server.decode(body)

    def read_body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            # The end of the body is unknown, and so is the beginning of the next request.
            self.close_connection = True
            raise Wrong(HTTPStatus.LENGTH_REQUIRED, "a body requires a content-length")
        left, most = int(length), self.server.limits.max_message_bytes
        if left <= most:
            return self.rfile.read(left)
        # Closing with unread bytes would reset the connection, and the client would lose the response.
        while left and (thrown_away := self.rfile.read(min(left, 1 << 16))):
            left -= len(thrown_away)
        raise Wrong(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {most} bytes are accepted")

    def refuse(self, error: Exception) -> None:
        body = json.dumps({"detail": str(error)}).encode()
        self.send_response(getattr(error, "status", HTTPStatus.BAD_REQUEST))
        self.send_header("Content-Type", "application/problem+json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Do nothing, because logging each call would be part of the measurement."""


class UnixHandler(Handler):
    disable_nagle_algorithm = False


@lru_cache
def listed(header: str) -> set[str]:
    """Return the names in a list header, except those with a weight of 0."""
    elements = (element.lower().replace(" ", "").partition(";q=") for element in header.split(","))
    return {name for name, _, weight in elements if weight.strip("0.") or not weight}


@contextmanager
def serve(settings: ServerSettings, messages: Messages) -> Iterator[ReadyPart]:
    listen = settings.listen
    with listening.socket_file(listen):
        try:
            server = Server(settings, messages)
        except OSError as error:
            raise listening.refused(listen, error.strerror) from error
        address = listening.address_of(listen, server.port())
        Thread(target=server.serve_forever).start()
        try:
            yield ReadyPart(messages.versions, messages.code, address)
        finally:
            server.shutdown()
            server.server_close()
