"""Stack `http`, server: the standard library's `http.server` with JSON."""

import json
import socketserver
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_UNIX
from threading import Thread
from time import monotonic_ns

from subject import compression, plain, workloads
from subject.contract import (
    HANDLER_END,
    HANDLER_START,
    Conversation,
    Json,
    Refused,
    ServerSettings,
)


class Wrong(ValueError):
    """A request that cannot be answered, for another reason than its message."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class Server(ThreadingHTTPServer):
    """A thread for each connection, of which the interpreter runs one at a time."""

    request_queue_size = 128

    def __init__(self, settings: ServerSettings) -> None:
        workload = workloads.find(settings.workload)
        self.path = workload.path
        self.answer = plain.answerer(workload)
        self.limits = settings.limits
        self.marks = settings.marks
        self.level = compression.level(settings.response_compression)
        if settings.listen.transport == "unix":
            self.address_family = AF_UNIX
            super().__init__(settings.listen.path, UnixHandler)  # type: ignore[arg-type]
        else:
            super().__init__((settings.listen.host, 0), Handler)

    def server_bind(self) -> None:
        # HTTPServer's own looks up the host's name, and a Unix socket has none.
        socketserver.TCPServer.server_bind(self)


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    # Headers and body leave in one write.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        try:
            request = self.read()
            start = monotonic_ns()
            answer = self.server.answer(request)
            end = monotonic_ns()
        except (ValueError, RecursionError) as error:
            self.refuse(error)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        if self.server.marks:
            self.send_header(HANDLER_START, str(start))
            self.send_header(HANDLER_END, str(end))
        body = plain.encode_json(answer)
        if self.server.level and "gzip" in listed(self.headers.get("Accept-Encoding", "")):
            body = compression.compress(body, self.server.level)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def read(self) -> Json:
        """The request; a ValueError says why there is none."""
        headers = self.headers
        body = self.read_body()
        if self.path != self.server.path:
            raise Wrong(HTTPStatus.NOT_FOUND, f"there is {self.server.path} only")
        media_type, _, _ = headers.get("Content-Type", "").partition(";")
        if media_type.strip().lower() != "application/json":
            raise Wrong(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "only application/json is taken")
        if not listed(headers.get("Accept", "*/*")) & {"application/json", "application/*", "*/*"}:
            raise Wrong(HTTPStatus.NOT_ACCEPTABLE, "only application/json is served")
        match headers.get("Content-Encoding", "identity"):
            case "gzip":
                body = compression.decompress(body, self.server.limits)
            case "identity":
                pass
            case coding:
                raise Wrong(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"{coding} is not taken, gzip is")
        request = json.loads(body)
        if not isinstance(request, dict):
            raise ValueError("the body is no JSON object")
        return request

    def read_body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            # Where the body ends cannot be known, and so not where the next request begins.
            self.close_connection = True
            raise Wrong(HTTPStatus.LENGTH_REQUIRED, "a body needs a content-length")
        left, most = int(length), self.server.limits.max_message_bytes
        if left <= most:
            return self.rfile.read(left)
        # Closing with bytes unread would take the response away from the client.
        while left and (thrown_away := self.rfile.read(min(left, 1 << 16))):
            left -= len(thrown_away)
        raise Wrong(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {most} bytes are taken")

    def refuse(self, error: Exception) -> None:
        body = plain.encode_json({"detail": str(error)})
        self.send_response(getattr(error, "status", HTTPStatus.BAD_REQUEST))
        self.send_header("Content-Type", "application/problem+json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: a line for each call would be measured with it."""


class UnixHandler(Handler):
    disable_nagle_algorithm = False


@lru_cache
def listed(header: str) -> set[str]:
    """The names in a list header, without those that are refused by a weight of 0."""
    elements = (element.lower().replace(" ", "").partition(";q=") for element in header.split(","))
    return {name for name, _, weight in elements if weight.strip("0.") or not weight}


def serve(settings: ServerSettings, conversation: Conversation) -> None:
    listen = settings.listen
    where = listen.path if listen.transport == "unix" else listen.host
    try:
        server = Server(settings)
    except OSError as error:
        problem = f"cannot listen on {where}: {error.strerror}; choose another"
        raise Refused(problem, "machine") from error
    if listen.transport == "unix":
        address = f"unix:{listen.path}"
    else:
        host, port = str(server.server_address[0]), server.server_address[1]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    Thread(target=server.serve_forever).start()
    try:
        conversation.tell_ready({}, "", address)
        conversation.hear_the_end()
    finally:
        server.shutdown()
        server.server_close()
        if listen.transport == "unix":
            Path(listen.path).unlink(missing_ok=True)
