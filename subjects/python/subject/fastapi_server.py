"""Stack `fastapi`, server: FastAPI on uvicorn."""

import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from threading import Event, Thread
from time import monotonic_ns
from typing import Annotated, Any

import uvicorn
from fastapi import Body, FastAPI, HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.middleware.gzip import GZipMiddleware

from subject import compression, listening, workers, workloads
from subject.contract import (
    HANDLER_END,
    HANDLER_START,
    Limits,
    Listen,
    ReadyPart,
    ServerSettings,
)
from subject.messages import Messages, Service
from subject.models import Models

# A client may be silent between slices for longer than the default of 5 s.
KEEP_ALIVE_SECONDS = 3_600
BACKLOG = 2048
GRACE_SECONDS = 1


def asked(answer: Service, request: Any, refusals: tuple[type[Exception], ...]) -> Any:
    try:
        return answer(request)
    except refusals as error:
        raise HTTPException(400, str(error)) from error


def marked(response: Response, start: int) -> None:
    response.headers[HANDLER_START] = str(start)
    response.headers[HANDLER_END] = str(monotonic_ns())


def endpoint_of_models(messages: Models, marks: bool) -> Callable[..., Any]:
    answer, refusals = messages.service(), messages.refusals
    request_type: Any = Annotated[messages.kind("request"), Body()]
    response_type: Any = messages.kind("response")

    async def call(request: request_type) -> response_type:
        return asked(answer, request, refusals)

    async def call_with_marks(request: request_type, response: Response) -> response_type:
        start = monotonic_ns()
        message = asked(answer, request, refusals)
        marked(response, start)
        return message

    return call_with_marks if marks else call


def endpoint_of_bytes(messages: Messages, marks: bool) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint for an encoding that FastAPI does not support."""
    answer, refusals = messages.service(), messages.refusals
    _, decode = messages.coder("request")
    encode, _ = messages.coder("response")

    async def call(request: Request) -> Response:
        try:
            message = decode(await request.body())
        except refusals as error:
            raise HTTPException(400, str(error)) from error
        start = monotonic_ns()
        answered = asked(answer, message, refusals)
        end = monotonic_ns()
        response = Response(encode(answered), media_type="application/json")
        if marks:
            response.headers[HANDLER_START] = str(start)
            response.headers[HANDLER_END] = str(end)
        return response

    return call


def route_of(limits: Limits) -> type[APIRoute]:
    """Return the guide's route class for requests in gzip, which FastAPI does not support by itself."""

    class GzipRequest(Request):
        async def body(self) -> bytes:
            if not hasattr(self, "_body"):
                body = await super().body()
                match self.headers.get("content-encoding", "identity"):
                    case "gzip":
                        self._body = compression.decompress(body, limits)
                    case "identity":
                        pass
                    case coding:
                        raise HTTPException(415, f"{coding} is not supported; use gzip")
            return self._body

    class GzipRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
            handle = super().get_route_handler()

            async def read(request: Request) -> Response:
                return await handle(GzipRequest(request.scope, request.receive))

            return read

    return GzipRoute


def application(settings: ServerSettings, messages: Messages) -> FastAPI:
    app = FastAPI(
        openapi_url=None,
        max_body_size=settings.limits.max_message_bytes,
    )
    app.router.route_class = route_of(settings.limits)
    if level := compression.level(settings.response_compression):
        app.add_middleware(GZipMiddleware, minimum_size=0, compresslevel=level)
    if isinstance(messages, Models):
        endpoint = endpoint_of_models(messages, settings.marks)
    else:
        endpoint = endpoint_of_bytes(messages, settings.marks)
    app.post(workloads.find(settings.workload).path, response_model_exclude_defaults=True)(endpoint)
    return app


class Server(uvicorn.Server):
    """Signals when it is ready."""

    def __init__(self, app: FastAPI) -> None:
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http="httptools",
            ws="none",
            access_log=False,
            log_level="warning",
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        super().__init__(config)
        self.up = Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


def bind(listen: Listen) -> socket.socket:
    try:
        if listen.transport == "unix":
            bound = socket.socket(socket.AF_UNIX)
            bound.bind(listen.path)
            return bound
        family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
        return socket.create_server((listen.host, 0), family=family, backlog=BACKLOG)
    except OSError as error:
        raise listening.refused(listen, error.strerror) from error


@contextmanager
def serve(settings: ServerSettings, messages: Messages) -> Iterator[ReadyPart]:
    listen = settings.listen
    if inherited := workers.inherited():
        with serve_on(inherited, settings, messages) as said:
            yield said
        return
    with (
        listening.socket_file(listen),
        bind(listen) as bound,
        serve_on(bound, settings, messages) as said,
    ):
        yield said


@contextmanager
def serve_on(
    bound: socket.socket, settings: ServerSettings, messages: Messages
) -> Iterator[ReadyPart]:
    names = ("fastapi", "starlette", "uvicorn", "uvloop", "httptools")
    versions = {**messages.versions, **{name: metadata.version(name) for name in names}}
    port = bound.getsockname()[1] if settings.listen.transport == "tcp" else 0
    address = listening.address_of(settings.listen, port)
    others = workers.Workers(settings, bound)
    server = Server(application(settings, messages))
    thread = Thread(target=server.run, args=([bound],))
    thread.start()
    try:
        server.up.wait()
        others.wait_until_ready()
        yield ReadyPart(versions, messages.code, address)
    finally:
        server.should_exit = True
        thread.join()
        others.end()
