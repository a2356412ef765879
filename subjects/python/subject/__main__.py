"""Speaks the contract on standard input and output, in the role that the settings line names."""

import sys
import traceback
from pathlib import Path

from subject import slices, stacks
from subject.contract import (
    EXIT_CODES,
    ClientSettings,
    CodecSettings,
    Conversation,
    Refused,
    ServerSettings,
    parse_settings,
)

# What a stack does not use is not imported: it would be in its memory and its start.


def main() -> int:
    conversation = Conversation(sys.stdin.buffer, sys.stdout)
    # Whatever a library prints is the log's.
    sys.stdout = sys.stderr
    try:
        play(conversation)
    except Exception as error:
        refused = blamed(error)
        conversation.tell_refused(refused)
        return EXIT_CODES[refused.fault]
    return 0


def blamed(error: Exception) -> Refused:
    """Whose fault an exception is. One that nobody foresaw is the subject's, and the log has it."""
    match error:
        case Refused():
            return error
        case OSError():
            return Refused(str(error), "machine")
    traceback.print_exception(error)
    return Refused(f"{type(error).__name__}: {error}", "subject")


def play(conversation: Conversation) -> None:
    role, settings = parse_settings(conversation.hear())
    stack = stacks.choose(role, settings)
    if isinstance(settings, ServerSettings):
        serve(stack, settings, conversation)
        return
    with Path(settings.records).open("wb") as records:
        measurer = prepare(stack, settings)
        conversation.tell_ready(measurer.versions, measurer.code)
        slices.answer(conversation, measurer, records)


def serve(stack: str, settings: ServerSettings, conversation: Conversation) -> None:
    if stack == "http":
        from subject import http_server

        http_server.serve(settings, conversation)
    else:
        from subject import grpc_server

        grpc_server.serve(settings, conversation)


def prepare(stack: str, settings: ClientSettings | CodecSettings) -> slices.Measurer:
    if isinstance(settings, CodecSettings):
        from subject import codecs

        return codecs.Codec(codecs.load(stack, settings), settings)
    if not settings.requests:
        raise Refused("requests has none", "instrument")
    if stack == "http":
        from subject import http_client

        return http_client.Client(settings)
    from subject import grpc_client

    return grpc_client.Client(settings)


if __name__ == "__main__":
    sys.exit(main())
