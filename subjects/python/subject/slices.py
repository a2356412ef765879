"""Slices: calls (or batches) that the lab requests, and their records."""

import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import CLOCK_PROCESS_CPUTIME_ID, clock_gettime_ns, monotonic_ns
from typing import Any, BinaryIO, Protocol

from subject.contract import Conversation, Json, Refused, Slice, one_line, parse_object, shaped

# begin, encoded, sent, first byte, received, end, handler start, handler end: nanoseconds of the monotonic clock, 0 if
# not observed; request bytes, response bytes, status, operations.
Record = tuple[int, int, int, int, int, int, int, int, int, int, int, int]
RECORD = struct.Struct("<8Q4I")

NOT_KNOWN = 2**32 - 1
SUCCEEDED = 0
FAILED = 1


class Tally:
    """The state of a slice: the calls still to be made, and the outcome of the others.

    As an iterator, it yields for each call to make whether to record it. Threads may share it.
    """

    def __init__(self, asked: Slice) -> None:
        self.asked = asked
        # Records of calls and batches, or streams with their messages.
        self.records: list[Any] = []
        self.error: str | None = None
        self._cpu_begin = 0
        self._calls = self._plan()
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[bool]:
        return self

    def __next__(self) -> bool:
        with self._lock:
            return next(self._calls)

    def _plan(self) -> Iterator[bool]:
        for _ in range(self.asked.skip):
            yield False
        self._cpu_begin = clock_gettime_ns(CLOCK_PROCESS_CPUTIME_ID)
        if self.asked.time_us is None:
            for _ in range(self.asked.calls or 0):
                yield True
            return
        end = monotonic_ns() + self.asked.time_us * 1_000
        yield True
        while monotonic_ns() < end:
            yield True

    def add(self, record: Any) -> None:
        self.records.append(record)

    def note(self, error: Exception) -> None:
        """Keep the error of the first failed call."""
        if self.error is None:
            self.error = one_line(error)

    def add_failed(self, begin: int, error: Exception) -> None:
        self.note(error)
        times = (begin, 0, 0, 0, 0, monotonic_ns(), 0, 0)
        operations = self.asked.batch or 1
        self.records.append((*times, NOT_KNOWN, NOT_KNOWN, FAILED, operations))

    def cpu_ns(self) -> int:
        """Return the CPU time since the first recorded call."""
        return clock_gettime_ns(CLOCK_PROCESS_CPUTIME_ID) - self._cpu_begin


class Records:
    """The file for the records of a part."""

    def __init__(self, calls: BinaryIO) -> None:
        self.calls = calls

    def tally(self, asked: Slice) -> Tally:
        return Tally(asked)

    def append(self, tally: Tally) -> None:
        self.append_calls(tally.records)

    def append_calls(self, records: Iterable[Record]) -> None:
        self.calls.write(b"".join(RECORD.pack(*record) for record in records))
        self.calls.flush()


class Measurer(Protocol):
    """The interface that clients and codecs share."""

    versions: dict[str, str]
    code: str
    in_batches: bool

    def verify(self) -> Json:
        """Make one call or operation, and return the result for the lab to verify."""

    def reopen(self) -> int:
        """Reopen connections lost since the last slice, and return their number."""

    def run(self, tally: Tally) -> None:
        """Make all calls of the tally."""


def run_in_turn(tally: Tally, operate: Callable[[int], Any]) -> None:
    """Run operations one after another. `operate` receives the time at which it begins."""
    for recorded in tally:
        begin = monotonic_ns()
        try:
            record = operate(begin)
        except Exception as error:
            if recorded:
                tally.add_failed(begin, error)
        else:
            if recorded:
                tally.add(record)


class Threads:
    """One thread per operation; each thread runs its operation repeatedly."""

    def __init__(self, operations: Sequence[Callable[[int], Any]]) -> None:
        self.operations = operations
        self.pool = ThreadPoolExecutor(len(operations)) if len(operations) > 1 else None

    def run(self, tally: Tally) -> None:
        if self.pool is None:
            run_in_turn(tally, self.operations[0])
        else:
            list(self.pool.map(lambda operate: run_in_turn(tally, operate), self.operations))


def answer(conversation: Conversation, parts: Sequence[tuple[Measurer, Records]]) -> None:
    """Reply to the lab's lines until its input ends. Each line is for one part, which has its own records."""
    while line := conversation.read_line():
        order = parse_object(line, "the line")
        part = order.pop("part", 0)
        if type(part) is not int or part not in range(len(parts)):
            raise Refused(f"there is no part {part!r}: this process has {len(parts)}", "instrument")
        measurer, records = parts[part]
        match order:
            case {"verify": True} if len(order) == 1:
                conversation.reply({"verified": measurer.verify()})
            case {"slice": dict(asked)} if len(order) == 1:
                wanted = checked(asked, measurer.in_batches)
                conversation.reply({"slice": measure(measurer, wanted, records)})
            case _:
                raise Refused("the line has neither verify nor slice", "instrument")


def checked(keys: Json, in_batches: bool) -> Slice:
    asked: Slice = shaped(Slice, keys, "the slice")
    if (asked.calls is None) == (asked.time_us is None) or asked.calls == 0:
        raise Refused("the slice must have either calls, 1 or more, or time_us", "instrument")
    if (asked.batch > 0) != in_batches:
        raise Refused("a codec's slice must have batch, at least 1, and a client's must not", "instrument")
    return asked


def measure(measurer: Measurer, asked: Slice, records: Records) -> Json:
    reopened = measurer.reopen()
    tally = records.tally(asked)
    measurer.run(tally)
    cpu_ns = tally.cpu_ns()
    records.append(tally)
    reply: Json = {"records": len(tally.records), "cpu_ns": cpu_ns}
    if reopened:
        reply["reopened"] = reopened
    if tally.error is not None:
        reply["error"] = tally.error
    return reply
