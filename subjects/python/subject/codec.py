"""The role `codec`: encodes and decodes messages without a call."""

import base64
from collections.abc import Callable
from itertools import repeat
from time import monotonic_ns
from typing import Any

from subject import compression
from subject.contract import CodecSettings, Json, Limits, Refused
from subject.messages import Coder, Messages
from subject.slices import NOT_KNOWN, SUCCEEDED, Record, Tally, run_in_turn


def compressing(coder: Coder, level: int, limits: Limits) -> Coder:
    """Return a library's functions with gzip after encoding and before decoding."""
    return Coder(
        lambda message: compression.compress(coder.encode(message), level),
        lambda data: coder.decode(compression.decompress(data, limits)),
    )


class Codec:
    in_batches = True

    def __init__(self, messages: Messages, settings: CodecSettings) -> None:
        self.versions = messages.versions
        self.code = messages.code
        self.messages = messages
        self.sample = settings.sample
        self.encodes = settings.operation == "encode"
        message = messages.from_json(settings.sample, settings.message)
        coder = messages.coder(settings.sample)
        if level := compression.level(settings.compression):
            coder = compressing(coder, level, settings.limits)
        encoded = coder.encode(message)
        if len(encoded) > settings.limits.max_message_bytes:
            raise Refused(f"the sample has {len(encoded)} bytes, more than the limit", "user")
        self.operation: Callable[[Any], Any] = coder.encode if self.encodes else coder.decode
        self.value = message if self.encodes else encoded

    def verify(self) -> Json:
        result = self.operation(self.value)
        if self.encodes:
            return {"bytes": base64.b64encode(result).decode()}
        return {"message": self.messages.to_json(self.sample, result)}

    def reopen(self) -> int:
        return 0

    def run(self, tally: Tally) -> None:
        run_in_turn(tally, lambda begin: self.batch(begin, tally.asked.batch))

    def batch(self, begin: int, operations: int) -> Record:
        operation, value = self.operation, self.value
        for _ in repeat(None, operations):
            operation(value)
        times = (begin, 0, 0, 0, 0, monotonic_ns(), 0, 0)
        return (*times, NOT_KNOWN, NOT_KNOWN, SUCCEEDED, operations)
