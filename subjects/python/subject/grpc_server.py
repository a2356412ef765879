"""Stacks `grpcio` and `grpcio-aio`, servers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import cache
from threading import Thread
from time import monotonic_ns
from typing import Any

import grpc

from subject import compression, grpc_stream_methods, listening, protobufs
from subject.contract import HANDLER_END, HANDLER_START, ReadyPart, ServerSettings
from subject.messages import Service

# If the client lists gzip, the library compresses with the channel's level. An algorithm set for a call would be used
# for every client.
LOW_LEVEL = 1


def behaviour(answer: Service, marks: bool) -> Callable[[Any, Any], Any]:
    """Return the method in the form that the generated code calls."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        start = monotonic_ns()
        try:
            response = answer(request)
        except ValueError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        if marks:
            # This sends the headers before the message, in a separate step.
            context.send_initial_metadata(times(start))
        return response

    return call


def coroutine(answer: Service, marks: bool) -> Callable[[Any, Any], Awaitable[Any]]:
    """Return the same for the coroutine API."""

    async def call(request: Any, context: Any) -> Any:
        start = monotonic_ns()
        try:
            response = answer(request)
        except ValueError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        if marks:
            await context.send_initial_metadata(times(start))
        return response

    return call


def times(start: int) -> tuple[tuple[str, str], ...]:
    return ((HANDLER_START, str(start)), (HANDLER_END, str(monotonic_ns())))


def options_of(settings: ServerSettings) -> list[tuple[str, int]]:
    options = [("grpc.max_receive_message_length", settings.limits.max_message_bytes)]
    if compression.level(settings.response_compression):
        options.append(("grpc.default_compression_level", LOW_LEVEL))
    return options


def listen_at(
    server: Any,
    settings: ServerSettings,
    messages: protobufs.Protobufs | protobufs.Hybrids,
    method: Any,
) -> str:
    """Add the method and a socket to a server of either kind, and return the socket's address."""
    messages.method.add_to_server(method, server)
    listen = settings.listen
    try:
        port = server.add_insecure_port(listening.address_of(listen, 0))
    except RuntimeError as error:
        raise listening.refused(listen, error) from error
    return listening.address_of(listen, port)


@contextmanager
def serve(settings: ServerSettings) -> Iterator[ReadyPart]:
    messages = protobufs.for_calls(settings)
    server = grpc.server(ThreadPoolExecutor(settings.threads), options=options_of(settings))
    if settings.stream:
        method = grpc_stream_methods.behaviour(messages, settings.stream)
    else:
        method = behaviour(messages.service(), settings.marks)
    with listening.socket_file(settings.listen):
        address = listen_at(server, settings, messages, method)
        server.start()
        try:
            yield ReadyPart(protobufs.versions("grpcio"), messages.code, address)
        finally:
            server.stop(grace=None).wait()


@cache
def loop() -> asyncio.AbstractEventLoop:
    """Return the loop of all parts, which runs in a thread: the library has a single event queue for all loops."""
    made = asyncio.new_event_loop()
    Thread(target=made.run_forever, daemon=True).start()
    return made


def in_loop(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run_coroutine_threadsafe(work, loop()).result()


@contextmanager
def serve_in_coroutines(settings: ServerSettings) -> Iterator[ReadyPart]:
    from grpc import aio

    messages = protobufs.for_calls(settings)
    if settings.stream:
        method = grpc_stream_methods.coroutine(messages, settings.stream)
    else:
        method = coroutine(messages.service(), settings.marks)

    # The server is referenced only in the loop's thread, where the library cleans up when the last reference is gone.
    @asynccontextmanager
    async def serving() -> AsyncIterator[str]:
        server = aio.server(options=options_of(settings))
        address = listen_at(server, settings, messages, method)
        await server.start()
        try:
            yield address
        finally:
            await server.stop(grace=None)

    with listening.socket_file(settings.listen):
        server = AsyncExitStack()
        address = in_loop(server.enter_async_context(serving()))
        try:
            yield ReadyPart(protobufs.versions("grpcio"), messages.code, address)
        finally:
            in_loop(server.aclose())
