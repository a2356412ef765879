"""The records of streams, and of their messages."""

import struct
from array import array
from typing import BinaryIO, NamedTuple

from subject.slices import FAILED, NOT_KNOWN, SUCCEEDED, Record, Records, Slice, Tally


class Times(NamedTuple):
    """The times of a stream's record; 0 for messages that were not sent or received."""

    begin: int
    sent: int
    first: int
    received: int
    end: int


class Streamed(NamedTuple):
    """A stream that has ended."""

    times: Times
    # For each message, when its request was sent and when its response was decoded; 0 if it was not.
    messages: "array[int]"
    # Why the stream failed.
    error: Exception | None

    def record(self) -> Record:
        begin, sent, first, received, end = self.times
        if first and sent > first:
            # The server responded before the client had sent everything, but a record's times must not decrease.
            sent = 0
        status = FAILED if self.error else SUCCEEDED
        operations = len(self.messages) // 2
        times = (begin, 0, sent, first, received, end, 0, 0)
        return (*times, NOT_KNOWN, NOT_KNOWN, status, operations)

    def message_records(self) -> bytes:
        return struct.pack(f"<{len(self.messages)}Q", *self.messages)


class StreamTally(Tally):
    def add(self, streamed: Streamed) -> None:
        super().add(streamed)
        if streamed.error:
            self.note(streamed.error)


class StreamRecords(Records):
    def __init__(self, calls: BinaryIO, messages: BinaryIO) -> None:
        super().__init__(calls)
        self.messages = messages

    def tally(self, asked: Slice) -> Tally:
        return StreamTally(asked)

    def append(self, tally: Tally) -> None:
        for streamed in tally.records:
            self.messages.write(streamed.message_records())
        self.messages.flush()
        self.append_calls(streamed.record() for streamed in tally.records)
