"""Follows the contract on standard input and output, in the role given by the settings line."""

import os
import sys
import threading
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from subject import libraries, slices, stacks, workloads
from subject.contract import (
    EXIT_CODES,
    ClientSettings,
    CodecSettings,
    Conversation,
    ReadyPart,
    Refused,
    ServerSettings,
    Settings,
    parse_settings,
)
from subject.messages import Messages

# Modules that a stack does not use are not imported, because they would add to its memory and start-up time.


def main() -> int:
    # The folder of the generated code for the messages.
    sys.path.insert(0, sys.argv[1])
    conversation = Conversation(sys.stdin.buffer, sys.stdout)
    # The output of libraries belongs in the log.
    sys.stdout = sys.stderr

    def fail(error: BaseException | None) -> int:
        refused = blamed(error)
        conversation.reply_refused(refused)
        return EXIT_CODES[refused.fault]

    # Parts serve in threads. If one fails, the process exits.
    threading.excepthook = lambda failed: os._exit(fail(failed.exc_value))
    try:
        play(conversation)
    except Exception as error:
        return fail(error)
    return 0


def blamed(error: BaseException | None) -> Refused:
    """Determine the side at fault. An exception without a case here is the subject's fault, and is logged."""
    match error:
        case Refused():
            return error
        case OSError():
            return Refused(str(error), "machine")
    traceback.print_exception(error)
    return Refused(f"{type(error).__name__}: {error}", "subject")


def play(conversation: Conversation) -> None:
    role, parts = parse_settings(conversation.read_line())
    chosen = [(stacks.choose(role, settings), settings) for settings in parts]
    if role == "server":
        serve_all(chosen, conversation)
        return
    with ExitStack() as files:
        prepared = []
        for stack, settings in chosen:
            records = open_records(settings, files)
            prepared.append((prepare(stack, settings), records))
        said = [ReadyPart(measurer.versions, measurer.code) for measurer, _ in prepared]
        conversation.reply_ready(said)
        slices.answer(conversation, prepared)


def open_records(settings: ClientSettings | CodecSettings, files: ExitStack) -> slices.Records:
    calls = files.enter_context(Path(settings.records).open("wb"))
    if isinstance(settings, CodecSettings) or settings.message_records is None:
        return slices.Records(calls)
    from subject.stream_records import StreamRecords

    messages = files.enter_context(Path(settings.message_records).open("wb"))
    return StreamRecords(calls, messages)


def serve_all(parts: Sequence[tuple[str, ServerSettings]], conversation: Conversation) -> None:
    if len(parts) > 1 and any(settings.threads > 1 for _, settings in parts):
        raise Refused("parts share a process only with 1 thread", "user")
    servers = [ExitStack() for _ in parts]
    try:
        up = zip(servers, parts, strict=True)
        said = [server.enter_context(serve(*part)) for server, part in up]
        conversation.reply_ready(said)
        conversation.wait_for_end()
    finally:
        # In parallel, because each may take a moment.
        with ThreadPoolExecutor(len(servers)) as ending:
            list(ending.map(ExitStack.close, servers))


def load(stack: str, settings: Settings) -> Messages:
    return libraries.load(stack, settings.encoding, workloads.find(settings.workload))


def serve(stack: str, settings: ServerSettings) -> AbstractContextManager[ReadyPart]:
    """Serve while the context is open."""
    match stack:
        case "http":
            from subject import http_server

            return http_server.serve(settings, load(stack, settings))
        case "fastapi":
            from subject import fastapi_server

            return fastapi_server.serve(settings, load(stack, settings))
        case "grpcio":
            from subject import grpc_server

            return grpc_server.serve(settings)
    from subject import grpc_server

    return grpc_server.serve_in_coroutines(settings)


def prepare(stack: str, settings: ClientSettings | CodecSettings) -> slices.Measurer:
    if isinstance(settings, CodecSettings):
        from subject import codec

        return codec.Codec(load(stack, settings), settings)
    if not settings.requests:
        raise Refused("requests is empty", "instrument")
    match stack, settings.style:
        case "http", _:
            from subject import http_client

            return http_client.Client(settings, load(stack, settings))
        case "requests", _:
            from subject import requests_client

            return requests_client.Client(settings, load(stack, settings))
        case "httpx", "coroutine":
            from subject import httpx_async_client

            return httpx_async_client.Coroutines(settings, load(stack, settings))
        case "httpx", _:
            from subject import httpx_client

            return httpx_client.Blocking(settings, load(stack, settings))
        case ("grpcio" | "grpcio-python"), _:
            libraries.choose_protobuf("python" if stack == "grpcio-python" else "upb")
            return prepare_grpcio(settings)
    if settings.stream:
        from subject import grpc_aio_stream_client

        return grpc_aio_stream_client.StreamClient(settings)
    from subject import grpc_aio_client

    return grpc_aio_client.Client(settings)


def prepare_grpcio(settings: ClientSettings) -> slices.Measurer:
    if settings.stream:
        from subject import grpc_stream_client

        return grpc_stream_client.StreamClient(settings)
    from subject import grpc_client

    return grpc_client.Client(settings)


if __name__ == "__main__":
    sys.exit(main())
