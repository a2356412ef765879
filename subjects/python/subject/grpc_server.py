"""Stacks `grpcio` and `grpcio-aio`, servers: unary."""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic_ns
from typing import Any

import grpc

from subject import compression, listening, protobufs, workloads
from subject.contract import HANDLER_END, HANDLER_START, Conversation, ServerSettings
from subject.messages import Service

# The library compresses by the channel's level where the client lists gzip. An algorithm that is
# named for a call would be used for every client.
LOW_LEVEL = 1


def behaviour(answer: Service, marks: bool) -> Callable[[Any, Any], Any]:
    """The method as the generated code calls it."""

    def call(request: Any, context: grpc.ServicerContext) -> Any:
        start = monotonic_ns()
        try:
            response = answer(request)
        except ValueError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        if marks:
            # The headers leave before the message then, in their own step.
            context.send_initial_metadata(times(start))
        return response

    return call


def coroutine(answer: Service, marks: bool) -> Callable[[Any, Any], Awaitable[Any]]:
    """The same for the API of coroutines."""

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
    """Adds the method to a server of either kind, and a socket; where that listens."""
    messages.method.add_to_server(method, server)
    listen = settings.listen
    try:
        port = server.add_insecure_port(listening.address_of(listen, 0))
    except RuntimeError as error:
        raise listening.refused(listen, error) from error
    return listening.address_of(listen, port)


def serve(settings: ServerSettings, conversation: Conversation) -> None:
    messages = protobufs.load(workloads.find(settings.workload), settings.encoding)
    server = grpc.server(ThreadPoolExecutor(settings.threads), options=options_of(settings))
    method = behaviour(messages.service(), settings.marks)
    with listening.socket_file(settings.listen):
        address = listen_at(server, settings, messages, method)
        server.start()
        conversation.reply_ready(protobufs.versions("grpcio"), messages.code, address)
        conversation.wait_for_end()
        server.stop(grace=None).wait()


def serve_in_coroutines(settings: ServerSettings, conversation: Conversation) -> None:
    import asyncio

    from grpc import aio

    messages = protobufs.load(workloads.find(settings.workload), settings.encoding)
    method = coroutine(messages.service(), settings.marks)

    async def serving() -> None:
        server = aio.server(options=options_of(settings))
        address = listen_at(server, settings, messages, method)
        await server.start()
        conversation.reply_ready(protobufs.versions("grpcio"), messages.code, address)
        await asyncio.to_thread(conversation.wait_for_end)
        await server.stop(grace=None)

    with listening.socket_file(settings.listen):
        asyncio.run(serving())
