"""Stack `grpcio`, server: the synchronous API, unary, protobuf."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic_ns
from types import SimpleNamespace
from typing import Any

import grpc
from google.protobuf.message import Message

from subject import compression, generated, workloads
from subject.contract import HANDLER_END, HANDLER_START, Conversation, Refused, ServerSettings

# The library compresses by the channel's level where the client lists gzip. An algorithm that is
# named for a call would be used for every client.
LOW_LEVEL = 1


def behaviour(
    answer: Callable[[Any], Message], marks: bool
) -> Callable[[Any, grpc.ServicerContext], Message]:
    """The method as the generated code calls it."""

    def call(request: Any, context: grpc.ServicerContext) -> Message:
        start = monotonic_ns()
        try:
            response = answer(request)
        except ValueError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        if marks:
            # The headers leave before the message then, in a step of their own.
            times = ((HANDLER_START, str(start)), (HANDLER_END, str(monotonic_ns())))
            context.send_initial_metadata(times)
        return response

    return call


def serve(settings: ServerSettings, conversation: Conversation) -> None:
    workload = workloads.find(settings.workload)
    listen = settings.listen
    options = [("grpc.max_receive_message_length", settings.limits.max_message_bytes)]
    if compression.level(settings.response_compression):
        options.append(("grpc.default_compression_level", LOW_LEVEL))
    server = grpc.server(ThreadPoolExecutor(settings.threads), options=options)
    method = behaviour(generated.answerer(workload), settings.marks)
    workload.add_to_server(SimpleNamespace(**{workload.method: method}), server)
    host = f"[{listen.host}]" if ":" in listen.host else listen.host
    address = f"unix:{listen.path}" if listen.transport == "unix" else f"{host}:0"
    try:
        # The library would take a socket file away from the server that made it.
        if listen.transport == "unix" and Path(listen.path).exists():
            raise RuntimeError("something is there already")
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        raise Refused(f"cannot listen on {address}: {error}; choose another", "machine") from error
    if listen.transport == "tcp":
        address = f"{host}:{port}"
    server.start()
    try:
        conversation.tell_ready(generated.versions("grpcio"), "generated", address)
        conversation.hear_the_end()
    finally:
        server.stop(grace=None).wait()
        if listen.transport == "unix":
            Path(listen.path).unlink(missing_ok=True)
