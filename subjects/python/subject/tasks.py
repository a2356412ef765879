"""Slices of calls in coroutines."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache
from time import monotonic_ns
from typing import Any

from subject.slices import Tally


@cache
def loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all parts."""
    made = asyncio.new_event_loop()
    # grpcio uses the thread's current loop.
    asyncio.set_event_loop(made)
    return made


class Tasks:
    """One coroutine per call in flight. The loop is stopped between slices."""

    def __init__(self, operate: Callable[[int], Awaitable[Any]], in_flight: int) -> None:
        self.operate = operate
        self.in_flight = in_flight

    def run(self, tally: Tally) -> None:
        loop().run_until_complete(self.share(tally))

    async def share(self, tally: Tally) -> None:
        await asyncio.gather(*(self.in_turn(tally) for _ in range(self.in_flight)))

    async def in_turn(self, tally: Tally) -> None:
        for recorded in tally:
            begin = monotonic_ns()
            try:
                record = await self.operate(begin)
            except Exception as error:
                if recorded:
                    tally.add_failed(begin, error)
            else:
                if recorded:
                    tally.add(record)
