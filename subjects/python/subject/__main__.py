"""Speaks the contract on standard input and output, in the role that the settings line names."""

import sys
import traceback
from pathlib import Path

from subject import libraries, slices, stacks, workloads
from subject.contract import (
    EXIT_CODES,
    ClientSettings,
    CodecSettings,
    Conversation,
    Refused,
    ServerSettings,
    Settings,
    parse_settings,
)
from subject.messages import Messages

# What a stack does not use is not imported: it would be in its memory and its start.


def main() -> int:
    # Where the code for the messages was generated.
    sys.path.insert(0, sys.argv[1])
    conversation = Conversation(sys.stdin.buffer, sys.stdout)
    # Whatever a library prints is the log's.
    sys.stdout = sys.stderr
    try:
        play(conversation)
    except Exception as error:
        refused = blamed(error)
        conversation.reply_refused(refused)
        return EXIT_CODES[refused.fault]
    return 0


def blamed(error: Exception) -> Refused:
    """Whose fault an exception is. One without a case here is the subject's, and the log has it."""
    match error:
        case Refused():
            return error
        case OSError():
            return Refused(str(error), "machine")
    traceback.print_exception(error)
    return Refused(f"{type(error).__name__}: {error}", "subject")


def play(conversation: Conversation) -> None:
    role, settings = parse_settings(conversation.read_line())
    stack = stacks.choose(role, settings)
    if isinstance(settings, ServerSettings):
        serve(stack, settings, conversation)
        return
    with Path(settings.records).open("wb") as records:
        measurer = prepare(stack, settings)
        conversation.reply_ready(measurer.versions, measurer.code)
        slices.answer(conversation, measurer, records)


def load(stack: str, settings: Settings) -> Messages:
    return libraries.load(stack, settings.encoding, workloads.find(settings.workload))


def serve(stack: str, settings: ServerSettings, conversation: Conversation) -> None:
    match stack:
        case "http":
            from subject import http_server

            http_server.serve(settings, load(stack, settings), conversation)
        case "fastapi":
            from subject import fastapi_server

            fastapi_server.serve(settings, load(stack, settings), conversation)
        case "grpcio":
            from subject import grpc_server

            grpc_server.serve(settings, conversation)
        case "grpcio-aio":
            from subject import grpc_server

            grpc_server.serve_in_coroutines(settings, conversation)


def prepare(stack: str, settings: ClientSettings | CodecSettings) -> slices.Measurer:
    if isinstance(settings, CodecSettings):
        from subject import codec

        return codec.Codec(load(stack, settings), settings)
    if not settings.requests:
        raise Refused("requests has none", "instrument")
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
            from subject import grpc_client

            return grpc_client.Client(settings)
    from subject import grpc_aio_client

    return grpc_aio_client.Client(settings)


if __name__ == "__main__":
    sys.exit(main())
